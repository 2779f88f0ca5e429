//! Host rules on memory, on room for files, and on the loopback device.

use hostmark_model::HostWeight::{Disturbs, Note, Shifts};
use hostmark_model::{DirectoryFact, HostFacts, LoopbackFacts, Message, Purpose, Text};
use hostmark_say::say;

use super::{HostRule, rule};
use crate::format::{bytes_text, rate_text};
use crate::network::queue_text;
use crate::texts::findings::host as texts;
use crate::words;

/// Memory that the quick profile may keep resident, bytes: with less to fill, sizes are cut.
const QUICK_BYTES: u64 = 256 << 20;
/// Sizes go up to so many times the last-level cache.
const CACHES: u64 = 4;
/// Less than one part in so many of the whole: page cache and file cases are short of memory too.
const LITTLE_PARTS: u64 = 20;
/// Every system that has been up for weeks has put some pages away that nobody wants back.
pub(in crate::findings) const SWAP_BYTES: u64 = 64 << 20;

fn little(host: &HostFacts) -> Option<(u64, u64)> {
    let whole = host.memory.total_bytes.min(host.limits.memory_limit_bytes.unwrap_or(u64::MAX));
    let cache = host.usable_cpus().first().and_then(|cpu| host.last_level_cache(*cpu)).map_or(0, |c| c.size_bytes);
    let needed = QUICK_BYTES.max(cache.saturating_mul(CACHES)).max(whole / LITTLE_PARTS);
    let free = host.fillable_bytes();
    (whole > 0 && free < needed).then_some((free, whole))
}

pub(super) static LITTLE: HostRule = rule("host.little_memory", Disturbs, texts::memory::LITTLE_CURE, |host, _| {
    let (free, whole) = little(host).filter(|_| reserved(host).is_none())?;
    let (free, whole) = (bytes_text(free as f64), bytes_text(whole as f64));
    Some(texts::memory::little_effect!(free, whole))
});

/// The bytes of huge pages that were reserved and are most of what is missing.
fn reserved(host: &HostFacts) -> Option<u64> {
    let (free, whole) = little(host)?;
    let pages = host.memory.huge_pages.iter().flatten();
    let reserved = pages.map(|pages| pages.page_bytes.saturating_mul(pages.count)).fold(0, u64::saturating_add);
    (reserved > whole.saturating_sub(free) / 2).then_some(reserved)
}

pub(super) static RESERVED: HostRule =
    rule("host.reserved_huge_pages", Disturbs, texts::memory::RESERVED_CURE, |host, _| {
        let ((free, whole), reserved) = (little(host)?, reserved(host)?);
        let (free, whole, reserved) = (bytes_text(free as f64), bytes_text(whole as f64), bytes_text(reserved as f64));
        Some(texts::memory::reserved_effect!(free, whole, reserved))
    });

pub(super) static SWAP: HostRule = rule("host.swap_in_use", Disturbs, texts::memory::SWAP_CURE, |host, _| {
    let used = bytes_text(Some(host.memory.swap_used_bytes).filter(|used| *used >= SWAP_BYTES)? as f64);
    Some(texts::memory::swap_effect!(used))
});

pub(super) static BALANCING: HostRule =
    rule("host.numa_balancing", Disturbs, texts::memory::BALANCING_CURE, |host, _| {
        let is_on = host.memory.numa_balancing.is_some_and(|mode| mode != 0);
        (is_on && host.nodes.len() > 1).then_some(())?;
        let nodes = host.nodes.len();
        Some(texts::memory::balancing_effect!(nodes))
    });

pub(super) static MERGING: HostRule =
    rule("host.same_page_merging", Disturbs, texts::memory::MERGING_CURE, |host, _| {
        host.memory.same_page_merging.filter(|mode| *mode == 1)?;
        Some(texts::memory::merging_effect!())
    });

pub(super) static NO_HUGE_PAGES: HostRule =
    rule("host.no_huge_pages", Shifts, texts::memory::NO_HUGE_PAGES_CURE, |host, _| {
        host.memory.transparent_huge_pages.as_deref().filter(|mode| *mode == "never")?;
        Some(texts::memory::no_huge_pages_effect!())
    });

/// A thorough run with its journal and a margin.
const RUN_BYTES: u64 = 64 << 20;

pub(super) static DATA: HostRule = rule("host.no_room_for_runs", Disturbs, texts::place::DATA_CURE, |host, _| {
    let data = directory(host, Purpose::Data)?;
    if let Some(why) = unwritable(data) {
        return Some(texts::place::data_unwritable_effect!(why));
    }
    let room = data.available_bytes.filter(|room| *room < RUN_BYTES)?;
    let room = bytes_text(room as f64);
    Some(texts::place::data_effect!(room))
});

pub(super) static SCRATCH: HostRule = rule("host.no_scratch", Note, texts::place::SCRATCH_CURE, |host, _| {
    let why = unwritable(directory(host, Purpose::Scratch)?)?;
    Some(texts::place::scratch_effect!(why))
});

/// The limit of the control group's I/O, the tightest of operations first: `50 operations a second`.
pub(in crate::findings) fn io_limit(host: &HostFacts) -> Option<Message> {
    let set = host.limits.group_settings.get("io.limit").filter(|set| *set != "default")?;
    let mut limits: Vec<(bool, f64)> = Vec::new();
    let mut is_of_bytes = false;
    // `blkio.throttle.write_iops_device 254:0 50`, `io.max 254:0 rbps=max wbps=1048576 riops=max wiops=50`
    for word in set.split([' ', ';', ',']) {
        is_of_bytes = word.contains("bps") || (is_of_bytes && !word.contains("iops"));
        let number = word.rsplit('=').next().and_then(|number| number.parse::<f64>().ok());
        limits.extend(number.map(|number| (is_of_bytes, number)));
    }
    let (is_of_bytes, least) =
        limits.into_iter().min_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)))?;
    Some(match is_of_bytes {
        true => Message::plain(rate_text(least)),
        false => say!("{least} operations a second"),
    })
}

pub(super) static IO_LIMIT: HostRule = rule("host.io_limit", Shifts, texts::place::IO_LIMIT_CURE, |host, _| {
    let limit = words(io_limit(host)?);
    Some(texts::place::io_limit_effect!(limit))
});

pub(super) static IO_PRIORITY: HostRule =
    rule("host.io_priority", Shifts, texts::place::IO_PRIORITY_CURE, |host, _| {
        let of_group = host.limits.group_settings.get("io.priority").filter(|set| set.ends_with(" idle"));
        let own = host.process.attributes.get("io_priority").filter(|class| *class == "idle");
        own.or(of_group).map(|_| texts::place::io_priority_effect!())
    });

fn directory(host: &HostFacts, purpose: Purpose) -> Option<&DirectoryFact> {
    host.storage.directories.iter().find(|directory| directory.purpose == purpose)
}

/// Reason why no file can be created in a directory; none where one can, or nobody knows.
fn unwritable(directory: &DirectoryFact) -> Option<Text> {
    if directory.options.iter().any(|option| option == "ro") {
        return Some(term!("mounted read-only"));
    }
    (directory.writable == Some(false)).then_some(term!("not this user's to write"))
}

/// A name of the kernel's is cut to so many letters, and so many programs are named, so that the effect stays on its line.
const NAME_CHARS: usize = 20;
const MOST_PROGRAMS: usize = 2;

/// Each thing that makes loopback slower than the kernel makes it, most first.
pub(crate) fn obstacles(lo: &LoopbackFacts) -> Vec<Message> {
    let cut = |name: &str| name.chars().take(NAME_CHARS).collect::<String>();
    let rules = lo.many_rules().map(|rules| say!("{rules} packet-filter rules"));
    let queue = lo.waits_in().map(|queue| cut(&queue_text(queue)));
    let queue = queue.map(|queue| say!("queue {queue}"));
    let programs = lo.programs.iter().flatten().take(MOST_PROGRAMS).map(|name| Message::plain(cut(name)));
    let mtu = lo.small_mtu().map(|mtu| Message::plain(format_args!("MTU {mtu}")));
    let buffer = small_buffer(lo)
        .map(|(name, bytes)| Message::plain(format_args!("{name} {size}", size = bytes_text(bytes as f64))));
    rules.into_iter().chain(buffer).chain(queue).chain(programs).chain(mtu).collect()
}

/// A buffer that can grow to no more than this holds TCP to small windows, bytes; the kernel's own limits are 4 MiB and more.
const SMALL_BYTES: u64 = 128 << 10;

/// The setting of the network namespace that lets TCP have the smallest buffer, and its size, where that is too small.
pub(in crate::findings) fn small_buffer(lo: &LoopbackFacts) -> Option<(&'static str, u64)> {
    let most = |name: &'static str| Some((name, lo.sysctls.get(name)?.split(' ').next_back()?.parse().ok()?));
    let small = ["tcp_wmem", "tcp_rmem"].into_iter().filter_map(most).filter(|(_, bytes)| *bytes < SMALL_BYTES);
    small.min_by_key(|(_, bytes)| *bytes)
}

pub(super) static OBSTACLES: HostRule =
    rule("host.loopback_path", Shifts, texts::loopback::OBSTACLES_CURE, |host, _| {
        // The page has a row with all.
        let obstacle = words(obstacles(&host.loopback).into_iter().next()?);
        Some(texts::loopback::obstacles_effect!(obstacle))
    });

pub(super) static FILTER_UNSEEN: HostRule =
    rule("host.packet_filter_unseen", Note, texts::loopback::FILTER_UNSEEN_CURE, |host, _| {
        // Of a host that another kind of file describes nobody asked.
        let LoopbackFacts { queue, filter_rules, programs, .. } = &host.loopback;
        (queue.is_some() && (filter_rules.is_none() || programs.is_none())).then_some(())?;
        Some(texts::loopback::filter_unseen_effect!())
    });
