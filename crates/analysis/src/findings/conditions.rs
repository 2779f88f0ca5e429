//! Conditions of a run that explain its values before anything else can: a tracer, timer slack, speculation, and limits.

use hostmark_model::{CaseRecord, Lang, Run, Text, Unit};

use super::evidence::{believed, case_at, lost};
use super::host::{io_limit, limited_hz, slack_ns, store_bypass, tracer};
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use crate::format::{percent, value};
use crate::texts::findings::conditions as texts;
use crate::words;

/// The cases that are named.
const MOST_CASES: usize = 5;
/// Cost of what makes values useless.
const MOST_COST: f64 = 0.95;
/// Latency of a sleep with the usual slack on an idle server, ns.
const USUAL_SLEEP_NS: f64 = 60e3;

const SLEEP: &str = "clock.sleep";
const FORWARDING: &str = "cpu.store_forwarding";
const FREQUENCY: &str = "cpu.frequency";
const SYNC: &str = "disk.fsync";

const fn rule(
    id: &'static str,
    probes: &'static [&'static str],
    cure: Text,
    draw: fn(&Run) -> Vec<Conclusion>,
) -> Rule {
    let doubt = Doubt { spoiled_by: WRONG, rivals: &[] };
    Rule { id, shown: Demonstration::Host, probes, cure: Some(cure), doubt, draw }
}

pub(super) static TRACED: Rule = rule("run.traced", &[], texts::TRACED_CURE, |run| traced(run).into_iter().collect());
pub(super) static SLACK: Rule =
    rule("clock.timer_slack", &[SLEEP], texts::SLACK_CURE, |run| slack(run).into_iter().collect());
pub(super) static BYPASS: Rule =
    rule("cpu.store_bypass", &[FORWARDING], texts::BYPASS_CURE, |run| bypass(run).into_iter().collect());
pub(super) static CLOCK: Rule =
    rule("cpu.frequency_limit", &[FREQUENCY], texts::CLOCK_CURE, |run| clock(run).into_iter().collect());
pub(super) static IO: Rule = rule("disk.limit", &[SYNC], texts::IO_CURE, |run| io(run).into_iter().collect());

/// The rules of this file: what one of them explains needs no other cause.
pub(super) static ALL: [&Rule; 5] = [&TRACED, &SLACK, &BYPASS, &CLOCK, &IO];

fn ids<'a>(cases: impl Iterator<Item = &'a CaseRecord>) -> Vec<String> {
    cases.take(MOST_CASES).map(|case| case.id.clone()).collect()
}

fn leading(case: &CaseRecord, unit: Unit) -> Option<String> {
    Some(value(believed(case)?.estimate.value(), unit, Lang::En))
}

fn traced(run: &Run) -> Option<Conclusion> {
    let (tracer, count) = (tracer(&run.host)?, run.cases.iter().filter(|case| case.measured().is_some()).count());
    let (text, short) = (texts::traced_text!(tracer), short(texts::traced_short!(tracer, count)));
    let cases = ids(run.cases.iter().filter(|case| case.measured().is_some()));
    Some(Conclusion { short, text, cases, cost: MOST_COST })
}

fn slack(run: &Run) -> Option<Conclusion> {
    let slack_ns = slack_ns(&run.host)?;
    let has_slack = |case: &&CaseRecord| case.probe == SLEEP && case.params.get("way") != Some("timerfd");
    let case = run.cases.iter().filter(has_slack).find(|case| believed(case).is_some())?;
    let (late, slack) = (leading(case, Unit::Nanoseconds)?, value(slack_ns, Unit::Nanoseconds, Lang::En));
    let text = texts::slack_text!(late, slack);
    let short = short(texts::slack_short!(late, slack));
    let cost = lost(USUAL_SLEEP_NS + slack_ns, USUAL_SLEEP_NS);
    Some(Conclusion { short, text, cases: ids(run.cases.iter().filter(has_slack)), cost })
}

fn bypass(run: &Run) -> Option<Conclusion> {
    let (state, case) = (store_bypass(&run.host)?, case_at(run, FORWARDING, &[])?);
    let takes = leading(case, Unit::Nanoseconds)?;
    let text = texts::bypass_text!(takes, state);
    let short = short(texts::bypass_short!(takes, state));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: lost(2.0, 1.0) })
}

fn clock(run: &Run) -> Option<Conclusion> {
    let ((limit, most), case) = (limited_hz(&run.host)?, case_at(run, FREQUENCY, &[])?);
    let (cost, ran) = (lost(most, limit), leading(case, Unit::Hertz)?);
    let [limit, most] = [limit, most].map(|hz| value(hz, Unit::Hertz, Lang::En));
    let text = texts::clock_text!(ran, limit, most, share = percent(cost));
    let short = short(texts::clock_short!(ran, limit, most));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}

fn io(run: &Run) -> Option<Conclusion> {
    let limit = words(io_limit(&run.host)?);
    let on_disk = |case: &&CaseRecord| case.probe.starts_with("disk.") && believed(case).is_some();
    let case = case_at(run, SYNC, &[]).or_else(|| run.cases.iter().find(on_disk)).filter(|case| on_disk(case))?;
    let unit = run.probes.iter().find(|probe| probe.id == case.probe).map_or(Unit::Nanoseconds, |probe| probe.unit);
    let (probe, takes) = (&case.probe, leading(case, unit)?);
    let text = texts::io_text!(limit);
    let short = short(texts::io_short!(probe, takes, limit));
    Some(Conclusion { short, text, cases: ids(run.cases.iter().filter(on_disk)), cost: MOST_COST })
}
