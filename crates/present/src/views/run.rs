//! A run before its values: its machine, its place and its warnings; and its findings.

use std::collections::HashMap;

use hostmark_analysis::duration::duration_s;
use hostmark_analysis::escape::visible;
use hostmark_analysis::findings::cores_by_measurement;
use hostmark_analysis::findings::host::{host_findings, limits_unseen, tracer, yields};
use hostmark_analysis::findings::is_everywhere;
use hostmark_analysis::findings::steal::stolen_ns;
use hostmark_analysis::format::{amount, number, percent};
use hostmark_analysis::typography::COMMA;
use hostmark_analysis::{consistency, guest, reasons};
use hostmark_model::{
    CaseRecord, Disturbed, Event, Finding, FlagKind, Gap, HostFinding, HostWeight, LostRound, Measured, Message,
    Outcome, Run, Text, Unit, out_of_memory,
};
use hostmark_say::say;

use super::probe::anchor;
use crate::document::Judged;
use crate::runs::Flags;
use crate::runs::Runs;
use crate::words;

/// Share of disturbed samples, unsettled rounds or stolen time that the run as a whole should know of.
const NOTABLE: f64 = 0.01;

/// Largest drift of the clock's rate: the calibration itself is no better than this.
const CLOCK_DRIFT: f64 = 1e-4;

pub(crate) fn tool(run: &Run) -> String {
    match &run.imported {
        Some(_) => run.tool.version.clone(),
        None => format!("hostmark {}", run.tool.version),
    }
}

/// Description of the machine, without its name: the processor with its CPUs and memory first.
pub(crate) fn machine(run: &Run) -> Vec<Message> {
    let host = &run.host;
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    let usable = host.usable_cpus().len();
    let bytes = |bytes: u64| amount(bytes as f64, Unit::Bytes);
    let mut parts: Vec<Message> = host.cpu.named_model().map(Message::plain).into_iter().collect();
    if online > 0 {
        // One package and one node are what everybody expects.
        parts.push(match host.cpu.packages {
            packages @ 2.. => say!("{cpus:CPU} of {packages} packages", cpus = online),
            _ => say!("{cpus:CPU}", cpus = online),
        });
        if usable < online {
            parts.push(say!("{usable} usable"));
        }
        if let Some(quota) = host.limits.cpu_quota.filter(|quota| *quota < usable as f64).map(number) {
            parts.push(say!("quota {quota} CPU"));
        }
        parts.extend(cores_by_measurement(run));
    }
    if let nodes @ 2.. = host.nodes.len() {
        parts.push(say!("{nodes} nodes"));
    }
    if let total @ 1.. = host.memory.total_bytes {
        parts.push(bytes(total));
        let limit = host.limits.memory_limit_bytes.filter(|limit| *limit < total);
        parts.extend(limit.map(|limit| say!("limit {size}", size = bytes(limit))));
    }
    let hypervisor = host.virtualization.hypervisor.as_ref().map(|name| {
        let name = if name == "kvm" { "KVM" } else { name };
        say!("{name} guest")
    });
    let container = host.virtualization.container.as_ref().map(|name| say!("in {name}"));
    let facts = std::iter::once(Message::joined(parts, COMMA)).chain(host.kernel.named().map(Message::plain));
    facts.chain(hypervisor).chain(container).filter(|fact| !fact.is_empty()).collect()
}

/// The machine; of another tool's results that tool first, which may be all that they tell.
pub(crate) fn title(run: &Run) -> Vec<Message> {
    run.imported.is_some().then(|| Message::plain(tool(run))).into_iter().chain(machine(run)).collect()
}

/// Place of measurement, if another one than that of the command.
pub(crate) fn place(run: &Run) -> Option<Message> {
    run.place.as_ref().map(|place| say!("measured at '{place}'"))
}

pub(crate) fn whole_seconds(seconds: f64) -> Option<String> {
    match seconds {
        s if !(0.0..1e9).contains(&s) => None,
        s if s >= 120.0 => Some(format!("{:.0} min", s / 60.0)),
        s => Some(format!("{s:.0} s")),
    }
}

/// Warnings before the values, without the grade and its reasons.
pub(crate) fn warnings(run: &Run) -> Vec<Message> {
    [contradictions(run), ended(run, Reasons::Below), disturbed(run)].concat()
}

/// Reasons not to believe the values at all: an emulated machine, or a file that contradicts itself.
pub(crate) fn contradictions(run: &Run) -> Vec<Message> {
    guest::warning(run).map(Message::from).into_iter().chain(consistency::warning(run).as_ref().map(shown)).collect()
}

/// The text of a file, escaped.
fn shown(text: impl Into<Message>) -> Message {
    let mut message = text.into();
    message.each_text(&mut |text| *text = visible(text));
    message
}

/// Values that could not be estimated again, a sentence each, after the version that did.
fn reestimated(run: &Run) -> Vec<Message> {
    let Some(again) = &run.again else { return Vec::new() };
    let version = visible(&again.version);
    let head = say!("estimated again from its recorded rounds by hostmark {version}");
    let gap = |Gap { what, cases }: &Gap| say!("{what} ({cases:case})", what = shown(what), cases = cases.len());
    std::iter::once(head).chain(again.gaps.iter().map(gap)).collect()
}

/// Place of the reasons why a case has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reasons {
    Below,
    InFull,
}

impl Reasons {
    fn place(self) -> Text {
        match self {
            Reasons::Below => term!("each says why below"),
            Reasons::InFull => term!("--full says why"),
        }
    }
}

/// Completeness of the run; a sentence for whatever was not measured.
pub(crate) fn ended(run: &Run, reasons: Reasons) -> Vec<Message> {
    let mut all = reestimated(run);
    if let Some(why) = &run.interrupted {
        all.push(say!("this run ended early: {why}", why = words::in_both(Message::finished(why))));
    } else if run.finished.is_none() {
        all.push(say!("this run has not finished"));
    }
    let count = |wanted: fn(&Outcome) -> bool| run.cases.iter().filter(|case| wanted(&case.outcome)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed { .. }));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped { .. }));
    if failed > 0 {
        let (cases, place) = (run.cases.len(), reasons.place());
        all.push(match skipped {
            1 => say!("{failed} of {cases:case} failed and {skipped} was skipped; {place}"),
            _ => say!("{failed} of {cases:case} failed and {skipped} were skipped; {place}"),
        });
        all.extend((reasons == Reasons::InFull).then(|| first_failed(run)).flatten());
    }
    all
}

/// The first case that failed, and why: whoever sees no more than the answer, in a job's log, knows where to look.
fn first_failed(run: &Run) -> Option<Message> {
    run.cases.iter().find_map(|case| match &case.outcome {
        Outcome::Failed { reason } => {
            let why = shown(reasons::brief(reason));
            Some(say!("{case}: {why}", case = visible(&case.id)))
        }
        _ => None,
    })
}

/// Warning that a tracer stopped the run.
pub(crate) fn traced(run: &Run) -> Option<Message> {
    tracer(&run.host).map(|tracer| say!("traced by {tracer}: system calls and signals stop for it"))
}

/// Disturbances of the run, a sentence each.
pub(crate) fn disturbed(run: &Run) -> Vec<Message> {
    let (host, clock) = (&run.host, &run.settings.clock);
    let mut all = Vec::new();
    if let Some(why) = clock.why() {
        let (source, why) = (&clock.source, words::in_both(&why));
        all.push(say!("the clock is {source} and not the CPU's counter: {why}"));
    }
    if let Some(drift) = clock.drift.filter(|drift| drift.abs() > CLOCK_DRIFT) {
        let parts = amount(drift.abs() * 1e6, Unit::Count);
        all.push(say!("the clock's rate moved by {parts} parts in a million during the run"));
    }
    let usable = host.usable_cpus().len();
    if let Some(quota) = host.limits.cpu_quota.filter(|quota| *quota < usable as f64).map(number) {
        all.push(say!("a CPU quota of {quota} for {usable:CPU} stops this run now and then"));
    }
    all.extend(traced(run));
    all.extend([yields(host), limits_unseen(host)].iter().flatten().map(shown));
    let killing = out_of_memory().to_string();
    let is_killed =
        |round: &&LostRound| matches!(round.events.last(), Some(Event::Failed { reason }) if reason.contains(&killing));
    let killed = run.lost_rounds.iter().filter(is_killed).count();
    if killed > 0 {
        all.push(say!("{killed:round} lost as a worker was killed, not by hostmark: probably out of memory"));
    }
    all.extend(run.disturbances.iter().map(shown));
    noise(run, &mut all);
    all
}

fn noise(run: &Run, all: &mut Vec<Message>) {
    let measured: Vec<_> = run.cases.iter().filter_map(CaseRecord::measured).collect();
    let steal_ns: f64 = run.cases.iter().filter_map(stolen_ns).sum();
    let of_run = duration_s(run).filter(|seconds| *seconds > 0.0).map(|seconds| steal_ns / 1e9 / seconds);
    if of_run.is_some_and(|share| share > 1.0) {
        let time = amount(steal_ns, Unit::Nanoseconds);
        all.push(say!("the counter of steal says {time}, more than the run took: it is broken, and steal unknown"));
    } else if steal_ns > 0.0 && of_run.is_none_or(|share| share >= NOTABLE / 10.0) {
        let share = of_run.map_or_else(String::new, |share| format!(" {}", percent(share)));
        let time = amount(steal_ns, Unit::Nanoseconds);
        all.push(say!("steal{share}: the host gave {time} of this run to other VMs"));
    }
    let sum = |of: fn(&Measured) -> u64| measured.iter().fold(0u64, |sum, m| sum.saturating_add(of(m)));
    let (disturbed, left_out) = (sum(|m| m.noise.disturbed), sum(|m| m.noise.left_out));
    let share = disturbed as f64 / sum(Measured::taken).max(1) as f64;
    if disturbed > 0 && share >= NOTABLE {
        let share = percent(share);
        all.push(say!("{share} of samples were disturbed (migrated or preempted); {left_out} discarded"));
    }
    let rounds = sum(|m| u64::from(m.estimate.rounds));
    let unsettled = sum(|m| u64::from(m.noise.unsettled_rounds));
    if unsettled > 0 && unsettled as f64 >= NOTABLE * rounds as f64 {
        all.push(say!("in {unsettled} of {rounds:round} the CPU frequency did not settle"));
    }
    let Flags { counts, common, measured } = Flags::of(run);
    // The unsettled rounds were told above.
    for (kind, count) in counts.iter().filter(|(kind, _)| common.contains(kind) && **kind != FlagKind::Unsettled) {
        all.push(say!("{count} of {measured:value}: {flag}", flag = words::flag(*kind)));
    }
}

const DISTURBS: Text = term!("disturbs");
const SHIFTS: Text = term!("shifts");
const EVERYWHERE: Text = term!("On every machine by default");

/// Findings of each run, with the cases that they rest on.
pub(crate) fn findings(runs: &Runs, of_runs: &[Vec<Finding>]) -> Vec<Judged> {
    let cases = runs.probes.iter().flat_map(|probe| probe.cases.iter());
    let cases: HashMap<&str, String> = cases.map(|case| (case.id, case.anchor())).collect();
    let probes: HashMap<&str, String> = runs.probes.iter().map(|probe| (probe.id, anchor(probe.id))).collect();
    let link = |id: &String| {
        let anchor = cases.get(id.as_str()).or_else(|| probes.get(id.as_str())).cloned().unwrap_or_default();
        (runs.typed_id(id), anchor)
    };
    let judged = |(index, finding): (usize, &Finding)| Judged {
        run: runs.letter(index),
        text: match is_everywhere(finding) {
            true => Message::joined([EVERYWHERE.to_owned_text(), finding.text.clone()], term!(": ")),
            false => Message::from(&finding.text),
        },
        cure: finding.cure.as_ref().map(Into::into),
        command: finding.command.clone(),
        anchor: explained(runs, finding),
        cases: finding.cases.iter().map(link).collect(),
        ..Judged::default()
    };
    let all = of_runs.iter().enumerate().flat_map(|(index, of_run)| of_run.iter().map(move |one| (index, one)));
    let mut all: Vec<Judged> = all.map(judged).collect();
    for at in 1..all.len() {
        let first = (0..at).find(|first| all[at].cure.is_some() && all[*first].cure == all[at].cure);
        all[at].cure = first.map(|first| say!("As for {first}.", first = first + 1)).or(all[at].cure.take());
    }
    all
}

pub(crate) fn short(runs: &Runs, finding: &Finding) -> Judged {
    let (text, command) = (finding.short.clone(), finding.command.clone());
    Judged { text: text.into(), command, anchor: explained(runs, finding), ..Judged::default() }
}

/// Anchor of the page's explanation in place of a finding's command.
fn explained(runs: &Runs, finding: &Finding) -> String {
    let probe = finding.command.as_deref().and_then(|command| command.strip_prefix("hostmark explain "));
    probe.and_then(|id| runs.probe(id)).map(|probe| anchor(probe.id)).unwrap_or_default()
}

/// Conditions of a host that disturb or shift values.
pub(crate) fn conditions(run: &Run) -> Vec<Judged> {
    let disturbed = Disturbed { load: run.host.activity.load, ..Disturbed::default() };
    let judged = |finding: HostFinding| Judged {
        verdict: Message::from(match finding.weight {
            HostWeight::Disturbs | HostWeight::Unknown => DISTURBS,
            HostWeight::Shifts | HostWeight::Note => SHIFTS,
        }),
        text: finding.effect.into(),
        cure: Some(finding.cure.into()),
        ..Judged::default()
    };
    let shown = host_findings(&run.host, &disturbed).into_iter().filter(|finding| finding.weight != HostWeight::Note);
    shown.map(judged).collect()
}
