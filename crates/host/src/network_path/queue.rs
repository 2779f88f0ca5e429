//! Queueing disciplines of an interface and their limits, and its driver's settings, from netlink.

use std::ffi::CString;

use hostmark_model::{
    Channels, InterruptModeration, NetworkInterface, NetworkPath, Offloads, QueueingDiscipline, Rings,
};
use hostmark_sys::netlink::{NetlinkAnswer, Question, Scope, ask, ask_driver};

use super::{Link, attribute, text, u32_at, u64_at};

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

/// Returns the classifiers outside the interface's queue: `clsact` or `ingress`, and the kinds of filter there.
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

/// ETH_FLAG_LRO of linux/ethtool.h.
const LRO: u32 = 1 << 15;
/// Drivers without an answer write all bits.
const UNKNOWN_SPEED: u32 = u32::MAX;

/// Fills in what the driver of the interface with this name tells.
pub(super) fn read_driver(name: &str, path: &mut NetworkPath) {
    let Ok(name) = CString::new(name) else { return };
    let ask = |question| ask_driver(&name, question).ok();
    let is_on = |question| ask(question).map(|words| words[1] != 0);
    path.offloads = Offloads {
        tso: is_on(Question::Tso),
        gso: is_on(Question::Gso),
        gro: is_on(Question::Gro),
        lro: ask(Question::Flags).map(|words| words[1] & LRO != 0),
        transmit_checksum: is_on(Question::TransmitChecksum),
        receive_checksum: is_on(Question::ReceiveChecksum),
        scatter_gather: is_on(Question::ScatterGather),
    };
    if let Some(words) = ask(Question::Driver) {
        path.driver = driver(&words).or(path.driver.take());
    }
    if let Some(words) = ask(Question::Link) {
        (path.bits_per_s, path.full_duplex) = link(&words);
    }
    path.rings = ask(Question::Rings).map(|words| rings(&words));
    path.moderation = ask(Question::Moderation).map(|words| moderation(&words));
    path.channels = ask(Question::Channels).map(|words| channels(&words));
}

/// An interface with what its driver tells, where it has a device.
pub(crate) fn interface(of: Link) -> NetworkInterface {
    let Link { name, has_device, state, mtu_bytes, .. } = of;
    let own = CString::new(name.as_str()).ok().filter(|_| has_device);
    let ask = |question| ask_driver(own.as_deref()?, question).ok();
    let driver = ask(Question::Driver).and_then(|words| driver(&words));
    // A link that is down has no speed.
    let is_up = state.as_deref() == Some("up");
    let bits_per_s = is_up.then(|| ask(Question::Link)).flatten().and_then(|words| link(&words).0);
    NetworkInterface { name, driver, bits_per_s, mtu_bytes, state }
}

/// Parses an ethtool_drvinfo: 32 bytes of name behind the question's number.
fn driver(words: &[u32]) -> Option<String> {
    let bytes: Vec<u8> = words.get(1..9)?.iter().flat_map(|word| word.to_ne_bytes()).collect();
    text(&bytes)
}

/// Parses an ethtool_link_settings: megabits a second, then a byte that is 1 where both directions share the wire's time.
fn link(words: &[u32]) -> (Option<u64>, Option<bool>) {
    let [_, megabits, ways, ..] = words else { return (None, None) };
    let speed = Some(*megabits).filter(|megabits| *megabits != 0 && *megabits != UNKNOWN_SPEED);
    let duplex = match ways.to_ne_bytes()[0] {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    };
    (speed.map(|megabits| u64::from(megabits) * 1_000_000), duplex)
}

/// Parses an ethtool_ringparam: the most of four rings, then what each has.
fn rings(words: &[u32]) -> Rings {
    let [receive_max, transmit_max, receive, transmit] = at(words, [1, 4, 5, 8]);
    Rings { receive, receive_max, transmit, transmit_max }
}

fn moderation(words: &[u32]) -> InterruptModeration {
    let [receive_us, receive_frames, transmit_us, transmit_frames] = at(words, [1, 2, 5, 6]);
    let [adaptive_receive, adaptive_transmit] = at(words, [10, 11]).map(|word| word != 0);
    InterruptModeration {
        receive_us,
        receive_frames,
        transmit_us,
        transmit_frames,
        adaptive_receive,
        adaptive_transmit,
    }
}

/// Parses an ethtool_channels: the most of four, then what there are.
fn channels(words: &[u32]) -> Channels {
    let [receive, transmit, combined] = at(words, [5, 6, 8]);
    Channels { combined, receive, transmit }
}

fn at<const N: usize>(words: &[u32], places: [usize; N]) -> [u32; N] {
    places.map(|place| words.get(place).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drivers_words_are_read_by_their_places() {
        let mut words = [0_u32; 64];
        for (word, number) in words.iter_mut().zip(100..) {
            *word = number;
        }
        assert_eq!(rings(&words), Rings { receive: 105, receive_max: 101, transmit: 108, transmit_max: 104 });
        assert_eq!(channels(&words), Channels { combined: 108, receive: 105, transmit: 106 });
        let moderated = moderation(&words);
        assert_eq!(
            (moderated.receive_us, moderated.receive_frames, moderated.transmit_us, moderated.transmit_frames),
            (101, 102, 105, 106)
        );
        assert!(moderated.adaptive_receive && moderated.adaptive_transmit);
        words[10] = 0;
        assert!(!moderation(&words).adaptive_receive && moderation(&words).adaptive_transmit);
    }

    #[test]
    fn a_speed_that_no_driver_knows_is_absent() {
        assert_eq!(link(&[0x4c, 10_000, 1]), (Some(10_000_000_000), Some(true)));
        assert_eq!(link(&[0x4c, 1000, 0]), (Some(1_000_000_000), Some(false)));
        for unknown in [0, u32::MAX] {
            assert_eq!(link(&[0x4c, unknown, 0xff]), (None, None));
        }
        assert_eq!(link(&[]), (None, None));
    }

    #[test]
    fn a_drivers_name_ends_at_its_first_zero() {
        let mut words = vec![3, u32::from_ne_bytes(*b"veth"), 0];
        words.resize(64, u32::MAX);
        assert_eq!(driver(&words).as_deref(), Some("veth"));
        assert_eq!(driver(&[3, u32::MAX]), None);
        assert_eq!(driver(&[3; 64]), None);
    }

    use std::net::IpAddr;

    use hostmark_model::NetworkPath;
    use hostmark_sys::namespaces::unshare_network;
    use hostmark_sys::process::in_a_child;

    use super::super::{attribute_of, network_path};
    use crate::skip::skipped;

    /// Answer of Linux 6.18 on `tbf rate 40gbit burst 4mb limit 30mb` on interface 2, up to its counters.
    const FAST: &str = "00000000 02000000 00000480 ffffffff 03000000 0800010074626600 38000200 \
    28000100 00010000 00000000 ffffffff 00000000 00000000 00000000 0000e001 33330000 00000000 \
    0c000400 00f2052a01000000 05000c0000000000 3000070014000100 5a00000000000000";
    /// And of `tbf rate 83mbit burst 32kb limit 300kb` on interface 3.
    const SLOW: &str = "00000000 03000000 00000380 ffffffff 03000000 0800010074626600 2c000200 \
    28000100 00010000 00000000 584f9e00 00000000 00000000 00000000 00b00400 c5c00000 00000000 \
    05000c0000000000";

    fn recorded(hex: &str) -> NetlinkAnswer {
        let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        NetlinkAnswer { kind: NEW_QUEUE, body: digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect() }
    }

    /// A queue or class of interface 2.
    fn answer(message: u16, handle: u32, parent: u32, kind: &str, options: &[u8]) -> NetlinkAnswer {
        let mut body = [0, 2, handle, parent, 0].map(u32::to_ne_bytes).concat();
        body.extend(attribute_of(TCA_KIND, format!("{kind}\0").as_bytes()));
        body.extend(attribute_of(TCA_OPTIONS, options));
        NetlinkAnswer { kind: message, body }
    }

    #[test]
    fn a_token_buckets_rate_bucket_and_room_are_read_from_the_kernels_bytes() {
        let both = [recorded(FAST), recorded(SLOW)];
        let (fast, _) = own(&both, 2).unwrap();
        assert_eq!((fast.kind.as_str(), fast.bits_per_s), ("tbf", Some(40_000_000_000)));
        assert_eq!((fast.limit_bytes, fast.burst_bytes), (Some(30 << 20), Some(4_194_240)));
        let (slow, _) = own(&both, 3).unwrap();
        assert_eq!((slow.bits_per_s, slow.limit_bytes), (Some(83_000_000), Some(300 << 10)));
        assert!(slow.burst_bytes.is_some_and(|burst| burst.abs_diff(32 << 10) < 16), "{slow:?}");
        assert_eq!(own(&both, 4), None);
    }

    #[test]
    fn queues_within_a_queue_are_named_once_and_what_arrives_is_no_queue() {
        let queues = [
            answer(NEW_QUEUE, 0, 0x1, "fq_codel", &[]),
            answer(NEW_QUEUE, 0, ROOT, "mq", &[]),
            answer(NEW_QUEUE, 0, 0x2, "fq_codel", &[]),
            answer(NEW_QUEUE, 0, INGRESS, "clsact", &[]),
            answer(NEW_CLASS, 0, ROOT, "htb", &[]),
        ];
        let (queue, _) = own(&queues, 2).unwrap();
        assert_eq!((queue.kind.as_str(), queue.inner, queue.bits_per_s), ("mq", vec!["fq_codel".to_owned()], None));
        let many: Vec<NetlinkAnswer> = (0..100).map(|kind| answer(NEW_QUEUE, 0, 1, &format!("k{kind}"), &[])).collect();
        let many = [many, vec![answer(NEW_QUEUE, 0, ROOT, "mq", &[])]].concat();
        assert_eq!(own(&many, 2).unwrap().0.inner.len(), MOST_KINDS);
    }

    #[test]
    fn rates_of_other_queues_are_bits_and_say_whose_they_are() {
        let rate = |kind, number, value: &[u8]| {
            let queue = answer(NEW_QUEUE, 0, ROOT, kind, &attribute_of(number, value));
            let queue = own(&[queue], 2).unwrap().0;
            (queue.bits_per_s, queue.holds_flows_apart)
        };
        assert_eq!(rate("fq", TCA_FQ_FLOW_MAX_RATE, &1_250_000_u32.to_ne_bytes()), (Some(10_000_000), Some(true)));
        assert_eq!(rate("fq", TCA_FQ_FLOW_MAX_RATE, &u32::MAX.to_ne_bytes()), (None, None));
        assert_eq!(rate("cake", TCA_CAKE_BASE_RATE64, &2_500_000_u64.to_ne_bytes()), (Some(20_000_000), None));
        assert_eq!(rate("cake", TCA_CAKE_BASE_RATE64, &0_u64.to_ne_bytes()), (None, None));
        assert_eq!(rate("cake", TCA_CAKE_BASE_RATE64, &u64::MAX.to_ne_bytes()), (None, None));
        assert_eq!(rate("tbf", TCA_TBF_PARMS, &[1; 9]), (None, None));
    }

    #[test]
    fn of_a_hierarchy_the_default_classes_ceiling_is_reported() {
        let global = [3_u32, 10, 0x10, 0, 0].map(u32::to_ne_bytes).concat();
        let options = attribute_of(TCA_HTB_INIT, &global);
        let class = |handle, bytes: u32, long: Option<u64>| {
            let mut parameters = vec![0; 44];
            parameters[CEILING_AT..CEILING_AT + 4].copy_from_slice(&bytes.to_ne_bytes());
            let mut class = attribute_of(TCA_HTB_PARMS, &parameters);
            class.extend(long.into_iter().flat_map(|rate| attribute_of(TCA_HTB_CEIL64, &rate.to_ne_bytes())));
            answer(NEW_CLASS, handle, ROOT, "htb", &class)
        };
        let classes = [class(0x1_0001, 125, None), class(0x1_0010, 12_500_000, None)];
        assert_eq!(of_class(&classes, &options), Some(100_000_000));
        assert_eq!(of_class(&[class(0x1_0010, u32::MAX, Some(5_000_000_000))], &options), Some(40_000_000_000));
        assert_eq!(of_class(&classes[..1], &options), None);
        assert_eq!(of_class(&classes, &[]), None);
    }

    #[test]
    fn bytes_that_no_kernel_sends_are_no_queue_and_no_crash() {
        let whole = recorded(FAST);
        for length in 0..whole.body.len() {
            let cut = NetlinkAnswer { kind: NEW_QUEUE, body: whole.body[..length].to_vec() };
            if let Some((queue, _)) = own(&[cut], 2) {
                assert_eq!(queue.kind, "tbf");
            }
        }
        for place in 0..whole.body.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed.body[place] = byte;
                own(&[changed], 2);
            }
        }
    }

    /// Runs a tool of iproute2; the first word that it complains with where it fails.
    fn configure(command: &str) -> Result<(), String> {
        let mut words = command.split(' ');
        let program = words.next().unwrap_or_default();
        let done =
            std::process::Command::new(program).args(words).output().map_err(|error| format!("{program}: {error}"))?;
        match done.status.success() {
            true => Ok(()),
            false => Err(format!("{command}: {}", String::from_utf8_lossy(&done.stderr).trim())),
        }
    }

    /// Paths and addresses of a process in a network of its own.
    type Found = (Vec<NetworkPath>, Vec<IpAddr>);

    /// The paths to these addresses over a pair of interfaces, one of which is as the commands made it; or why there is none.
    fn paths_of_a_network(to: &[&str], commands: &[&str]) -> Result<Found, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("paths");
        in_a_child(|| {
            let set_up = || {
                unshare_network().map_err(|error| error.to_string())?;
                commands.iter().try_for_each(|command| configure(command))
            };
            let paths = || to.iter().map(|to| network_path(to.parse().unwrap())).collect();
            let found_here: Result<Found, String> = set_up().map(|()| (paths(), crate::addresses()));
            // What is wrong with it is said outside: a test of several threads must not panic in a child.
            std::fs::write(&file, serde_json::to_string(&found_here)?)
        });
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    }

    #[test]
    fn the_path_over_an_interface_reports_its_mtu_queue_and_rate() {
        let found = paths_of_a_network(
            &["192.0.2.7", "198.51.100.1", "fd00:2::7", "203.0.113.1"],
            &[
                "ip link add near type veth peer name far",
                "ip addr add 192.0.2.1/24 dev near",
                "ip addr add fd00:2::1/64 dev near nodad",
                "ip link set near mtu 1400 up",
                "ip link set far up",
                "ip route add 198.51.100.0/24 via 192.0.2.9 mtu 1300",
                "tc qdisc add dev near root tbf rate 83mbit burst 32kb limit 300kb",
            ],
        );
        let (paths, addresses) = match found {
            Ok(found) => found,
            Err(why) => return skipped(&format!("a network of the test's own cannot be set up ({why})")),
        };
        let [near, far, six, none] = paths.as_slice() else { panic!("{paths:?}") };
        let own = ["192.0.2.1", "fd00:2::1"].map(|own| own.parse::<IpAddr>().unwrap());
        assert_eq!((near.interface.as_deref(), near.driver.as_deref()), (Some("near"), Some("veth")));
        assert_eq!((near.source, near.on_link), (Some(own[0]), Some(true)));
        assert_eq!((near.mtu_bytes, near.path_mtu_bytes), (Some(1400), Some(1400)));
        assert_eq!((near.limit_bits_per_s(), near.link_bits_per_s()), (Some(83_000_000), None));
        assert_eq!(near.queue.as_ref().and_then(|queue| queue.limit_bytes), Some(300 << 10));
        assert_eq!((near.offloads.tso.is_some(), near.channels.is_some()), (true, true));
        assert_eq!((far.next_hop, far.on_link), ("192.0.2.9".parse().ok(), Some(false)));
        assert_eq!((far.path_mtu_bytes, far.mtu_bytes), (Some(1300), Some(1400)));
        assert_eq!((six.source, six.path_mtu_bytes), (Some(own[1]), Some(1400)));
        assert_eq!((none.interface.as_ref(), none.source, none.on_link), (None, None, None));
        assert_eq!(addresses, own);
    }
}
