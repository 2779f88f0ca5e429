//! Queues from the kernel's own bytes, from bytes that no kernel would send, and from a network of the test's own.

use std::net::IpAddr;

use hostmark_model::NetworkPath;
use hostmark_sys::namespaces::unshare_network;
use hostmark_sys::process::in_a_child;

use super::super::{attribute_of, network_path};
use super::*;
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
