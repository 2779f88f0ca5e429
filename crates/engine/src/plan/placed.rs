//! The CPUs that a case runs on, or why it cannot be measured on this host.

use std::time::Duration;

use hostmark_host::{self as host_facts, CoreKind, Order, Placement};
use hostmark_model::{AxisKind, CaseId, HostFacts, Params, Reason, ReasonCode};
use hostmark_say::say;

use super::{PlannedCase, Priority, node_pair};
use crate::case::bind::{self, Bind};
use crate::probe::{CORE, Entry, ORDER, TWO_HOSTS, too_few_cpus};

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
                Some(cpu) => case.skip = case.skip.or(Some(bind::unusable(*cpu))),
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

/// Whether one of the CPUs is of another kind of core than the case's, where its host has several.
fn is_of_other_kind(host: &HostFacts, params: &Params, cpus: &[usize]) -> bool {
    let Some(core) = params.get(CORE.name) else { return false };
    host_facts::core_kinds(host)
        .iter()
        .any(|(kind, of_kind)| kind.name() != core && cpus.iter().any(|cpu| of_kind.contains(cpu)))
}

/// Why a host has no core of a kind.
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
