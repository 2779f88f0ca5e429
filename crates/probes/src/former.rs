//! Former ids of probes that are now values of another's axis, by the table `former.tsv`.

use std::collections::HashSet;
use std::ffi::OsString;

use hostmark_engine::probe::find;
use hostmark_model::{CaseId, Params, ProbeInfo, Run};

/// The values that a case of a former probe has in a line of the table, and the case that it is now.
struct Former {
    at: Pairs,
    probe: &'static str,
    point: Pairs,
}

type Pairs = Vec<(String, String)>;

/// Parts of `name@axis=value,axis`; the value of an axis without one is empty.
fn parts(filter: &str) -> (&str, Pairs) {
    let (name, axes) = filter.split_once('@').unwrap_or((filter, ""));
    let pair = |part: &str| {
        part.split_once('=').map_or((part.into(), String::new()), |(axis, value)| (axis.into(), value.into()))
    };
    (name, axes.split(',').filter(|part| !part.is_empty()).map(pair).collect())
}

fn formers(name: &str) -> impl Iterator<Item = Former> {
    let lines = include_str!("former.tsv").lines().filter_map(|line| line.split_once('\t'));
    let named = lines.filter(move |(former, _)| former.split('@').next() == Some(name));
    named.map(|(former, now)| {
        let ((_, at), (probe, point)) = (parts(former), parts(now));
        Former { at, probe, point }
    })
}

impl Former {
    /// True where a point may be one of its cases: what it does not say is open.
    fn may_be(&self, pairs: &[(String, String)]) -> bool {
        self.at.iter().all(|(axis, wanted)| pairs.iter().all(|(known, value)| known != axis || value == wanted))
    }

    /// The case or filter of today for one of the former probe: the axes in their order, then those that every probe may have.
    fn of_today(&self, mut pairs: Pairs) -> CaseId {
        pairs.retain(|(axis, _)| self.at.iter().all(|(known, _)| known != axis));
        let mut point = Vec::new();
        for (axis, value) in &self.point {
            match pairs.iter().position(|(known, _)| known == axis) {
                Some(place) => point.push(pairs.remove(place)),
                None if value.is_empty() => {}
                None => point.push((axis.clone(), value.clone())),
            }
        }
        point.extend(pairs);
        CaseId { probe: self.probe.into(), params: Params(point) }
    }
}

/// Filters of today for a former one; none where its name is one of today.
fn filters_of_today(filter: &str) -> Vec<String> {
    let (name, pairs) = parts(filter);
    let fitting = formers(name).filter(|former| former.may_be(&pairs));
    fitting.map(|former| former.of_today(pairs.clone()).to_string()).collect()
}

/// Words of a command line with former filters as those of today; a command to be measured stays as it is.
pub fn words_of_today(words: &[OsString]) -> Vec<OsString> {
    let (mut today, mut is_option) = (Vec::new(), true);
    for (at, word) in words.iter().enumerate() {
        let text = word.to_string_lossy();
        if text == "--" || text.starts_with("--command") {
            today.extend_from_slice(&words[at..]);
            break;
        }
        // An option has one value, as `--set PROBE:AXIS=…` and `--get=CASE`.
        let (before, rest) = text
            .split_once('=')
            .filter(|_| text.starts_with('-'))
            .map_or(("", &*text), |(option, rest)| (option, rest));
        let (filter, behind) = rest.split_once(':').unwrap_or((rest, ""));
        let filters = filters_of_today(filter);
        match (filters.first(), before.is_empty() && !is_option && behind.is_empty()) {
            (None, _) => today.push(word.clone()),
            (Some(_), true) => today.extend(filters.iter().map(OsString::from)),
            (Some(first), false) if !behind.is_empty() => today.push(format!("{}:{behind}", parts(first).0).into()),
            (Some(first), false) if before.is_empty() => today.push(first.into()),
            (Some(first), false) => today.push(format!("{before}={first}").into()),
        }
        is_option = text.starts_with('-') && before.is_empty();
    }
    today
}

fn id_of_today(id: &mut String) {
    let Ok(CaseId { probe, mut params }) = id.parse() else { return };
    // A value that is a probe, as the source of a scaling.
    for (_, value) in &mut params.0 {
        let today = formers(value).next().map(|former| former.probe);
        today.iter().for_each(|probe| (*probe).clone_into(value));
    }
    let today = formers(&probe).find(|former| former.may_be(&params.0)).map(|former| former.of_today(params.0.clone()));
    *id = today.unwrap_or(CaseId { probe, params }).to_string();
}

/// A run that an earlier version measured, with the ids of today and what its probes of today say of themselves.
pub fn run_of_today(mut run: Run) -> Run {
    if !run.probes.iter().any(|probe| formers(&probe.id).next().is_some()) {
        return run;
    }
    let mut probes: Vec<ProbeInfo> = Vec::new();
    for probe in run.probes {
        let former = formers(&probe.id).next();
        let today = match former.and_then(|former| find(crate::CATALOGUE, former.probe)) {
            Some(entry) => {
                let mut today = ProbeInfo { revision: probe.revision, brought_by: probe.brought_by, ..entry.info() };
                let others = probe.axes.into_iter().filter(|axis| ["core", "to", "ip"].contains(&axis.name.as_str()));
                today.axes.extend(others);
                today
            }
            None => probe,
        };
        if !probes.iter().any(|known| known.id == today.id) {
            probes.push(today);
        }
    }
    for case in run.cases.iter_mut().chain(run.pairs.iter_mut().flat_map(|pair| &mut pair.cases)) {
        id_of_today(&mut case.id);
        if let Ok(CaseId { probe, params }) = case.id.parse() {
            (case.probe, case.params) = (probe, params);
        }
    }
    // A former probe may have measured again what another one did.
    let mut seen = HashSet::new();
    run.cases.retain(|case| seen.insert(case.id.clone()));
    run.cases.sort_by_key(|case| probes.iter().position(|probe| probe.id == case.probe));
    let lost = run.lost_rounds.iter_mut().map(|lost| &mut lost.case);
    run.findings.iter_mut().flat_map(|finding| &mut finding.cases).chain(lost).for_each(id_of_today);
    run.probes = probes;
    run
}

#[cfg(test)]
mod tests {
    use hostmark_model::{CaseRecord, Outcome, ReasonCode};

    use super::*;

    #[test]
    fn former_filters_and_cases_are_those_of_today() {
        let today = |typed: &str| {
            let words: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
            words_of_today(&words).iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        for (typed, wanted) in [
            ("run ipc.fifo@cpus=free ipc", "run ipc.round_trip@by=fifo,cpus=free ipc"),
            ("list ipc.message_queue", "list ipc.round_trip@by=posix_queue ipc.round_trip@by=sysv_queue"),
            ("report a --get ipc.message_queue", "report a --get ipc.round_trip@by=posix_queue"),
            ("report a --get=lat_sem", "report a --get=ipc.hand_over@by=sysv_semaphore"),
            ("run ipc --set ipc.fifo:cpus=free", "run ipc --set ipc.round_trip:cpus=free"),
            ("run --command lat_pipe", "run --command lat_pipe"),
        ] {
            assert_eq!(today(typed), wanted);
        }
        for (former, wanted) in [
            ("ipc.socketpair@type=dgram,cpus=free", "ipc.round_trip@by=socketpair_dgram,cpus=free"),
            ("cpu.scaling@source=ipc.pipe_bandwidth,copies=2", "cpu.scaling@source=ipc.bandwidth,copies=2"),
            ("syscall.null@copies=1", "syscall.null@copies=1"),
            ("file.overwrite@bind=0,through=cache", "file.block@op=write,bind=0,through=cache"),
            ("process.shell@child=static", "process.exec@way=shell,child=static"),
        ] {
            let mut id = former.to_owned();
            id_of_today(&mut id);
            assert_eq!(id, wanted);
        }
    }

    #[test]
    fn two_cases_of_a_run_that_are_one_today_are_kept_once() {
        let case = |id: &str| {
            let CaseId { probe, params } = id.parse().unwrap();
            let outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("time budget") };
            CaseRecord { id: id.into(), probe, params, outcome }
        };
        let former =
            ["cpu.atomic@op=fetch_add,method=best", "cpu.per_cpu_counter@way=rseq", "cpu.per_cpu_counter@way=atomic"];
        let probe = |id: &str| ProbeInfo { id: id.into(), ..find(crate::CATALOGUE, "cpu.atomic").unwrap().info() };
        let probes = ["cpu.atomic", "cpu.per_cpu_counter"].map(probe).into();
        let run = run_of_today(Run { probes, cases: former.map(case).into(), ..Run::default() });
        let ids: Vec<String> = run.cases.into_iter().map(|case| case.id).collect();
        assert_eq!(ids, ["fetch_add", "rseq"].map(|op| format!("cpu.atomic@op={op},method=best")));
        assert_eq!(run.probes.len(), 1);
    }
}
