//! Rules on what explains a run's values before all else: a tracer, timer slack, speculation, limits, swap, a slow machine.

use hostmark_model::{Better, CaseRecord, Lang, Message, Run, Text, Unit};
use hostmark_say::say;

use super::evidence::{Proven, believed, case_at, lost};
use super::host::{SWAP_BYTES, io_limit, limited_hz, slack_ns, store_bypass, tracer};
use super::steal::rounds_differ;
use super::{CLOCK_LIMIT, Conclusion, DISTURBED, Demonstration, Doubt, NOTHING, QUOTA_OF_ONE, Rule, WRONG, YIELDS};
use crate::constants::{self, ConstantValue};
use crate::format::{amount, bytes_text, frequency_text, in_scale, number, percent, scale_for, time_text, value};
use crate::levels::HIERARCHY;
use crate::references::{NearestReference, ReferenceVerdict, Tone, beside};
use crate::split_huge_pages::cut_into;
use crate::texts::findings as texts;
use crate::typography::{COMMA, SEMICOLON};
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

pub(super) static TRACED: Rule =
    rule("run.traced", &[], texts::conditions::TRACED_CURE, |run| traced(run).into_iter().collect());
pub(super) static SLACK: Rule =
    rule("clock.timer_slack", &[SLEEP], texts::conditions::SLACK_CURE, |run| slack(run).into_iter().collect());
pub(super) static BYPASS: Rule =
    rule("cpu.store_bypass", &[FORWARDING], texts::conditions::BYPASS_CURE, |run| bypass(run).into_iter().collect());
pub(super) static CLOCK: Rule =
    rule("cpu.frequency_limit", &[FREQUENCY], texts::conditions::CLOCK_CURE, |run| clock(run).into_iter().collect());
pub(super) static IO: Rule =
    rule("disk.limit", &[SYNC], texts::conditions::IO_CURE, |run| io(run).into_iter().collect());

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
    let (text, short) = (texts::conditions::traced_text!(tracer), texts::conditions::traced_short!(tracer, count));
    let cases = ids(run.cases.iter().filter(|case| case.measured().is_some()));
    Some(Conclusion { short, text, cases, cost: MOST_COST })
}

fn slack(run: &Run) -> Option<Conclusion> {
    let slack_ns = slack_ns(&run.host)?;
    let has_slack = |case: &&CaseRecord| case.probe == SLEEP && case.params.get("way") != Some("timerfd");
    let case = run.cases.iter().filter(has_slack).find(|case| believed(case).is_some())?;
    let (late, slack) = (leading(case, Unit::Nanoseconds)?, time_text(slack_ns));
    let text = texts::conditions::slack_text!(late, slack);
    let short = texts::conditions::slack_short!(late, slack);
    let cost = lost(USUAL_SLEEP_NS + slack_ns, USUAL_SLEEP_NS);
    Some(Conclusion { short, text, cases: ids(run.cases.iter().filter(has_slack)), cost })
}

fn bypass(run: &Run) -> Option<Conclusion> {
    let (state, case) = (store_bypass(&run.host)?, case_at(run, FORWARDING, &[])?);
    let takes = leading(case, Unit::Nanoseconds)?;
    let text = texts::conditions::bypass_text!(takes, state);
    let short = texts::conditions::bypass_short!(takes, state);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: lost(2.0, 1.0) })
}

fn clock(run: &Run) -> Option<Conclusion> {
    let ((limit, most), case) = (limited_hz(&run.host)?, case_at(run, FREQUENCY, &[])?);
    let (cost, ran) = (lost(most, limit), leading(case, Unit::Hertz)?);
    let [limit, most] = [limit, most].map(frequency_text);
    let text = texts::conditions::clock_text!(ran, limit, most, share = percent(cost));
    let short = texts::conditions::clock_short!(ran, limit, most);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}

fn io(run: &Run) -> Option<Conclusion> {
    let limit = words(io_limit(&run.host)?);
    let on_disk = |case: &&CaseRecord| case.probe.starts_with("disk.") && believed(case).is_some();
    let case = case_at(run, SYNC, &[]).or_else(|| run.cases.iter().find(on_disk)).filter(|case| on_disk(case))?;
    let unit = run.probes.iter().find(|probe| probe.id == case.probe).map_or(Unit::Nanoseconds, |probe| probe.unit);
    let (probe, takes) = (&case.probe, leading(case, unit)?);
    let text = texts::conditions::io_text!(limit);
    let short = texts::conditions::io_short!(probe, takes, limit);
    Some(Conclusion { short, text, cases: ids(run.cases.iter().filter(on_disk)), cost: MOST_COST })
}

pub(super) static QUOTA_BELOW_CPUS: Rule = Rule {
    id: "run.cpu_quota",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::quota::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw: quota,
};

fn quota(run: &Run) -> Vec<Conclusion> {
    let usable = run.host.usable_cpus().len();
    let Some(quota) = run.host.limits.cpu_quota.filter(|quota| *quota > 0.0 && *quota < usable as f64) else {
        return Vec::new();
    };
    let is_over = |case: &&CaseRecord| {
        let rounds = case.measured().map(|measured| measured.rounds.as_slice()).unwrap_or_default();
        rounds.iter().any(|round| round.cpus.len() as f64 > quota)
    };
    let cases = run.cases.iter().filter(is_over).take(MOST_CASES).map(|case| case.id.clone()).collect();
    let cost = lost(usable as f64, quota);
    let (share, quota) = (percent(cost), number(quota));
    let text = texts::quota::text!(quota, usable, share);
    let short = texts::quota::short!(quota, usable, share);
    vec![Conclusion { short, text, cases, cost }]
}

/// Least share of the time in which tasks waited for memory that anybody notices.
const LEAST_WAIT: f64 = 0.001;

pub(super) static SWAP: Rule = Rule {
    id: "run.swap_in_use",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::swap::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw: swap,
};

fn swap(run: &Run) -> Vec<Conclusion> {
    let used = run.host.memory.swap_used_bytes;
    if used < SWAP_BYTES {
        return Vec::new();
    }
    let waited = run.host.activity.pressure.get("memory").map(|pressure| pressure.some);
    let cost = waited.filter(|share| *share >= LEAST_WAIT).unwrap_or(0.0);
    let used = bytes_text(used as f64);
    let waited = match cost > 0.0 {
        true => words(say!(
            " In the ten seconds before the run tasks waited for memory {cost} of the time.",
            cost = percent(cost)
        )),
        false => Default::default(),
    };
    let text = texts::swap::text!(used, waited);
    let waited = match cost > 0.0 {
        true => words(say!("; tasks waited for memory {cost} of the time", cost = percent(cost))),
        false => Default::default(),
    };
    let short = texts::swap::short!(used, waited);
    vec![Conclusion { short, text, cases: Vec::new(), cost }]
}

pub(super) static SLOWER_THAN_USUAL: Rule = Rule {
    id: "machine.slower_than_usual",
    shown: Demonstration::Explain(HIERARCHY),
    probes: &[HIERARCHY],
    cure: Some(texts::slower_than_usual::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &CLOCK_LIMIT] },
    draw: |run| slower_than_usual(run).into_iter().collect(),
};

/// A constant, and how far it lies beyond what is usual.
struct Slow<'a> {
    constant: &'a ConstantValue<'a>,
    verdict: ReferenceVerdict,
}

impl Slow<'_> {
    /// Value as it was judged, and the near end of the usual range.
    fn here_and_near(&self, usual: &NearestReference) -> Option<(Message, String)> {
        let found = usual.counterpart(self.constant)?;
        let value = found.estimate.value();
        let near =
            value * if found.better == Better::Higher { self.verdict.better.recip() } else { self.verdict.better };
        Some((amount(value, found.unit), in_scale(near, scale_for(value, found.unit))))
    }

    /// `DRAM latency 181 ns; 90 % of similar servers stay below 119`.
    fn line(&self, usual: &NearestReference) -> Option<Message> {
        let known = usual.value_of(self.constant)?;
        let (here, near) = self.here_and_near(usual)?;
        let says = match (known.is_of_servers(), self.constant.better) {
            (false, _) => term!("the design takes under"),
            (true, Better::Higher) => term!("90 % of similar servers give more than"),
            (true, _) => term!("90 % of similar servers stay below"),
        };
        let here = Message::joined([self.constant.row.into(), here], " ");
        Some(Message::joined([here, Message::joined([says.into(), Message::plain(near)], " ")], SEMICOLON))
    }

    /// `DRAM 181 ns: 65 % slower than the slow end of what is usual (80 … 110 ns)`.
    fn sentence(&self, usual: &NearestReference) -> Message {
        let Slow { constant, verdict } = self;
        let name = constant.name;
        let here = self.here_and_near(usual).map(|(here, _)| here).unwrap_or_default();
        let range = usual.range_beside(constant).unwrap_or_default();
        let words = Text { en: verdict.unmarked(Lang::En), zh: verdict.unmarked(Lang::Zh) };
        say!("{name} {here}: {words} than the slow end of what is usual ({range})")
    }
}

fn slower_than_usual(run: &Run) -> Option<Conclusion> {
    let usual = beside(run).filter(NearestReference::is_usual)?;
    let groups = constants::of_run(run);
    let mut slow: Vec<Slow> = groups
        .iter()
        .flat_map(|(_, constants)| constants)
        .filter_map(|constant| Some(Slow { constant, verdict: usual.verdict(constant)? }))
        .filter(|slow| slow.verdict.tone == Tone::Bad)
        .collect();
    slow.sort_by(|one, other| one.verdict.better.total_cmp(&other.verdict.better));
    let worst = slow.first()?;
    let cause = Explanation::of(run, &slow);
    let behind = cause.as_ref().map(Explanation::words).unwrap_or_default();
    let values = words(Message::joined(slow.iter().map(|slow| slow.sentence(&usual)), COMMA));
    let why = cause.as_ref().map_or_else(|| texts::slower_than_usual::why_unknown!(), Explanation::sentence);
    let text = texts::slower_than_usual::text!(values, source = words(usual.source()), why);
    let short = words(Message::joined([worst.line(&usual)?, behind], ""));
    let cases = slow.iter().map(|slow| slow.constant.case.id.clone()).collect();
    Some(Conclusion { short, text, cases, cost: 1.0 - worst.verdict.better })
}

/// Explanation of a slow value, as far as the run tells.
enum Explanation {
    /// Pages of so many bytes, and what they cost a load, ns.
    HugePagesCut(f64, f64),
    Neighbours,
}

impl Explanation {
    fn of(run: &Run, slow: &[Slow]) -> Option<Explanation> {
        let has = |level: &str| slow.iter().any(|slow| slow.constant.case.params.get("level") == Some(level));
        if let Some((case, bytes)) = cut_into(run).filter(|_| has("dram")) {
            return Some(Explanation::HugePagesCut(bytes, Proven::also(case, "huge")?.value));
        }
        let disturbed = rounds_differ(run);
        let is_disturbed = |slow: &Slow| disturbed.iter().any(|other| other.cases.contains(&slow.constant.case.id));
        slow.iter().any(is_disturbed).then_some(Explanation::Neighbours)
    }

    fn words(&self) -> Message {
        match self {
            Explanation::HugePagesCut(_, ns) => {
                let ns = time_text(*ns);
                say!("; page walks are {ns} of it")
            }
            Explanation::Neighbours => term!("; rounds differ").into(),
        }
    }

    fn sentence(&self) -> Text<String> {
        match self {
            Explanation::HugePagesCut(bytes, ns) => {
                let (page, ns) = (bytes_text(*bytes), time_text(*ns));
                texts::slower_than_usual::why_pages!(page, ns)
            }
            Explanation::Neighbours => texts::slower_than_usual::why_neighbours!(),
        }
    }
}
