//! The figures of a report: which values a person wants to see as a picture, and over what.
//!
//! Some are of probes known by name ([`FIGURES`]); every other probe gets what its axes suggest ([`of_probe`]).

mod bandwidth;
mod generic;
mod latency;
mod loaded;
mod pairs;
mod percentiles;
mod roofline;
mod samples;
mod switch;

use hostmark_model::Message;
use std::collections::HashSet;

use crate::chart::Chart;
use crate::runs::Runs;

pub(super) use generic::of_probe;
pub(super) use samples::{MOST_SAMPLES, of_samples};

/// A picture with its title.
pub(super) struct Figure {
    pub(super) title: Message,
    pub(super) note: Option<Message>,
    pub(super) chart: Chart,
    /// The probes whose values it shows.
    pub(super) probes: Vec<String>,
}

/// A kind of figure over probes that it knows by name.
#[derive(Debug)]
pub struct FigureKind {
    pub id: &'static str,
    /// The probes that it reads; the command line's tests hold them against the catalogue.
    pub probes: &'static [&'static str],
    /// Figures; none where the runs have not enough of these probes.
    pub(super) draw: fn(&Runs) -> Vec<Figure>,
}

/// Every kind, in the order of the page.
pub static FIGURES: &[&FigureKind] =
    &[&latency::KIND, &bandwidth::KIND, &pairs::CORES, &pairs::NODES, &roofline::KIND, &loaded::KIND, &switch::KIND];

pub(super) struct Figures {
    /// Figures beside the constants.
    pub(super) leading: Vec<Figure>,
    pub(super) all: Vec<Figure>,
    /// The probes that they show.
    pub(super) shown: HashSet<String>,
}

pub(super) fn figures(runs: &Runs) -> Figures {
    let leading: Vec<Figure> = latency::leading(runs).into_iter().chain(bandwidth::leading(runs)).collect();
    let mut all: Vec<Figure> = FIGURES.iter().flat_map(|kind| (kind.draw)(runs)).collect();
    let shown = leading.iter().chain(&all).flat_map(|figure| figure.probes.iter().cloned()).collect();
    all.extend(percentiles::figures(runs));
    Figures { leading, all, shown }
}
