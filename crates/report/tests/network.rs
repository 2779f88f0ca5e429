//! What limits a link, from constructed runs: each rule speaks where its data prove it, and not where they do not.

mod synthetic;

use hostmark_model::*;
use hostmark_report::findings;
use synthetic::{empty, estimate};

const TCP: &str = "net.tcp_bandwidth";

/// A way by an interface of this driver.
fn path(driver: &str, bits_per_s: Option<u64>, mtu: u64) -> NetworkPath {
    NetworkPath {
        interface: Some("eth0".into()),
        driver: Some(driver.into()),
        bits_per_s,
        mtu_bytes: Some(mtu),
        path_mtu_bytes: Some(mtu),
        ..NetworkPath::default()
    }
}

/// The same with a token bucket in front.
fn limited(bits_per_s: u64) -> NetworkPath {
    let queue =
        QueueingDiscipline { kind: "tbf".into(), bits_per_s: Some(bits_per_s), ..QueueingDiscipline::default() };
    NetworkPath { queue: Some(queue), ..path("veth", Some(10_000_000_000), 1500) }
}

fn peer(path: NetworkPath, path_back: NetworkPath) -> Peer {
    Peer {
        name: "db-18".into(),
        host: HostFacts { hostname: "db-18".into(), ..HostFacts::default() },
        place: Some("ssh db-18".into()),
        address: Some([10, 0, 0, 8].into()),
        path: Some(path),
        path_back: Some(path_back),
    }
}

/// A case at this value, with an interval of 0.4 %, and further quantities with the same.
fn case(id: &str, median: f64, also: &[(&str, f64)]) -> CaseRecord {
    let id: CaseId = id.parse().unwrap();
    let mut measured = synthetic::measured(median, 0.004);
    for (name, value) in also {
        measured.also.insert((*name).into(), Also { estimate: estimate(*value, 0.004) });
    }
    let outcome = Outcome::Measured(Box::new(measured));
    CaseRecord { id: id.to_string(), probe: id.probe.clone(), params: id.params, outcome }
}

/// A sender here, at this rate.
fn sends(rate: f64, also: &[(&str, f64)]) -> CaseRecord {
    case(&format!("{TCP}@direction=send,to=db-18"), rate, also)
}

fn run(peer: Peer, cases: Vec<CaseRecord>) -> Run {
    Run { peers: vec![peer], cases, ..empty() }
}

/// The texts of a rule's findings in English; each says something else in Chinese.
fn said(run: &Run, rule: &str) -> Vec<String> {
    let found = findings(run).into_iter().filter(|finding| finding.id == rule);
    found
        .map(|finding| {
            assert!(finding.text.en != finding.text.zh && finding.cure.is_some(), "{finding:?}");
            finding.text.en
        })
        .collect()
}

#[test]
fn a_rate_limit_that_is_reached_is_named_with_its_place() {
    let here = |rate| run(peer(limited(83_000_000), path("veth", None, 1500)), vec![sends(rate, &[])]);
    // 83 Mbit/s carry 9.923 MB/s: 1448 of every 1514 bytes.
    let told = said(&here(9.9e6), "net.rate_limit");
    assert_eq!(
        told,
        [
            "TCP to db-18 gives 9.90 MB/s: a rate limit of 83 Mbit/s on eth0 (tbf) holds it. With 1448 of every 1514 bytes for data, it \
          lets 9.92 MB/s through."
        ]
    );
    // What is 6 % below has another reason, and what is above was not limited there.
    for other in [9.3e6, 10.5e6] {
        assert!(said(&here(other), "net.rate_limit").is_empty(), "{other}");
    }
    let there = run(
        peer(path("veth", None, 1500), limited(83_000_000)),
        vec![case(&format!("{TCP}@to=db-18"), 9.9e6, &[]), sends(9.9e6, &[])],
    );
    let told = said(&there, "net.rate_limit");
    assert!(told.len() == 1 && told[0].contains("TCP from db-18") && told[0].contains("eth0 of db-18"), "{told:?}");
}

#[test]
fn an_interval_that_does_not_prove_it_is_no_finding() {
    let mut wide = sends(9.9e6, &[]);
    if let Outcome::Measured(measured) = &mut wide.outcome {
        (measured.estimate.ci_low, measured.estimate.ci_high) = (Some(8e6), Some(12e6));
    }
    assert!(findings(&run(peer(limited(83_000_000), limited(83_000_000)), vec![wide.clone()])).is_empty());
    if let Outcome::Measured(measured) = &mut wide.outcome {
        (measured.estimate.ci_low, measured.estimate.ci_high) = (None, None);
    }
    assert!(findings(&run(peer(limited(83_000_000), limited(83_000_000)), vec![wide])).is_empty());
}

#[test]
fn a_full_link_with_idle_cpus_is_told_so() {
    let wire = || path("igb", Some(1_000_000_000), 1500);
    let at = |rate, sender, receiver| {
        let also = [("sender_cpus", sender), ("receiver_cpus", receiver)];
        said(&run(peer(wire(), wire()), vec![sends(rate, &also)]), "net.link_full")
    };
    assert_eq!(
        at(117.6e6, 0.12, 0.2),
        [
            "The link is full, the CPUs are not: TCP to db-18 gives 118 MB/s of the 118 MB/s that 1 Gbit/s can carry, while sending keeps \
          0.120 CPUs busy and receiving 0.200."
        ]
    );
    assert!(at(117.6e6, 0.12, 0.8).is_empty(), "the receiver is busy");
    assert!(at(105e6, 0.12, 0.2).is_empty(), "the link is not full");
    let unknown = run(peer(wire(), wire()), vec![sends(117.6e6, &[])]);
    assert!(said(&unknown, "net.link_full").is_empty(), "nobody knows of the CPUs");
    // The speed that a veth names is nobody's.
    let veth = || path("veth", Some(10_000_000_000), 1500);
    let also = [("sender_cpus", 0.1), ("receiver_cpus", 0.1)];
    assert!(said(&run(peer(veth(), veth()), vec![sends(1.2e9, &also)]), "net.link_full").is_empty());
}

#[test]
fn the_slower_end_is_what_a_link_can_carry() {
    let ends = peer(path("ixgbe", Some(10_000_000_000), 1500), path("igb", Some(1_000_000_000), 1500));
    let also = [("sender_cpus", 0.1), ("receiver_cpus", 0.2)];
    assert_eq!(said(&run(ends, vec![sends(117.6e6, &also)]), "net.link_full").len(), 1);
}

#[test]
fn a_busy_end_limits_a_link_that_has_room() {
    let wire = || NetworkPath {
        offloads: Offloads { tso: Some(false), ..Offloads::default() },
        ..path("ixgbe", Some(10_000_000_000), 1500)
    };
    let at = |rate, sender, streams: &str| {
        let also = [("sender_cpus", sender), ("receiver_cpus", 0.4)];
        let case = case(&format!("{TCP}@direction=send,streams={streams},to=db-18"), rate, &also);
        said(&run(peer(wire(), wire()), vec![case]), "net.link_cpu")
    };
    assert_eq!(
        at(600e6, 0.98, "1"),
        [
            "The CPU limits the link: TCP to db-18 gives 600 MB/s of the 1.18 GB/s that 10 Gbit/s can carry, and sending keeps 0.980 CPUs \
          busy. Packets have 1500 bytes. The sender's TSO is off."
        ]
    );
    assert!(at(600e6, 0.7, "1").is_empty());
    assert!(at(600e6, 0.98, "4").is_empty(), "four streams have four CPUs");
    assert!(at(1.17e9, 0.98, "1").is_empty(), "the link is full");
}

#[test]
fn a_window_that_holds_the_sender_is_named() {
    let wire = || path("ixgbe", Some(10_000_000_000), 1500);
    let at = |rate, also: &[(&str, f64)]| said(&run(peer(wire(), wire()), vec![sends(rate, also)]), "net.link_window");
    let told = at(60e6, &[("receiver_limited", 0.93), ("buffer_limited", 0.01)]);
    assert_eq!(
        told,
        [
            "Waiting limits the link: TCP to db-18 gives 60.0 MB/s, and the sender is held by the receiver's window for 93 % of its time."
        ]
    );
    let told = at(60e6, &[("receiver_limited", 0.01), ("buffer_limited", 0.9)]);
    assert!(told.len() == 1 && told[0].contains("its own send buffer"), "{told:?}");
    assert!(at(60e6, &[("receiver_limited", 0.2)]).is_empty());
    assert!(at(1.17e9, &[("buffer_limited", 0.9)]).is_empty(), "the link is what it waits for");
}

#[test]
fn loss_is_told_where_no_limit_drops_on_purpose() {
    let wire = || path("igb", Some(1_000_000_000), 1500);
    // 690,608 segments of 1448 bytes are a gigabyte.
    let lossy = |per_gb| vec![sends(9.9e6, &[("retransmits_per_gb", per_gb)])];
    assert_eq!(
        said(&run(peer(wire(), wire()), lossy(6906.0)), "net.link_loss"),
        ["Packets get lost: TCP to db-18 gives 9.90 MB/s and sends 1.0 % of its segments again (6906 per GB)."]
    );
    assert!(said(&run(peer(wire(), wire()), lossy(100.0)), "net.link_loss").is_empty());
    assert!(said(&run(peer(limited(83_000_000), wire()), lossy(6906.0)), "net.link_loss").is_empty());
}

#[test]
fn a_path_that_carries_less_than_its_interface_is_told() {
    let mut short = path("igb", None, 1500);
    short.path_mtu_bytes = Some(1400);
    let told = said(&run(peer(short, path("igb", None, 1500)), Vec::new()), "net.path_mtu");
    assert_eq!(told, ["The path to db-18 carries packets of 1400 bytes, eth0 takes 1500."]);
    let mut lo = path("lo", None, 65_536);
    lo.path_mtu_bytes = Some(65_535);
    assert!(findings(&run(peer(lo, path("igb", None, 1500)), Vec::new())).is_empty());
}

#[test]
fn a_long_queue_before_the_link_is_told_with_its_length() {
    let at = |loaded: f64, idle: f64, to: &str| {
        let case = case(&format!("net.rate_latency@load=send{to}"), loaded, &[("idle", idle), ("rate", 9.9e6)]);
        said(&run(peer(limited(83_000_000), path("veth", None, 1500)), vec![case]), "net.bufferbloat")
    };
    assert_eq!(
        at(31e6, 3e5, ",to=db-18"),
        [
            "A small request to db-18 takes 31.0 ms in place of 300 µs while a bulk flow, of 9.90 MB/s, fills the link: 297 KiB wait in \
          its queue."
        ]
    );
    assert!(at(31e6, 29e6, ",to=db-18").is_empty(), "the way is long");
    assert!(at(9e5, 1e5, ",to=db-18").is_empty(), "a millisecond is no bloat");
    assert!(at(31e6, 3e5, "").is_empty(), "loopback is no link");
}

#[test]
fn what_a_hostile_file_says_of_a_link_is_no_panic() {
    let mut odd = path("igb", Some(u64::MAX), u64::MAX);
    odd.interface = Some("\u{1b}[2J".into());
    odd.queue = Some(QueueingDiscipline { bits_per_s: Some(u64::MAX), ..QueueingDiscipline::default() });
    let odd_case = |id: &str, value: f64, also: &[(&str, f64)]| {
        let mut odd = case(id, 1.0, also);
        let Outcome::Measured(measured) = &mut odd.outcome else { panic!("it has a value") };
        measured.estimate = estimate(value, 0.004);
        odd
    };
    let send = format!("{TCP}@direction=send,to=db-18");
    let cases = vec![
        odd_case(&send, f64::INFINITY, &[("sender_cpus", f64::MAX)]),
        odd_case(&send, -1.0, &[("retransmits_per_gb", f64::MAX)]),
        odd_case(&send, f64::NAN, &[]),
        odd_case("net.rate_latency@to=db-18", f64::MAX, &[("idle", f64::MIN_POSITIVE), ("rate", f64::MAX)]),
    ];
    for mtu in [0, 1, 52, 53, u64::MAX] {
        let mut path = odd.clone();
        path.path_mtu_bytes = Some(mtu);
        let text: String =
            findings(&run(peer(path.clone(), path), cases.clone())).iter().map(|one| one.text.en.clone()).collect();
        assert!(!text.contains("NaN"), "{text}");
    }
}
