//! The CPUs that a run keeps to (`--cpu LIST`), and those that a case runs on, or why it cannot be measured on this host.

use std::time::Duration;

use hostmark_host as host_facts;
use hostmark_host::{CoreKind, Order, Placement, parse_cpu_list};
use hostmark_model::{AxisKind, CaseId, HostFacts, Params, Reason, ReasonCode};
use hostmark_say::say;

use super::{PlanError, PlannedCase, Priority, node_pair};
use crate::case::surroundings::{self, Bind};
use crate::probe::{CORE, Entry, ORDER, TWO_HOSTS, too_few_cpus};

/// Leaves to the run only the CPUs of a list such as `0-3,8`: every plan for these facts keeps to them. Isolated CPUs
/// (isolcpus) may be named too: no process begins there, and each may bind itself to them.
pub fn keep_to_cpus(host: &mut HostFacts, list: &str) -> Result<(), PlanError> {
    let ids = parse_cpu_list(list).filter(|ids| !ids.is_empty());
    let ids = ids.ok_or_else(|| PlanError::NoCpuList(list.to_owned()))?;
    let usable = host.usable_cpus();
    if usable.is_empty() {
        return Err(PlanError::NoCpu);
    }
    let online = |id: usize| host.cpus.iter().any(|cpu| cpu.id == id && cpu.online);
    let isolated = host.cpu.isolated.clone().unwrap_or_default();
    let may_bind = |id: &usize| usable.contains(id) || (online(*id) && isolated.contains(id));
    if let Some(&cpu) = ids.iter().find(|id| !may_bind(id)) {
        let (usable, list) = (cpu_list(&usable), cpu_list(&ids));
        return Err(match online(cpu) {
            true => PlanError::ForbiddenCpu { cpu, usable, list },
            false => PlanError::UnusableCpu { cpu, usable },
        });
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
    let mut case = PlannedCase {
        id: CaseId { probe: entry.id(), params },
        entry,
        is_default: steps == 0,
        steps,
        priority: Priority::Default,
        set_up: Duration::ZERO,
        first_touch: Duration::ZERO,
        cpus: vec![cpu],
        skip,
    };
    let value_of = |kind: AxisKind| entry.probe.axis_of(kind).and_then(|axis| case.id.params.get(axis.name));
    let have = host.usable_cpus().len();
    let threads = value_of(AxisKind::Threads).and_then(|threads| threads.parse::<usize>().ok());
    let order = case.id.params.get(ORDER).and_then(|order| order.parse().ok()).unwrap_or(Order::Compact);
    let copies = value_of(AxisKind::Copies).and_then(|copies| copies.parse::<usize>().ok()).unwrap_or(1);
    let core = case.id.params.get(CORE.name).filter(|&core| core != CORE.default).map(str::to_owned);
    let bind = Bind::of_case(&case.id.params).filter(|&bind| bind != Bind::Planned);
    if let Some(bind) = bind {
        match bind.cpus(host, cpu) {
            _ if copies > 1 || threads.is_some_and(|threads| threads != 1) => {
                case.skip = case
                    .skip
                    .or(Some(ReasonCode::NotApplicable.because(say!("several threads or copies have a CPU each"))));
            }
            Ok(cpus) if is_of_other_kind(host, &case.id.params, &cpus) => {
                case.skip = case
                    .skip
                    .or(Some(ReasonCode::NotApplicable.because(say!("it would run on cores of another kind"))));
            }
            Ok(cpus) => case.cpus = cpus,
            Err(reason) => case.skip = case.skip.or(Some(reason)),
        }
    } else if let Some(core) = core {
        let kinds = host_facts::core_kinds(host);
        let of_kind = kinds.iter().find(|(kind, _)| kind.name() == core).and_then(|(_, cpus)| cpus.first());
        match of_kind {
            _ if copies > 1 || threads.is_some_and(|threads| threads != 1) => {
                case.skip = case
                    .skip
                    .or(Some(ReasonCode::NotApplicable.because(say!("several CPUs are of all kinds of core"))));
            }
            Some(&cpu) if kinds.len() > 1 => case.cpus = vec![cpu],
            _ => case.skip = case.skip.or(Some(no_kind(&kinds))),
        }
    } else if copies > 1 {
        let is_apart = threads.is_some_and(|threads| threads > 1)
            || value_of(AxisKind::Placement).is_some_and(|placement| placement != Placement::SameCpu.name());
        match copies <= have {
            _ if is_apart => {
                case.skip = case.skip.or(Some(
                    ReasonCode::NotApplicable
                        .because(say!("copies > 1 cannot be combined with threads > 1 or two-CPU placements")),
                ));
            }
            true => {
                // The first is the CPU of the case without further copies, so that the two compare.
                let others = host_facts::spread(host, have).into_iter().filter(|&other| other != cpu);
                case.cpus.extend(others.take(copies - 1));
            }
            false => case.skip = case.skip.or(Some(too_few_cpus(copies, have))),
        }
    } else if let Some(threads) = threads.filter(|&threads| threads != 1) {
        let placement = value_of(AxisKind::Placement);
        let apart = placement.filter(|&placement| ![Placement::SameCpu.name(), TWO_HOSTS].contains(&placement));
        let of_each = entry.probe.threads_per_cpu();
        let needed = threads.div_ceil(of_each);
        match needed {
            _ if apart.is_some() => {
                case.skip =
                    case.skip.or(Some(ReasonCode::NotApplicable.because(say!("several threads have a CPU each"))))
            }
            1.. if needed <= have => case.cpus = host_facts::in_order(host, threads, order),
            _ => case.skip = case.skip.or(Some(too_few_cpus(needed, have))),
        }
    } else if let Some(value) = value_of(AxisKind::Placement) {
        if value == TWO_HOSTS {
            // The far end has its CPU where it is.
            let is_here = case.entry.peer(&case.id.params).is_none();
            case.skip = case
                .skip
                .or(is_here.then(|| ReasonCode::NoPeer.because(say!("two hosts need a peer; name one by --peer"))));
            return case;
        }
        if let Some(pair) = cpu_pair(value) {
            match pair.iter().find(|cpu| !host.usable_cpus().contains(cpu)) {
                Some(cpu) => case.skip = case.skip.or(Some(surroundings::unusable(*cpu))),
                None => case.cpus = pair.to_vec(),
            }
            return case;
        }
        match value.parse::<Placement>().map(|placement| host_facts::pair(host, placement)) {
            Ok(Ok(pair)) => case.cpus = pair.to_vec(),
            Ok(Err(text)) => case.skip = case.skip.or(Some(ReasonCode::Topology.because(text))),
            // `free`: the scheduler decides.
            Err(_) => case.cpus = host.usable_cpus(),
        }
    } else if let Some([cpus, memory]) = value_of(AxisKind::Nodes).and_then(node_pair) {
        let has_memory = host.nodes.iter().any(|node| node.id == memory && node.memory_bytes > 0);
        let of_node = host_facts::of_node(host, cpus);
        let reason = match (host.nodes.len(), of_node.is_empty(), has_memory) {
            (0, ..) => Some(say!("the kernel tells of no memory nodes")),
            (_, true, _) => Some(say!("node {cpus} has no CPU that may be used")),
            (.., false) => Some(say!("node {memory} has no memory")),
            // What other probes measure of that one is not measured again.
            (1, ..) => Some(say!("this host has only one memory node")),
            _ => None,
        };
        match reason {
            Some(text) => case.skip = case.skip.or(Some(ReasonCode::Topology.because(text))),
            None => case.cpus = of_node,
        }
    }
    case
}

/// Tells whether one of the CPUs is of another kind of core than the case's, where its host has several.
fn is_of_other_kind(host: &HostFacts, params: &Params, cpus: &[usize]) -> bool {
    let Some(core) = params.get(CORE.name) else { return false };
    host_facts::core_kinds(host)
        .iter()
        .any(|(kind, of_kind)| kind.name() != core && cpus.iter().any(|cpu| of_kind.contains(cpu)))
}

/// Reason why a host has no core of a kind.
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
