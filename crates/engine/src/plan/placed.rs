//! The CPUs that a run keeps to (`--cpu LIST`), and those that a case runs on, or why it cannot be measured on this host.

use std::time::Duration;

use hostmark_host as host_facts;
use hostmark_host::{CoreKind, Order, Placement, parse_cpu_list};
use hostmark_model::{AxisKind, CaseId, HostFacts, Params, Reason, ReasonCode};
use hostmark_say::say;

use super::{PlanError, PlannedCase, Priority, no_cpu, node_pair};
use crate::case::surroundings::{self, Bind};
use crate::probe::{CORE, Entry, ORDER, TWO_HOSTS, too_few_cpus};

/// Leaves to the run only the CPUs of a list such as `0-3,8`: every plan for these facts keeps to them. Isolated CPUs
/// (isolcpus) may be named too: no process begins there, and each may bind itself to them.
pub fn keep_to_cpus(host: &mut HostFacts, list: &str) -> Result<(), PlanError> {
    let ids = parse_cpu_list(list).filter(|ids| !ids.is_empty());
    let ids = ids.ok_or_else(|| say!("'{what}' is no list of CPUs; write one as 0-3,8", what = list))?;
    let usable = host.usable_cpus();
    if usable.is_empty() {
        return Err(no_cpu().into());
    }
    let online = |id: usize| host.cpus.iter().any(|cpu| cpu.id == id && cpu.online);
    let isolated = host.cpu.isolated.clone().unwrap_or_default();
    let may_bind = |id: &usize| usable.contains(id) || (online(*id) && isolated.contains(id));
    if let Some(&cpu) = ids.iter().find(|id| !may_bind(id)) {
        let (usable, list) = (cpu_list(&usable), cpu_list(&ids));
        let refused = match online(cpu) {
            true => say!(
                "cannot bind to CPU {cpu}: this process is kept off it; choose from {usable}, or start hostmark by taskset -c {list}"
            ),
            false => say!("cannot bind to CPU {cpu}: it is not online; choose from {usable}"),
        };
        return Err(refused.into());
    }
    for cpu in &mut host.cpus {
        cpu.allowed = ids.contains(&cpu.id);
    }
    Ok(())
}

/// The run's CPU that is none of a case's own: one that shares a cache with its first one before others, its siblings last.
pub fn nearest_other(host: &HostFacts, cpus: &[usize]) -> Option<usize> {
    let &first = cpus.first()?;
    let siblings = host.cpus.iter().find(|fact| fact.id == first).map_or(&[][..], |fact| &fact.siblings);
    let near = host.last_level_cache(first).map_or(&[][..], |cache| &cache.shared_cpus);
    let others = host.usable_cpus().into_iter().filter(|cpu| !cpus.contains(cpu));
    others.min_by_key(|cpu| (siblings.contains(cpu), !near.contains(cpu), *cpu))
}

/// Ascending ids as a list: `0-3,8`.
pub fn cpu_list(ids: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &id in ids {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    let range =
        |&(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// A case on its CPUs, with the reason why it cannot be measured: `skip` where that is known, else that of its placement.
pub(super) fn placed(
    entry: Entry,
    params: Params,
    base: &Params,
    host: &HostFacts,
    cpu: usize,
    skip: Option<Reason>,
) -> PlannedCase {
    let steps = params.0.iter().zip(&base.0).filter(|(one, other)| one != other).count();
    let (cpus, skip) = match cpus_of(&entry, &params, host, cpu) {
        Ok(cpus) => (cpus, skip),
        Err(reason) => (vec![cpu], skip.or(Some(reason))),
    };
    PlannedCase {
        id: CaseId { probe: entry.id(), params },
        entry,
        is_default: steps == 0,
        steps,
        priority: Priority::Default,
        set_up: Duration::ZERO,
        first_touch: Duration::ZERO,
        cpus,
        skip,
    }
}

/// The CPUs of a case by its axes, where `cpu` is the one of single-party cases; or the reason why it has none.
fn cpus_of(entry: &Entry, params: &Params, host: &HostFacts, cpu: usize) -> Result<Vec<usize>, Reason> {
    let not_applicable = |text| Err(ReasonCode::NotApplicable.because(text));
    let value_of = |kind: AxisKind| entry.probe.axis_of(kind).and_then(|axis| params.get(axis.name));
    let have = host.usable_cpus().len();
    let threads = value_of(AxisKind::Threads).and_then(|threads| threads.parse::<usize>().ok());
    let copies = value_of(AxisKind::Copies).and_then(|copies| copies.parse::<usize>().ok()).unwrap_or(1);
    let has_several = copies > 1 || threads.is_some_and(|threads| threads != 1);
    if let Some(bind) = Bind::of_case(params).filter(|&bind| bind != Bind::Planned) {
        if has_several {
            return not_applicable(say!("several threads or copies have a CPU each"));
        }
        let cpus = bind.cpus(host, cpu)?;
        if is_of_other_kind(host, params, &cpus) {
            return not_applicable(say!("it would run on cores of another kind"));
        }
        return Ok(cpus);
    }
    if let Some(core) = params.get(CORE.name).filter(|&core| core != CORE.default) {
        if has_several {
            return not_applicable(say!("several CPUs are of all kinds of core"));
        }
        let kinds = host_facts::core_kinds(host);
        let of_kind = kinds.iter().find(|(kind, _)| kind.name() == core).and_then(|(_, cpus)| cpus.first());
        return of_kind.filter(|_| kinds.len() > 1).map(|&cpu| vec![cpu]).ok_or_else(|| no_kind(&kinds));
    }
    let placement = value_of(AxisKind::Placement);
    if copies > 1 {
        if threads.is_some_and(|threads| threads > 1)
            || placement.is_some_and(|placement| placement != Placement::SameCpu.name())
        {
            return not_applicable(say!("copies > 1 cannot be combined with threads > 1 or two-CPU placements"));
        }
        if copies > have {
            return Err(too_few_cpus(copies, have));
        }
        // The first is the CPU of the case without further copies, so that the two compare.
        let others = host_facts::spread(host, have).into_iter().filter(|&other| other != cpu);
        return Ok(std::iter::once(cpu).chain(others.take(copies - 1)).collect());
    }
    if let Some(threads) = threads.filter(|&threads| threads != 1) {
        if placement.is_some_and(|placement| ![Placement::SameCpu.name(), TWO_HOSTS].contains(&placement)) {
            return not_applicable(say!("several threads have a CPU each"));
        }
        let needed = threads.div_ceil(entry.probe.threads_per_cpu());
        if !(1..=have).contains(&needed) {
            return Err(too_few_cpus(needed, have));
        }
        let order = params.get(ORDER).and_then(|order| order.parse().ok()).unwrap_or(Order::Compact);
        return Ok(host_facts::in_order(host, threads, order));
    }
    if placement == Some(TWO_HOSTS) {
        // The far end has its CPU where it is.
        let no_peer = || ReasonCode::NoPeer.because(say!("two hosts need a peer; name one by --peer"));
        return entry.peer(params).map(|_| vec![cpu]).ok_or_else(no_peer);
    }
    if let Some(pair) = placement.and_then(cpu_pair) {
        let unusable = pair.iter().find(|cpu| !host.usable_cpus().contains(cpu));
        return unusable.map_or(Ok(pair.to_vec()), |&cpu| Err(surroundings::unusable(cpu)));
    }
    if let Some(value) = placement {
        // `free`: the scheduler decides.
        let Ok(placement) = value.parse::<Placement>() else { return Ok(host.usable_cpus()) };
        let pair = host_facts::pair(host, placement);
        return pair.map(Vec::from).map_err(|text| ReasonCode::Topology.because(text));
    }
    let Some([cpus, memory]) = value_of(AxisKind::Nodes).and_then(node_pair) else { return Ok(vec![cpu]) };
    let has_memory = host.nodes.iter().any(|node| node.id == memory && node.memory_bytes > 0);
    let of_node = host_facts::of_node(host, cpus);
    Err(ReasonCode::Topology.because(match (host.nodes.len(), of_node.is_empty(), has_memory) {
        (0, ..) => say!("the kernel tells of no memory nodes"),
        (_, true, _) => say!("node {cpus} has no CPU that may be used"),
        (.., false) => say!("node {memory} has no memory"),
        // What other probes measure of that one is not measured again.
        (1, ..) => say!("this host has only one memory node"),
        _ => return Ok(of_node),
    }))
}

/// Tells whether one of the CPUs is of another kind of core than the case's, where its host has several.
fn is_of_other_kind(host: &HostFacts, params: &Params, cpus: &[usize]) -> bool {
    let Some(core) = params.get(CORE.name) else { return false };
    host_facts::core_kinds(host)
        .iter()
        .any(|(kind, of_kind)| kind.name() != core && cpus.iter().any(|cpu| of_kind.contains(cpu)))
}

fn no_kind(kinds: &[(CoreKind, Vec<usize>)]) -> Reason {
    ReasonCode::Topology.because(match kinds {
        [_] | [] => say!("the usable cores are all of one kind"),
        several => say!("the usable cores are of {several} kinds", several = several.len()),
    })
}

/// Two different CPUs, as `0-1`.
pub(super) fn cpu_pair(value: &str) -> Option<[usize; 2]> {
    let (one, other) = value.split_once('-')?;
    let pair = [one.parse().ok()?, other.parse().ok()?];
    (pair[0] != pair[1] && format!("{}-{}", pair[0], pair[1]) == value).then_some(pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{host, host_with};

    #[test]
    fn a_thread_of_the_kernel_gets_the_nearest_other_cpu() {
        let host = host();
        let all = host.usable_cpus();
        let cache = host.last_level_cache(all[0]).unwrap();
        let siblings = &host.cpus.iter().find(|cpu| cpu.id == all[0]).unwrap().siblings;
        let place = |cpu: usize| (siblings.contains(&cpu), !cache.shared_cpus.contains(&cpu));
        let nearest = nearest_other(&host, &all[..1]).unwrap();
        assert!(nearest != all[0] && all.contains(&nearest));
        assert!(all[1..].iter().all(|&other| place(nearest) <= place(other)), "{nearest}");
        // Its neighbours are taken one after the other, until none is left.
        for count in 1..all.len() {
            assert!(!all[..count].contains(&nearest_other(&host, &all[..count]).unwrap()));
        }
        assert_eq!((nearest_other(&host, &all), nearest_other(&host, &[])), (None, None));
    }

    #[test]
    fn a_run_keeps_to_the_cpus_it_was_given() {
        let mut host = host();
        keep_to_cpus(&mut host, "1-2").unwrap();
        assert_eq!(host.usable_cpus(), [1, 2]);
        keep_to_cpus(&mut host, "2").unwrap();
        assert_eq!(host.usable_cpus(), [2]);
    }

    #[test]
    fn what_is_no_usable_cpu_is_refused_with_those_that_are() {
        let refused = |list: &str| keep_to_cpus(&mut host_with(&[0, 1, 3]), list).unwrap_err().to_string();
        for list in ["", "a", "3-1", "1;2", "-1"] {
            assert_eq!(refused(list), format!("'{list}' is no list of CPUs; write one as 0-3,8"));
        }
        assert_eq!(refused("0,9"), "cannot bind to CPU 9: it is not online; choose from 0-1,3");
        let mut host = host();
        host.cpus[2].allowed = false;
        assert_eq!(
            keep_to_cpus(&mut host, "1-2").unwrap_err().to_string(),
            "cannot bind to CPU 2: this process is kept off it; choose from 0-1,3, or start hostmark by taskset -c 1-2"
        );
        host.cpus[2].online = false;
        assert!(keep_to_cpus(&mut host, "2").unwrap_err().to_string().contains("not online"));
    }

    #[test]
    fn isolated_cpus_are_used_when_they_are_named_and_not_otherwise() {
        let mut host = host();
        host.cpus[2].allowed = false;
        host.cpus[3].allowed = false;
        host.cpu.isolated = Some(vec![2, 3]);
        assert_eq!(host.usable_cpus(), [0, 1]);
        keep_to_cpus(&mut host, "2-3").unwrap();
        assert_eq!(host.usable_cpus(), [2, 3]);
        // Isolated and offline is offline.
        host.cpus[3].online = false;
        assert!(keep_to_cpus(&mut host, "3").is_err());
    }
}
