//! Every text, path and address of a run, with the field it stands in. Structs are taken apart whole and what is passed over must be `Copy`,
//! so a new field of the run file that is missing here does not compile.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use hostmark_model::*;

/// Part of a run that can name somebody.
pub(super) enum Leaf<'a> {
    Text(&'a mut String),
    Path(&'a mut PathBytes),
    Address(&'a mut IpAddr),
}

pub(super) trait Leaves {
    /// Shows each leaf below this value, which is in `field`.
    fn each(&mut self, field: &str, show: &mut dyn FnMut(&str, Leaf));
}

impl Leaves for String {
    fn each(&mut self, field: &str, show: &mut dyn FnMut(&str, Leaf)) {
        show(field, Leaf::Text(self));
    }
}

impl Leaves for PathBytes {
    fn each(&mut self, field: &str, show: &mut dyn FnMut(&str, Leaf)) {
        show(field, Leaf::Path(self));
    }
}

impl Leaves for IpAddr {
    fn each(&mut self, field: &str, show: &mut dyn FnMut(&str, Leaf)) {
        show(field, Leaf::Address(self));
    }
}

impl Leaves for SocketAddr {
    fn each(&mut self, field: &str, show: &mut dyn FnMut(&str, Leaf)) {
        let mut ip = self.ip();
        ip.each(field, show);
        self.set_ip(ip);
    }
}

impl<T: Leaves> Leaves for Option<T> {
    fn each(&mut self, field: &str, show: &mut dyn FnMut(&str, Leaf)) {
        self.iter_mut().for_each(|value| value.each(field, show));
    }
}

impl<T: Leaves> Leaves for Box<T> {
    fn each(&mut self, field: &str, show: &mut dyn FnMut(&str, Leaf)) {
        (**self).each(field, show);
    }
}

impl<T: Leaves> Leaves for Vec<T> {
    fn each(&mut self, field: &str, show: &mut dyn FnMut(&str, Leaf)) {
        self.iter_mut().for_each(|value| value.each(field, show));
    }
}

impl<T: Leaves> Leaves for BTreeMap<String, T> {
    fn each(&mut self, _: &str, show: &mut dyn FnMut(&str, Leaf)) {
        self.iter_mut().for_each(|(key, value)| value.each(key, show));
    }
}

/// A sentence and its message. A name of several words may be known in the sentence alone: the message goes where it says anything else.
fn each_of_sentence(text: &mut String, message: &mut Option<Message>, show: &mut dyn FnMut(&str, Leaf)) {
    text.each("reason", show);
    message.iter_mut().for_each(|message| message.each_text(&mut |text| show("reason", Leaf::Text(text))));
    if message.as_ref().is_some_and(|message| message.to_string() != *text) {
        *message = None;
    }
}

impl Leaves for Reason {
    fn each(&mut self, _: &str, show: &mut dyn FnMut(&str, Leaf)) {
        let Reason { text, code: _, arguments, message } = self;
        each_of_sentence(text, message, show);
        arguments.each("arguments", show);
    }
}

impl Leaves for Flag {
    fn each(&mut self, _: &str, show: &mut dyn FnMut(&str, Leaf)) {
        let Flag { kind: _, detail, message } = self;
        each_of_sentence(detail, message, show);
    }
}

impl Leaves for ClockFacts {
    fn each(&mut self, _: &str, show: &mut dyn FnMut(&str, Leaf)) {
        let ClockFacts { source, hz: _, reason, message, drift: _ } = self;
        source.each("source", show);
        match reason {
            Some(reason) => each_of_sentence(reason, message, show),
            None => *message = None,
        }
    }
}

impl Leaves for Params {
    fn each(&mut self, _: &str, show: &mut dyn FnMut(&str, Leaf)) {
        self.0.iter_mut().for_each(|(axis, value)| value.each(axis, show));
    }
}

/// Values without texts: `Copy` is what no `String` is.
macro_rules! without {
    ($($type:ty),* $(,)?) => {$(
        impl Leaves for $type where $type: Copy {
            fn each(&mut self, _: &str, _: &mut dyn FnMut(&str, Leaf)) {}
        }
    )*};
}

/// Structs by all their fields; those behind `but` stay. `name as interface` shows a name as the field `interface`.
macro_rules! fields {
    ($($type:ty { $($field:ident $(as $mark:ident)?),* $(; but $($kept:ident),*)? })*) => {$(
        impl Leaves for $type {
            fn each(&mut self, _: &str, show: &mut dyn FnMut(&str, Leaf)) {
                let Self { $($field,)* $($($kept: _,)*)? } = self;
                $($field.each(marked!($field $($mark)?), show);)*
            }
        }
    )*};
}

macro_rules! marked {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $mark:ident) => {
        stringify!($mark)
    };
}

/// Enums by all their variants.
macro_rules! variants {
    ($($type:ident { $($variant:ident $(($value:ident))? $({ $($field:ident),* })?)* })*) => {$(
        impl Leaves for $type {
            fn each(&mut self, _: &str, show: &mut dyn FnMut(&str, Leaf)) {
                match self {
                    $($type::$variant $(($value))? $({ $($field),* })? => {
                        $($value.each(stringify!($value), show);)?
                        $($($field.each(stringify!($field), show);)*)?
                    })*
                }
            }
        }
    )*};
}

without! {
    bool, u8, u32, u64, usize, i32, i64, f64, [u64; 2], [u64; 3], [f64; 2], [f64; 3],
    Audit, AxisKind, Better, Bounds, CacheKind, FlagKind, Grade, HugePages, IntervalMethod, Leading, Others, Pressure, Profile, Purpose, Quiet, ReasonCode,
    Repetition, Resource, RoundTime, RunTime, Sight, Throttling, Unit,
}

fields! {
    Run {
        schema, id, name as run, note, series, started, finished, interrupted, imported, tool, place, guest, settings, host, peers, pairs, disturbances, neighbours, others_share, hottest_celsius,
        trust, probes, cases, lost_rounds, time, findings, again
    }
    SeriesTurn { name as series, every_s, until }
    Tool { version, target, libc, is_static, digest }
    Settings { profile, seed, filters, table, rounds, limit_s, clock, cpu, set, inputs }
    Inputs { cpus, scratch, command, sampled, isolate, peers, limit_s, counters, tried }
    Finding { id, short, text, cure, command, cases, cost }
    Imported { format, file, date }
    Peer { name, host, place, address, path, path_back }
    PairRun { from, to, turn, cases, failed }
    Guest {
        accel, vmm, machine, cpu, cpus, nodes, memory, backing, pinned, disk, net, channel, command, append, digests, boot_ns, host, exits,
        idle_cpus
    }
    Text<String> { en, zh }
    Neighbours { core_shared, last_cache }
    LastCache { bytes, looks_ns }
    Trust { grade, within, core, others, runs, left_out as run, doubts, self_check }
    SelfChecked { started, passed, failed, not_possible }
    Doubt { text, cure }
    Again { version, gaps }
    Gap { what, cases }

    HostFacts {
        hostname, boot_id, cpu, cpus, caches, nodes, memory, memory_look, kernel, virtualization, limits, process, firmware, storage, network, loopback, activity
    }
    CpuFacts {
        architecture, vendor, model, microarchitecture, microcode, features, packages, governor, smt_active, frequency_driver, turbo, isolated, tickless,
        callback_free, kinds
    }
    CoreKindFact { name, cpus, max_hz, limit_hz, governor }
    CpuFact { id, online, allowed, package, core, node, siblings, max_hz, limit_hz, capacity, busy }
    CacheFact { level, kind, size_bytes, line_bytes, ways, shared_cpus }
    NodeFact { id, cpus, memory_bytes, distances, huge_pages }
    MemoryLook { first_touch_bytes_per_s, last_cache_bytes }
    MemoryFacts {
        total_bytes, available_bytes, swap_total_bytes, swap_used_bytes, page_bytes, pmd_page_bytes, transparent_huge_pages,
        transparent_huge_pages_forbidden, transparent_huge_page_defrag, huge_pages, same_page_merging, numa_balancing, zone_reclaim_mode,
        swappiness, overcommit
    }
    KernelFacts {
        system, release, version as build, command_line, clock_source, clock_sources, vulnerabilities, has_run_delay, perf_event_paranoid, io_uring_disabled,
        audit, audit_rules, module_version, sysctls
    }
    VirtualizationFacts {
        hypervisor, container, container_unknown, extension, nested_paging, tagged_tlb, nested_guests, kvm_permitted
    }
    LimitFacts { cgroup_version, cpu_quota, memory_limit_bytes, memory_used_bytes, is_root, unknown, groups, seccomp, group_settings }
    GroupFact { resource, path as folder, sight }
    ProcessFacts { policy, nice, priority, uclamp_min, uclamp_max, traced, no_new_privs, attributes, resource_limits }
    LoopbackFacts { mtu_bytes, queue, filter_rules, programs, sysctls }
    FirmwareFacts { vendor, product, bios_version, bios_date, memory_modules }
    MemoryModule { slot, kind, size_bytes, transfers_per_s }
    StorageFacts { devices, directories }
    BlockDevice { name as disk, model, size_bytes, rotational, scheduler }
    DirectoryFact {
        purpose, path as folder, filesystem, device as mounted, stack as layer, mount_point as folder, options, total_bytes, available_bytes, writable
    }
    NetworkInterface { name as interface, driver, bits_per_s, mtu_bytes, state }
    Activity { uptime_s, load, pressure }
    NetworkPath {
        destination, source, interface, driver, bits_per_s, full_duplex, mtu_bytes, path_mtu_bytes, next_hop, on_link, queue, offloads, rings,
        moderation, channels, losses, congestion_control, congestion_controls, tcp_receive_buffers, tcp_send_buffers, receive_buffer_limit,
        send_buffer_limit, settings
    }
    QueueingDiscipline { kind, inner, bits_per_s, holds_flows_apart, burst_bytes, limit_bytes }
    Offloads { tso, gso, gro, lro, transmit_checksum, receive_checksum, scatter_gather }
    Rings { receive, receive_max, transmit, transmit_max }
    InterruptModeration { receive_us, receive_frames, transmit_us, transmit_frames, adaptive_receive, adaptive_transmit }
    Channels { combined, receive, transmit }
    InterfaceLosses { receive_dropped, receive_errors, transmit_dropped, transmit_errors }

    ProbeInfo {
        id, unit, better, also, revision, related, replaces, differs, axes, needs, brought_by; but title, explain, section
    }
    QuantityInfo { name, unit, better; but title }
    AxisInfo { name, kind, default }

    CaseRecord { id, probe, params, outcome }
    Measured { estimate, also, samples, histogram, rounds, noise, notes, flags, bounds }
    Also { estimate }
    Estimate {
        typical, ci_low, ci_high, confidence, method, min, max, mean, stddev, mad, best_round, n, rounds, range, quiet, leading, repetition,
        agreement
    }
    Histogram { values, counts }
    Noise {
        disturbed, left_out, run_delay_ns, steal_ns, involuntary_switches, faults, unsettled_rounds, throttled_rounds, throttled_ns,
        contended_rounds, others_share, shared
    }
    RoundRecord {
        round, median, disturbance_flags, core_hz, cpus, iterations, settled, steal_ns, throttled, waited, others, shared, far, raw
    }
    FarUsage { cpu_ns, voluntary_switches, involuntary_switches, faults }
    Raw {
        resolution_ns, clock_cost_ns, sample_ns, iterations, amount, core_khz, looks, run_delay_ns, involuntary_switches, faults, also, counts
    }
    LostRound { case, round, cpus, others, events }
    RoundNoise {
        core_hz, core_khz, looks, shared, resolution_ns, clock_cost_ns, settled, iterations, run_delay_ns, waited, steal_ns, throttled,
        involuntary_switches, faults, time
    }
}

variants! {
    Outcome { Measured(measured) Skipped { reason } Failed { reason } }
    Argument { Number(number) Name(name) }
    Sampled { Bytes(bytes) Printed { pattern, unit } }
    Event {
        Hello { protocol, pid }
        Filled { bytes, of_bytes }
        Measuring
        Note { key, value }
        Samples { ns, iterations, amount, disturbance_flags }
        Histogram(histogram)
        Also { name, values }
        Chosen { scope, way, trials_ns }
        LastCache { bytes, ns }
        MemoryLook(look)
        Listening { address }
        Served(usage)
        Done { noise }
        Skipped { reason }
        Failed { reason }
    }
}

/// Tells whether a list of words has this one.
pub(super) fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Names of series that nobody chose: those of `hostmark watch` and of Slurm's epilog.
pub(super) const SERIES: &[&str] = &["watch", "epilog"];
/// Kinds of container, as they call themselves.
pub(super) const CONTAINERS: &str = "\
    docker podman lxc lxc-libvirt kubernetes systemd-nspawn openvz wsl rkt oci proot pouch container-other";
/// Filesystems, and what else may be mounted or lie below one.
pub(super) const FILESYSTEMS: &str = "\
    ext2 ext3 ext4 xfs btrfs zfs f2fs jfs reiserfs bcachefs nilfs2 tmpfs ramfs rootfs devtmpfs overlay aufs \
    squashfs erofs vfat exfat ntfs ntfs3 iso9660 nfs nfs4 cifs smb3 9p virtiofs fuse fuseblk fuse.sshfs \
    fuse.glusterfs fuse.s3fs fuse.rclone ceph lustre gpfs glusterfs ocfs2 gfs2 afs none unknown proc sysfs";
/// Words in interfaces' names before their numbers.
const INTERFACES: &str = "\
    lo eth en eno ens enp enP wlan wl wlp wlo wls ib ibp ibs ww wwp bond team br virbr vmbr docker veth vnet tap \
    tun wg dummy sit gre gretap tunl ip tnl vlan vxlan macvlan macvtap ipvlan cni usb s f p n d np nd o u c";
/// Words in disks' names before their numbers.
const DISKS: &str = "\
    nvme n c p mmcblk boot md loop sr zram ram nbd rbd drbd pmem s bcache fd nullb root";
/// Other devices that our sentences name.
const DEVICES: &str = "\
    null zero full random urandom kvm vhost-net vhost-vsock cpu_dma_latency shm pts block mapper net stdin stdout \
    stderr tty fuse hostmark userfaultfd mem kmsg";
/// Kinds of device layers, before a level.
pub(super) const LAYERS: &[&str] =
    &["lvm", "crypt", "mpath", "raid", "linear", "direct I/O", "deleted", "dmraid", "part"];
/// Words that kernels and distributions put behind a release.
const RELEASE: &str = "\
    rc generic amd x arm aarch cloud aws azure gcp gke oracle ibm kvm virtual virt lowlatency rt lts arch zen \
    hardened fc el uek amzn default microsoft standard WSL pve bpo deb u ubuntu debian raspi rpi rpt v tegra \
    linuxkit flatcar talos lp bp sp azl cm k riscv ppc le s dirty smp unsigned hwe oem nvidia gentoo dist zabbly \
    xanmod liquorix cachyos bazzite orbstack firecracker gvisor";
/// Words of the version that `uname -v` tells.
const BUILD: &str = "\
    SMP PREEMPT PREEMPT_DYNAMIC PREEMPT_RT RT Debian Ubuntu NixOS Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May \
    Jun Jul Aug Sep Oct Nov Dec UTC GMT AM PM deb u bpo pmx";

/// The words of a name: its runs of letters, and whatever `more` takes for a part of one.
fn words_of<'a>(name: &'a str, more: &'a [char]) -> impl Iterator<Item = &'a str> {
    name.split(move |c: char| !c.is_alphabetic() && !more.contains(&c)).filter(|word| !word.is_empty())
}

/// Tells whether a name is made of these words and short numbers.
fn is_made_of(name: &str, known: &str, separators: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || separators.contains(c));
    let numbers = name.split(|c: char| !c.is_ascii_digit());
    is_plain
        && numbers.map(str::len).all(|digits| digits <= 5)
        && words_of(name, &[]).all(|word| is_listed(known, word))
}

/// Tells whether an interface has a name by the kernel or systemd.
pub(super) fn is_interface(name: &str) -> bool {
    is_made_of(name, INTERFACES, ".")
}

/// Tells whether a file in /dev has its name from the kernel.
pub(super) fn is_device(name: &str) -> bool {
    is_listed(DEVICES, name) || is_disk(name)
}

/// Tells whether a disk has its name from the kernel.
pub(super) fn is_disk(name: &str) -> bool {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let of_letters = ["sd", "hd", "vd", "xvd", "ubd", "dasd"].iter().find_map(|kind| letters.strip_prefix(kind));
    let is_lettered = of_letters.is_some_and(|rest| rest.len() <= 3 && rest.bytes().all(|c| c.is_ascii_lowercase()));
    is_lettered || is_made_of(&name.replace("dm-", "md"), DISKS, "")
}

/// A kernel's release without the words that somebody put behind it.
pub(super) fn release(release: &str) -> String {
    let is_known = |part: &str| part.is_empty() || is_made_of(part, RELEASE, "._~");
    let kept = release.split_inclusive(['-', '+']).filter(|part| is_known(part.trim_end_matches(['-', '+'])));
    let kept: String = kept.collect();
    // What joined it to a word that is gone.
    if release.ends_with(['-', '+']) { kept } else { kept.trim_end_matches(['-', '+']).to_owned() }
}

/// The version that `uname -v` tells, without words of somebody.
pub(super) fn build(build: &str) -> String {
    let is_known = |word: &&str| {
        word.chars().all(|c| c.is_ascii_alphanumeric() || "#:.~+-_()/".contains(c))
            && words_of(word, &['_']).all(|part| is_listed(BUILD, part))
    };
    build.split_whitespace().filter(is_known).collect::<Vec<_>>().join(" ")
}
