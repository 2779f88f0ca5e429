//! Conclusions drawn from a run: each rule is data and one function, in the file of its theme, and is named in [`RULES`].

mod conditions;
pub(crate) mod cores;
mod disk;
mod evidence;
pub mod host;
mod kernel;
mod loopback;
mod memory;
mod network;
pub mod steal;

use hostmark_model::{CaseId, CaseRecord, Finding, Params, Run, Text};
use unicode_width::UnicodeWidthStr;

pub use self::cores::cores_by_measurement;
pub use self::disk::soon_enough_for_etcd;
use self::evidence::{
    CLAMPED, CLOCK_LIMIT, DISTURBED, IO_LIMIT, LOOPBACK, NOTHING, QUOTA, QUOTA_OF_ONE, TRACED, WRONG, YIELDS,
};
pub use self::evidence::{Doubt, RIVALS, Rival, conclusions};

/// The width of a finding's short text at most, in columns of a terminal, of which a wide East Asian character takes two.
pub const MOST_COLUMNS: usize = 90;
/// The width of a host's name in it at most: a longer one leaves no room for figures, and a part of one is no name.
const NAME_COLUMNS: usize = 20;

/// Conclusion of a rule, and the cases that it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// Observation, in a line with its figures, as [`Finding::short`].
    pub short: Text<String>,
    /// Observation and its probable cause.
    pub text: Text<String>,
    /// The cases it stands on; none where it stands on the host's facts alone.
    pub cases: Vec<String>,
    /// Cost: the share of its time that a program doing these cases loses; 0 where only a shape is explained.
    pub cost: f64,
}

/// A rule that draws conclusions from a run.
#[derive(Debug)]
pub struct Rule {
    pub id: &'static str,
    pub shown: Demonstration,
    /// The probes that it reads, none where it reads the host or every case; the CLI's tests hold them against the catalogue.
    pub probes: &'static [&'static str],
    /// Remedy, where there is one.
    pub cure: Option<Text>,
    pub doubt: Doubt,
    /// The conclusions, none when all is well or the run does not say.
    pub draw: fn(&Run) -> Vec<Conclusion>,
}

/// Cases that a command names at most.
const MOST_CASES: usize = 3;

/// Command that demonstrates a rule's conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demonstration {
    /// `hostmark try` with this setting, which is also the cure.
    Try(&'static str),
    /// `hostmark explain` of this probe, which says what makes it so.
    Explain(&'static str),
    /// `hostmark run` of the conclusion's own cases.
    Run,
    /// `hostmark host`, which says what disturbs the machine now.
    Host,
}

impl Demonstration {
    fn command(self, run: &Run, cases: &[String]) -> String {
        match self {
            Demonstration::Try(setting) => format!("hostmark try {setting}"),
            Demonstration::Explain(probe) => format!("hostmark explain {probe}"),
            Demonstration::Host => "hostmark host".to_owned(),
            Demonstration::Run => {
                let known = |id: &String| run.cases.iter().find(|case| case.id == *id && case.peer().is_none());
                let filters: Vec<String> =
                    cases.iter().filter_map(known).map(|case| filter(run, case)).take(MOST_CASES).collect();
                match filters.is_empty() {
                    true => "hostmark host".to_owned(),
                    false => format!("hostmark run {}", filters.join(" ")),
                }
            }
        }
    }
}

/// The filter that selects a case: its id without the axes at which it stands at the default.
fn filter(run: &Run, case: &CaseRecord) -> String {
    let info = run.probes.iter().find(|info| info.id == case.probe);
    let is_default = |(axis, value): &(String, String)| {
        info.is_some_and(|info| info.axes.iter().any(|known| known.name == *axis && known.default == *value))
    };
    let params = case.params.0.iter().filter(|point| !is_default(point)).cloned().collect();
    CaseId { probe: case.probe.clone(), params: Params(params) }.to_string()
}

/// Every rule. Conditions that explain values stand first, then that the machine is slower than usual, the others by what they cost. Those that cost the same
/// stand in this order: first what can be changed, then what explains the shape of the curves.
pub static RULES: &[&Rule] = &[
    &conditions::TRACED,
    &conditions::IO,
    &conditions::CLOCK,
    &conditions::SLACK,
    &conditions::BYPASS,
    &conditions::QUOTA_BELOW_CPUS,
    &steal::STEAL,
    &steal::CONTENTION,
    &memory::HUGE_PAGES,
    &conditions::SLOWER_THAN_USUAL,
    &memory::SPLIT_HUGE_PAGES,
    &steal::ROUNDS_DIFFER,
    &steal::SHARED_BY_OTHERS,
    &cores::GOVERNOR,
    &kernel::MITIGATIONS,
    &kernel::SLOW_RETURN,
    &kernel::CLOCK_READ,
    &kernel::TIMERS,
    &steal::NOISE,
    &kernel::ACROSS_CPUS,
    &cores::SHARED_CORES,
    &cores::SCALING_FALLS,
    &memory::MEMORY_MODULES,
    &disk::SYNC_LATENCY,
    &conditions::SWAP,
    &memory::FIRST_TOUCH,
    &disk::DISK_CACHE,
    &memory::CACHE_SIZE,
    &memory::CACHE_STRUCTURE,
    &memory::WRITE_ALLOCATE,
    &kernel::PIPE_CAPACITY,
    &network::RATE_LIMIT,
    &network::CPU,
    &network::WINDOW,
    &network::LOSS,
    &network::BUFFERBLOAT,
    &network::FULL,
    &network::BOTH_WAYS,
    &network::PATH_MTU,
    &loopback::LOOPBACK_PATH,
    &loopback::TCP_LOOPBACK,
    &loopback::UDP_LOSS,
    &loopback::DATA_PATH,
    &kernel::LAYERS,
    &kernel::INTERPRETED_GUEST,
];

/// Rules on what Linux's defaults and calls cost on every machine: worth knowing, and no property of this one.
static EVERYWHERE: &[&Rule] = &[
    &kernel::MITIGATIONS,
    &kernel::SLOW_RETURN,
    &memory::WRITE_ALLOCATE,
    &kernel::PIPE_CAPACITY,
    &loopback::UDP_LOSS,
    &loopback::DATA_PATH,
    &kernel::LAYERS,
];

/// Findings of a run: first those that are unusual for this kind of machine, then by cost, then those that hold everywhere.
pub fn findings(run: &Run) -> Vec<Finding> {
    let seen = &evidence::in_all_states(run);
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
    finding.id == conditions::SLOWER_THAN_USUAL.id
}

/// Tells whether it is a condition of the run that explains its values.
fn is_condition(finding: &Finding) -> bool {
    // Of what stands on the loopback path small buffers alone explain so much.
    let is_of_path = finding.id == loopback::LOOPBACK_PATH.id && finding.cost >= loopback::MOST_COST;
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

/// Sorts findings: conditions that explain others, then unusual ones, then by cost; those that hold everywhere last.
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

/// A peer by its name where that leaves room, with the blanks beside it in Chinese.
fn short_name(name: &str) -> Text<String> {
    match name.width() <= NAME_COLUMNS {
        true => Text { en: name.to_owned(), zh: format!(" {name} ") },
        false => term!("the peer").to_owned_text(),
    }
}

/// The first thing to do of a cure: its first sentence. A point within a name, a number or brackets ends none.
pub fn first_thing_to_do(cure: &str) -> &str {
    let mut depth = 0_i32;
    for (at, c) in cure.char_indices() {
        let rest = &cure[at + c.len_utf8()..];
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' => depth -= 1,
            '。' if depth <= 0 => return &cure[..at + c.len_utf8()],
            '.' if depth <= 0 && rest.trim_start() != rest => return &cure[..at + 1],
            _ => {}
        }
    }
    cure
}

#[cfg(test)]
mod tests {
    use hostmark_model::Lang;

    use super::*;

    /// A line of 80 columns, less what stands before it.
    const LINE: usize = 75;

    #[test]
    fn a_sentence_ends_at_a_point_before_a_space() {
        assert_eq!(
            first_thing_to_do("It takes 1.5 ns (p99. more) in net.ipv4. The rest."),
            "It takes 1.5 ns (p99. more) in net.ipv4."
        );
        assert_eq!(first_thing_to_do("需要 1.5 ns（见 a。b）。其余。"), "需要 1.5 ns（见 a。b）。");
        assert_eq!(first_thing_to_do("no end"), "no end");
    }

    #[test]
    fn every_rule_begins_with_one_thing_to_do_that_fits_into_a_line() {
        let mut known = std::collections::HashSet::new();
        for rule in RULES {
            // What the layers of a kernel cost explains others.
            let Some(cure) = rule.cure else {
                assert_eq!(rule.id, "kernel.layers");
                continue;
            };
            for lang in [Lang::En, Lang::Zh] {
                let first = first_thing_to_do(cure.get(lang));
                assert!(known.insert(first.to_owned()), "{}: another finding has this advice: {first}", rule.id);
                assert!(first.width() <= LINE, "{}: {} columns: {first}", rule.id, first.width());
                assert!(first.ends_with(['.', '。']) && !first.contains(';'), "{}: {first}", rule.id);
            }
        }
    }
}
