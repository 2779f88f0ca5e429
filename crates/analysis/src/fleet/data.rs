//! Results of a fleet, as data: every format shows this.

use std::collections::BTreeMap;

use hostmark_model::{Better, Leading, Text, Unit};
use serde::Serialize;

use super::HostClass;
use super::between::BetweenHosts;
use super::gathering::Unread;
use super::gathering::{BesideUsual, CaseBesideUsual};

pub const SCHEMA: &str = "hostmark.fleet/1";

#[derive(Debug, Clone, Serialize)]
pub struct Fleet {
    /// The schema and its major version.
    pub schema: &'static str,
    pub runs: usize,
    /// Hosts that were judged: those of kinds with hosts enough.
    pub judged: usize,
    /// The hosts of each kind, the largest kind first.
    pub kinds: Vec<KindOfHosts>,
    /// Facts that outliers share.
    pub causes: Vec<SharedFact>,
    /// Hosts whose runs rise or fall with time.
    pub drifts: Vec<Drift>,
    /// Measurements between hosts; none where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<BetweenHosts>,
    pub unread: Vec<Unread>,
}

impl Fleet {
    /// The hosts that are not like the others, the farthest first, each with its kind.
    pub fn odd(&self) -> impl Iterator<Item = (&KindOfHosts, &HostResult)> {
        let mut odd: Vec<(&KindOfHosts, &HostResult)> = self
            .kinds
            .iter()
            .flat_map(|kind| kind.hosts.iter().filter(|host| host.is_odd).map(move |host| (kind, host)))
            .collect();
        odd.sort_by(|(_, one), (_, other)| one.q.unwrap_or(1.0).total_cmp(&other.q.unwrap_or(1.0)));
        odd.into_iter()
    }

    pub fn hosts(&self) -> usize {
        self.kinds.iter().map(|kind| kind.hosts.len()).sum()
    }
}

/// Hosts that should deliver the same.
#[derive(Debug, Clone, Serialize)]
pub struct KindOfHosts {
    pub kind: HostClass,
    pub title: Text<String>,
    /// True where there are hosts enough for a verdict.
    pub is_judged: bool,
    /// The groups, in the order in which every host has them.
    pub groups: Vec<GroupSpread>,
    /// Every case that is held against each other.
    pub cases: Vec<CaseSpread>,
    /// Cases beside what is usual for servers of the design.
    #[serde(skip)]
    pub usual: Vec<CaseBesideUsual>,
    /// The hosts, the farthest first.
    pub hosts: Vec<HostResult>,
}

/// Source of the scatter within a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WithinBy {
    /// Several runs of one host.
    Runs,
    /// Rounds of single runs, which differ less than runs do.
    Rounds,
}

/// The scatter of a group: the median of its cases.
#[derive(Debug, Clone, Serialize)]
pub struct GroupSpread {
    pub name: String,
    pub cases: usize,
    /// Spread between hosts, as a fraction; none where fewer than five have it.
    pub between: Option<f64>,
    /// Within a host, as a fraction; none where nothing tells.
    pub within: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CaseSpread {
    pub id: String,
    pub title: Text<String>,
    pub unit: Unit,
    pub better: Better,
    /// Estimator of the hosts' values: `quiet` or `typical`.
    pub estimator: Leading,
    pub group: usize,
    pub hosts: usize,
    pub median: f64,
    /// The standard deviation between hosts beyond what one host's runs scatter by, as a fraction.
    pub between: f64,
    /// The standard deviation of one host's runs, as a fraction.
    pub within: Option<f64>,
    pub within_by: Option<WithinBy>,
    /// Quantiles of the hosts' distances from their median, as logarithms, worse being negative: least, 5 %, 25 %, 75 %, 95 %, most.
    pub quantiles: [f64; 6],
}

impl CaseSpread {
    pub fn value_at(&self, place: f32) -> f64 {
        let sign = if self.better == Better::Lower { -1.0 } else { 1.0 };
        self.median * (sign * f64::from(place)).exp()
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct HostResult {
    /// Name, made unique among hosts of the same name.
    pub name: String,
    /// True where another host has the same name.
    pub shares_name: bool,
    pub runs: usize,
    pub file: String,
    pub started: String,
    /// True where it is an outlier of its kind.
    pub is_odd: bool,
    /// Probability that equal hosts have one that far out; none without a verdict.
    pub p: Option<f64>,
    /// The same adjusted for the number of hosts.
    pub q: Option<f64>,
    /// Deviation of each group from the usual, as a fraction less or more, and in standard deviations.
    pub groups: Vec<Option<Deviation>>,
    /// The groups that stand out, by number, the farthest first; of odd hosts alone.
    pub odd_groups: Vec<usize>,
    /// The cases that stand out, the farthest first; of odd hosts alone.
    pub odd_cases: Vec<OddCase>,
    /// Rare facts of the host; of outliers alone.
    pub reasons: Vec<RareFact>,
    /// Position of its latest run in what is usual for servers of its design; empty where that is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub usual: Vec<BesideUsual>,
    /// Cases that failed in its latest run.
    pub failed: u32,
    /// Cases that most hosts of the kind have, and this one has not.
    pub missing: usize,
    /// Distance from each case of the kind, as a logarithm, worse being negative.
    #[serde(skip)]
    pub places: Vec<Option<f32>>,
    /// Value of the other estimator by number of the case, where it differs.
    #[serde(skip)]
    pub besides: BTreeMap<usize, OtherEstimate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Deviation {
    /// −0.2: it delivers a fifth less than usual.
    pub change: f64,
    /// Distance in deviations of the other hosts.
    pub distance: f64,
}

/// Value of the other estimator for a host's case, where it differs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OtherEstimate {
    pub estimator: Leading,
    pub value: f64,
    /// Change from the median of the kind's values by it, as a fraction less or more of what is delivered.
    pub change: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct OddCase {
    /// The case, by number among those of the kind.
    pub case: usize,
    pub id: String,
    pub estimator: Leading,
    pub value: f64,
    /// Change from the median of the kind, as a fraction less or more of what is delivered.
    pub change: f64,
    /// Distance in deviations of the other hosts.
    pub distance: f64,
    /// The other estimator's, where it is something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<OtherEstimate>,
}

/// A fact of an odd host that few others share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RareFact {
    /// The fact's place in a run file.
    pub key: String,
    pub label: Text<String>,
    pub value: Text<String>,
    pub usual: Text<String>,
    /// Number of others of the kind that have the same.
    pub others: usize,
    /// Number of others of the kind that are no outliers.
    pub of: usize,
}

/// A fact that odd hosts share and others lack.
#[derive(Debug, Clone, Serialize)]
pub struct SharedFact {
    /// The fact's place in a run file.
    pub key: String,
    pub label: Text<String>,
    pub value: Text<String>,
    /// Further facts that the very same hosts have.
    pub along: Vec<Text<String>>,
    /// Odd hosts that have it, and all of them.
    pub odd: (usize, usize),
    /// Number of others that have it, and of all of them.
    pub others: (usize, usize),
    /// Probability that one of all facts goes as much with outliers by chance; none below five outliers, which are too few to tell.
    pub p: Option<f64>,
}

/// A host whose runs rise or fall.
#[derive(Debug, Clone, Serialize)]
pub struct Drift {
    pub host: String,
    pub group: String,
    pub runs: usize,
    /// Start of the first and of the last of them.
    pub time: (String, String),
    /// Change from the first to the last, as a fraction less or more of the delivered rate.
    pub change: f64,
    /// Probability that runs in random order rise or fall as much.
    pub p: f64,
}
