//! Queue before an interface, and the rate to which it limits packets (tc-qdisc).

use hostmark_model::QueueingDiscipline;
use hostmark_sys::netlink::{NetlinkAnswer, Scope, ask};

use super::{attribute, text, u32_at, u64_at};

/// RTM_GETQDISC and RTM_NEWQDISC of linux/rtnetlink.h.
const GET_QUEUE: u16 = 38;
const NEW_QUEUE: u16 = 36;
/// RTM_GETTCLASS and RTM_NEWTCLASS.
const GET_CLASS: u16 = 42;
const NEW_CLASS: u16 = 40;
/// RTM_GETTFILTER and RTM_NEWTFILTER.
const GET_FILTER: u16 = 46;
const NEW_FILTER: u16 = 44;
/// A tcmsg: family, interface, handle, parent, information.
const FIXED_BYTES: usize = 20;
const INTERFACE_AT: usize = 4;
const HANDLE_AT: usize = 8;
const PARENT_AT: usize = 12;
/// The parent of an interface's own queue, and of what is done with packets that arrive.
const ROOT: u32 = u32::MAX;
const INGRESS: u32 = 0xffff_fff1;
/// Parents of the filters of clsact: packets that arrive, and those that are sent.
const CLSACT: [u32; 2] = [0xffff_fff2, 0xffff_fff3];
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// Limit beyond the kinds that anybody nests.
const MOST_KINDS: usize = 8;

/// All queues of this process's network namespace; none where the kernel is not asked.
pub(super) fn all() -> Option<Vec<NetlinkAnswer>> {
    ask(GET_QUEUE, Scope::All, &[0; FIXED_BYTES]).ok()
}

/// The queue of the interface with this number among all; none where the kernel tells of none.
pub(super) fn of(queues: &[NetlinkAnswer], interface: u32) -> Option<QueueingDiscipline> {
    let (mut queue, options) = own(queues, interface)?;
    if queue.kind == "htb" {
        let mut question = vec![0; FIXED_BYTES];
        question[INTERFACE_AT..INTERFACE_AT + 4].copy_from_slice(&interface.to_ne_bytes());
        let classes = ask(GET_CLASS, Scope::All, &question).unwrap_or_default();
        queue.bits_per_s = of_class(&classes, &options);
    }
    Some(queue)
}

/// Returns what classifies the packets of the interface with this number outside of its queue: `clsact` or `ingress`, and the kinds
/// of filter there.
pub(super) fn classifiers(queues: &[NetlinkAnswer], interface: u32) -> Vec<String> {
    let is_there = |answer: &&NetlinkAnswer| {
        let at = |place| u32_at(&answer.body, place);
        answer.kind == NEW_QUEUE && at(INTERFACE_AT) == Some(interface) && at(PARENT_AT) == Some(INGRESS)
    };
    let kind = |answer: &NetlinkAnswer| attribute(answer.body.get(FIXED_BYTES..)?, TCA_KIND).and_then(text);
    let mut found: Vec<String> = queues.iter().filter(is_there).filter_map(kind).collect();
    if found.is_empty() {
        return found;
    }
    for parent in CLSACT {
        let mut question = vec![0; FIXED_BYTES];
        question[INTERFACE_AT..INTERFACE_AT + 4].copy_from_slice(&interface.to_ne_bytes());
        question[PARENT_AT..PARENT_AT + 4].copy_from_slice(&parent.to_ne_bytes());
        let filters = ask(GET_FILTER, Scope::All, &question).unwrap_or_default();
        for kind in filters.iter().filter(|answer| answer.kind == NEW_FILTER).filter_map(kind) {
            let name = format!("tc {kind}");
            if !found.contains(&name) && found.len() < MOST_KINDS {
                found.push(name);
            }
        }
    }
    found
}

/// The interface's own queue among all, with its options.
fn own(queues: &[NetlinkAnswer], interface: u32) -> Option<(QueueingDiscipline, Vec<u8>)> {
    let (mut found, mut inner) = (None, Vec::new());
    for answer in queues.iter().filter(|answer| answer.kind == NEW_QUEUE) {
        let at = |place| u32_at(&answer.body, place);
        let Some(attributes) = answer.body.get(FIXED_BYTES..) else { continue };
        let Some(kind) = attribute(attributes, TCA_KIND).and_then(text) else { continue };
        match (at(INTERFACE_AT) == Some(interface), at(PARENT_AT)) {
            (true, Some(ROOT)) => found = Some((kind, attribute(attributes, TCA_OPTIONS).unwrap_or_default().to_vec())),
            (true, Some(parent)) if parent != INGRESS && !inner.contains(&kind) && inner.len() < MOST_KINDS => {
                inner.push(kind);
            }
            _ => {}
        }
    }
    let (kind, options) = found?;
    let mut queue = QueueingDiscipline { kind, inner, ..QueueingDiscipline::default() };
    match queue.kind.as_str() {
        "tbf" => token_bucket(&options, &mut queue),
        "fq" => fair(&options, &mut queue),
        "cake" => queue.bits_per_s = attribute(&options, TCA_CAKE_BASE_RATE64).and_then(|rate| bits(u64_at(rate, 0)?)),
        _ => {}
    }
    Some((queue, options))
}

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
/// Offsets in a tc_tbf_qopt: rate and peak rate (a tc_ratespec each, with bytes a second at its end), limit, bucket.
const RATE_AT: usize = 8;
const LIMIT_AT: usize = 24;
const BUCKET_AT: usize = 28;
/// The kernel's tick of queues (PSCHED_SHIFT).
const TICK_NS: u64 = 64;

fn token_bucket(options: &[u8], queue: &mut QueueingDiscipline) {
    let Some(parameters) = attribute(options, TCA_TBF_PARMS) else { return };
    let long = attribute(options, TCA_TBF_RATE64).and_then(|rate| u64_at(rate, 0));
    let Some(rate) = long.or_else(|| u32_at(parameters, RATE_AT).map(u64::from)) else { return };
    queue.bits_per_s = bits(rate);
    queue.limit_bytes = u32_at(parameters, LIMIT_AT).map(u64::from);
    // The bucket is told as the time in which the rate fills it.
    let bucket = u32_at(parameters, BUCKET_AT).map(|ticks| u128::from(ticks) * u128::from(TICK_NS) * u128::from(rate));
    queue.burst_bytes = bucket.and_then(|bytes| u64::try_from(bytes / 1_000_000_000).ok());
}

const TCA_FQ_FLOW_MAX_RATE: u16 = 7;
const TCA_CAKE_BASE_RATE64: u16 = 2;

fn fair(options: &[u8], queue: &mut QueueingDiscipline) {
    let rate = attribute(options, TCA_FQ_FLOW_MAX_RATE).and_then(|rate| u32_at(rate, 0));
    // All bits set is no limit.
    queue.bits_per_s = rate.filter(|rate| *rate != u32::MAX).and_then(|rate| bits(rate.into()));
    queue.holds_flows_apart = queue.bits_per_s.map(|_| true);
}

const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_CEIL64: u16 = 7;
/// Offset in a tc_htb_glob (version, quotient, default class): number of the class of what nothing else takes.
const DEFAULT_CLASS_AT: usize = 8;
/// Offset in a tc_htb_opt, which has the guaranteed rate, then the highest, a tc_ratespec each.
const CEILING_AT: usize = 20;

/// The highest rate of the class that takes what no filter assigns.
fn of_class(classes: &[NetlinkAnswer], options: &[u8]) -> Option<u64> {
    let number = u32_at(attribute(options, TCA_HTB_INIT)?, DEFAULT_CLASS_AT).filter(|number| *number != 0)?;
    let is_it = |answer: &&NetlinkAnswer| {
        answer.kind == NEW_CLASS && u32_at(&answer.body, HANDLE_AT).is_some_and(|handle| handle & 0xffff == number)
    };
    let attributes = classes.iter().find(is_it)?.body.get(FIXED_BYTES..)?;
    let class = attribute(attributes, TCA_OPTIONS)?;
    let long = attribute(class, TCA_HTB_CEIL64).and_then(|rate| u64_at(rate, 0));
    bits(long.or_else(|| u32_at(attribute(class, TCA_HTB_PARMS)?, CEILING_AT).map(u64::from))?)
}

/// Bits of so many bytes; a rate of 0 is none.
fn bits(bytes: u64) -> Option<u64> {
    bytes.checked_mul(8).filter(|bits| *bits > 0)
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
