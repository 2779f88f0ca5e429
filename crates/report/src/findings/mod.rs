//! Conclusions drawn from a run: each rule is data and one function in a file of its own, named in [`RULES`].

mod bandwidth_steps;
mod cache_size;
mod cache_structure;
pub mod host;
mod huge_pages;
mod neighbours;
mod pipe_capacity;
mod sync_latency;
mod write_allocate;

use hostmark_model::{Finding, Run, Text};

/// What a rule concludes, and from which cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// What was seen and what probably causes it.
    pub text: Text<String>,
    /// The cases it stands on.
    pub cases: Vec<String>,
}

/// A rule that draws conclusions from a run.
#[derive(Debug)]
pub struct Rule {
    /// Its stable name.
    pub id: &'static str,
    /// The probes that it reads; the CLI's tests hold them against the catalogue.
    pub probes: &'static [&'static str],
    /// What to do about it, where something can be done.
    pub cure: Option<Text>,
    /// The conclusions, none when all is well or the run does not say.
    pub draw: fn(&Run) -> Vec<Conclusion>,
}

/// Every rule: first what can be changed, what costs most before the rest; then what explains the shape of the curves.
pub static RULES: &[&Rule] = &[
    &huge_pages::RULE,
    &neighbours::RULE,
    &sync_latency::RULE,
    &cache_size::RULE,
    &cache_structure::RULE,
    &bandwidth_steps::RULE,
    &write_allocate::RULE,
    &pipe_capacity::RULE,
];

/// What follows from a run, in the order of [`RULES`].
pub fn findings(run: &Run) -> Vec<Finding> {
    let of_rule = |rule: &&'static Rule| {
        let rule = *rule;
        (rule.draw)(run).into_iter().map(move |conclusion| Finding {
            id: rule.id.to_owned(),
            text: conclusion.text,
            cure: rule.cure.map(|cure| cure.to_owned_text()),
            cases: conclusion.cases,
        })
    };
    RULES.iter().flat_map(of_rule).collect()
}

/// What follows from a run as this version sees it, and what the run carries from rules that this version lacks.
pub fn findings_and_kept(run: &Run) -> Vec<Finding> {
    let mut all = findings(run);
    all.extend(run.findings.iter().filter(|kept| RULES.iter().all(|rule| rule.id != kept.id)).cloned());
    all
}
