//! What a packet meets that this machine sends to itself: the loopback interface, its queue, packet filters and BPF programs.

use hostmark_model::{LoopbackFacts, NetworkPath};
use hostmark_sys::bpf;
use hostmark_sys::netlink::{Scope, ask};
use rustix::fd::AsFd;

use super::attributes::attribute;
use super::interface::{self, FIXED_BYTES, GET_LINK, NEW_LINK, number_and_flags};
use super::{packet_filter, queue};
use crate::cgroups::{Groups, Version};
use crate::root::Root;

const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;

/// The loopback interface of this process's network namespace, or the little that a captured tree tells of its own.
pub(crate) fn loopback(root: &Root) -> LoopbackFacts {
    if !root.is_this_machine() {
        return LoopbackFacts { mtu_bytes: root.number("/sys/class/net/lo/mtu"), ..LoopbackFacts::default() };
    }
    let links = ask(GET_LINK, Scope::All, &[0; FIXED_BYTES]).unwrap_or_default();
    let is_loopback = |body: &[u8]| interface::kind(body) == Some(interface::LOOPBACK);
    let Some(link) = links.iter().find(|answer| answer.kind == NEW_LINK && is_loopback(&answer.body)) else {
        return LoopbackFacts::default();
    };
    let mut path = NetworkPath::default();
    interface::fill(&link.body, &mut path);
    let number = number_and_flags(link).map(|(number, _)| number);
    let queues = queue::all();
    let classifiers = number.zip(queues.as_deref()).map(|(number, queues)| queue::classifiers(queues, number));
    let xdp = has_xdp(&link.body).map(|is_there| is_there.then(|| "xdp".to_owned()));
    let tcx = number.and_then(|number| bpf::of_interface(number).ok()).map(|count| several("tcx", count));
    let of_group = of_group(root).map(|count| several("cgroup bpf", count));
    let is_all_seen = classifiers.is_some() && xdp.is_some() && tcx.is_some() && of_group.is_some();
    let found = [xdp, tcx, of_group].into_iter().flatten().flatten().chain(classifiers.into_iter().flatten());
    let programs = Some(found.collect::<Vec<_>>()).filter(|found| is_all_seen || !found.is_empty());
    LoopbackFacts {
        mtu_bytes: path.mtu_bytes,
        queue: number.zip(queues).and_then(|(number, queues)| queue::of(&queues, number)).or(path.queue),
        filter_rules: packet_filter::rules(root),
        programs,
    }
}

/// Programs of this kind, where there are some.
fn several(kind: &str, count: u32) -> Option<String> {
    match count {
        0 => None,
        1 => Some(kind.to_owned()),
        count => Some(format!("{count} {kind}")),
    }
}

/// BPF programs of this process's control group and those above it; none where they cannot be asked for.
fn of_group(root: &Root) -> Option<u32> {
    let (_, directory) = Groups::read(root).chain("").find(|(version, _)| *version == Version::V2)?;
    bpf::of_group(std::fs::File::open(directory).ok()?.as_fd()).ok()
}

/// Whether a program of XDP is attached; none where the kernel does not tell.
fn has_xdp(body: &[u8]) -> Option<bool> {
    let xdp = attribute(body.get(FIXED_BYTES..)?, IFLA_XDP)?;
    Some(*attribute(xdp, IFLA_XDP_ATTACHED)?.first()? != 0)
}
