//! Many hosts beside each other: which are not like the others of their kind, and why.

mod assembly;
mod between;
mod changes;
mod data;
mod drift;
mod gathering;
mod host;
mod kind;
#[cfg(test)]
pub(crate) mod made_up;
mod pairs;
pub mod planted;
mod score;
mod slim;
mod usual;
mod why;

pub use between::{BetweenHosts, Carried, FailedPair, PairApart};
pub use changes::{CaseChange, Changed, HostChange, changes};
pub use data::{
    CaseSpread, Deviation, Drift, Fleet, GroupSpread, HostResult, KindOfHosts, OddCase, OtherEstimate, RareFact,
    SCHEMA, SharedFact, WithinBy,
};
pub use gathering::{Gathering, Unread};
pub use kind::HostClass;
pub use score::LEAST_HOSTS;
pub use usual::{BesideUsual, CaseBesideUsual};
