//! Conclusions drawn from a run: each rule is data and one function in a file of its own, named in [`RULES`].

mod across_cpus;
mod cache_size;
mod cache_structure;
mod clock_read;
mod conditions;
mod contention;
pub(crate) mod copies;
mod data_path;
mod disk_cache;
mod doubt;
mod evidence;
mod first_touch;
mod governor;
pub mod host;
mod huge_pages;
mod interpreted_guest;
mod layers;
mod loopback_path;
mod memory_modules;
mod mitigations;
mod neighbours;
mod network;
mod noise;
mod pipe_capacity;
mod quota;
mod scaling;
mod shared_by_others;
mod shared_cores;
mod short;
mod shown;
mod slow_return;
mod slower_than_usual;
mod split_huge_pages;
pub mod steal;
mod swap;
mod sync_latency;
mod tcp_loopback;
mod timers;
mod udp_loss;
mod write_allocate;

use hostmark_model::{Finding, Run, Text};

use self::doubt::{
    CLAMPED, CLOCK_LIMIT, DISTURBED, IO_LIMIT, LOOPBACK, NOTHING, QUOTA, QUOTA_OF_ONE, TRACED, WRONG, YIELDS,
};
pub use self::doubt::{Doubt, RIVALS, Rival, conclusions};
pub use self::short::{MOST_COLUMNS, first_thing_to_do};
pub use self::shown::Demonstration;

/// Conclusion of a rule, and the cases that it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// Observation, in a line with its figures, as [`Finding::short`].
    pub short: Text<String>,
    /// Observation and its probable cause.
    pub text: Text<String>,
    /// The cases it stands on; none where it stands on the host's facts alone.
    pub cases: Vec<String>,
    /// Cost: the share of its time that a program loses which does what the cases do; 0 where nothing is lost and only a shape is
    /// explained.
    pub cost: f64,
}

/// A rule that draws conclusions from a run.
#[derive(Debug)]
pub struct Rule {
    pub id: &'static str,
    /// The command that shows it.
    pub shown: Demonstration,
    /// The probes that it reads, none where it reads the host or every case; the CLI's tests hold them against the catalogue.
    pub probes: &'static [&'static str],
    /// Remedy, where there is one.
    pub cure: Option<Text>,
    pub doubt: Doubt,
    /// The conclusions, none when all is well or the run does not say.
    pub draw: fn(&Run) -> Vec<Conclusion>,
}

/// Every rule. Conditions that explain values stand first, then that the machine is slower than usual, the others by what they cost. Those that cost the same
/// stand in this order: first what can be changed, then what explains the shape of the curves.
pub static RULES: &[&Rule] = &[
    &conditions::TRACED,
    &conditions::IO,
    &conditions::CLOCK,
    &conditions::SLACK,
    &conditions::BYPASS,
    &quota::RULE,
    &steal::RULE,
    &contention::RULE,
    &huge_pages::RULE,
    &slower_than_usual::RULE,
    &split_huge_pages::RULE,
    &neighbours::RULE,
    &shared_by_others::RULE,
    &governor::RULE,
    &mitigations::RULE,
    &slow_return::RULE,
    &clock_read::RULE,
    &timers::RULE,
    &noise::RULE,
    &across_cpus::RULE,
    &shared_cores::RULE,
    &scaling::RULE,
    &memory_modules::RULE,
    &sync_latency::RULE,
    &swap::RULE,
    &first_touch::RULE,
    &disk_cache::RULE,
    &cache_size::RULE,
    &cache_structure::RULE,
    &write_allocate::RULE,
    &pipe_capacity::RULE,
    &network::rate_limit::RULE,
    &network::cpu::RULE,
    &network::window::RULE,
    &network::loss::RULE,
    &network::bufferbloat::RULE,
    &network::full::RULE,
    &network::both_ways::RULE,
    &network::path_mtu::RULE,
    &loopback_path::RULE,
    &tcp_loopback::RULE,
    &udp_loss::RULE,
    &data_path::RULE,
    &layers::RULE,
    &interpreted_guest::RULE,
];

/// Rules that say what the defaults of Linux and the way its calls work cost on every machine: worth knowing, and no property of this
/// one.
static EVERYWHERE: &[&Rule] = &[
    &mitigations::RULE,
    &slow_return::RULE,
    &write_allocate::RULE,
    &pipe_capacity::RULE,
    &udp_loss::RULE,
    &data_path::RULE,
    &layers::RULE,
];

/// Findings of a run: first those that are unusual for this kind of machine, then by cost, then those that hold everywhere.
pub fn findings(run: &Run) -> Vec<Finding> {
    let seen = &doubt::in_all_states(run);
    // What a tracer did explains everything.
    let is_traced = (TRACED.is_there)(run);
    let rules = RULES.iter().filter(|rule| !is_traced || rule.id == conditions::TRACED.id);
    let of_rule = |rule: &&'static Rule| {
        let rule = *rule;
        conclusions(rule, seen).into_iter().map(move |conclusion| Finding {
            id: rule.id.to_owned(),
            short: conclusion.short,
            text: conclusion.text,
            command: Some(rule.shown.command(run, &conclusion.cases)),
            cure: rule.cure.map(|cure| cure.to_owned_text()),
            cases: conclusion.cases,
            // A quotient of two values that are above zero; nothing can cost less than nothing, or more than all.
            cost: if conclusion.cost.is_nan() { 0.0 } else { conclusion.cost.clamp(0.0, 1.0) },
        })
    };
    sorted(rules.flat_map(of_rule).collect())
}

/// Tells whether the machine is unlike similar machines.
pub fn is_unusual(finding: &Finding) -> bool {
    finding.id == slower_than_usual::RULE.id
}

/// Tells whether it is a condition of the run that explains its values.
fn is_condition(finding: &Finding) -> bool {
    // Of what stands on the loopback path small buffers alone explain so much.
    let is_of_path = finding.id == loopback_path::RULE.id && finding.cost >= loopback_path::MOST_COST;
    is_of_path || conditions::ALL.iter().any(|rule| rule.id == finding.id)
}

/// Tells whether it is a cost of Linux's defaults on every machine.
pub fn is_everywhere(finding: &Finding) -> bool {
    EVERYWHERE.iter().any(|rule| rule.id == finding.id)
}

/// Sorted findings: those of this machine, and those of every one.
pub fn parted(findings: &[Finding]) -> (&[Finding], &[Finding]) {
    findings.split_at(findings.partition_point(|finding| !is_everywhere(finding)))
}

/// The findings of this machine that cost something, what is first first: what stands where there is room for a few.
pub fn leading(run: &Run) -> Vec<Finding> {
    let mut all = findings_and_kept(run);
    all.retain(|finding| finding.cost > 0.0 && !is_everywhere(finding));
    all
}

/// Sorts findings: conditions that explain others first, then unusual ones, then by cost, equal ones in their order; those that hold
/// everywhere last.
fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    let group = |finding: &Finding| (is_everywhere(finding), !is_condition(finding), !is_unusual(finding));
    findings.sort_by(|one, other| group(one).cmp(&group(other)).then_with(|| other.cost.total_cmp(&one.cost)));
    findings
}

/// Findings of a run by this version's rules, and those that the run keeps from rules that this version lacks.
pub fn findings_and_kept(run: &Run) -> Vec<Finding> {
    let mut all = findings(run);
    let is_unknown = |kept: &&Finding| RULES.iter().all(|rule| rule.id != kept.id);
    all.extend(run.findings.iter().filter(is_unknown).cloned());
    sorted(all)
}
