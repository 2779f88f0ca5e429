//! A made-up run with two peers: their links, what was measured over them, and between them.

use crate::prelude::*;
use crate::synthetic::estimate;

/// The probe of TCP's rate.
pub const TCP: &str = "net.tcp_bandwidth";

/// A way by an interface of this driver.
pub fn path(driver: &str, bits_per_s: Option<u64>, mtu: u64) -> NetworkPath {
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
pub fn limited(bits_per_s: u64) -> NetworkPath {
    let queue =
        QueueingDiscipline { kind: "tbf".into(), bits_per_s: Some(bits_per_s), ..QueueingDiscipline::default() };
    NetworkPath { queue: Some(queue), ..path("veth", Some(10_000_000_000), 1500) }
}

pub fn peer(path: NetworkPath, path_back: NetworkPath) -> Peer {
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
pub fn case(id: &str, median: f64, also: &[(&str, f64)]) -> CaseRecord {
    let id: CaseId = id.parse().unwrap();
    let mut measured = synthetic::measured(median, 0.004);
    for (name, value) in also {
        measured.also.insert((*name).into(), Also { estimate: estimate(*value, 0.004) });
    }
    let outcome = Outcome::Measured(Box::new(measured));
    CaseRecord { id: id.to_string(), probe: id.probe.clone(), params: id.params, outcome }
}

/// A sender here, at this rate.
pub fn sends(rate: f64, also: &[(&str, f64)]) -> CaseRecord {
    case(&format!("{TCP}@direction=send,to=db-18"), rate, also)
}

/// A run with two peers, their links, and what was measured between all three.
pub fn three_hosts() -> Run {
    let wire = || path("igb", Some(1_000_000_000), 1500);
    let second = Peer { name: "db-19".into(), address: Some("fd00::9".parse().unwrap()), ..peer(wire(), wire()) };
    let pair = |from: &str, to: &str, rate: f64, ns: f64| PairRun {
        from: from.into(),
        to: to.into(),
        turn: 1,
        failed: None,
        cases: vec![
            case(&format!("{TCP}@direction=send,to={to}"), rate, &[]),
            case(&format!("net.round_trip@protocol=tcp,to={to}"), ns, &[]),
        ],
    };
    let mut all = synthetic::plausible();
    all.peers = vec![peer(limited(83_000_000), wire()), second];
    all.pairs = vec![
        pair("db-18", "db-19", 111e6, 55_500.0),
        pair("db-19", "db-18", 112e6, 56_500.0),
        pair("db-18", "here", 9e6, 54_000.0),
    ];
    all.cases.extend([
        sends(9.9e6, &[("sender_cpus", 0.03), ("receiver_cpus", 0.05), ("rtt", 3.1e7)]),
        case(&format!("{TCP}@direction=send,streams=4,to=db-18"), 9.91e6, &[]),
        case(&format!("{TCP}@direction=receive,to=db-18"), 117e6, &[]),
        case("net.round_trip@protocol=tcp,to=db-18", 51_200.0, &[("p50", 51_000.0), ("p99", 88_000.0)]),
        case("net.round_trip@protocol=udp,to=db-18", 48_000.0, &[]),
        case("net.rate_latency@load=send,to=db-18", 31e6, &[("idle", 3e5), ("rate", 9.9e6)]),
        case("net.udp_bandwidth@direction=send,to=db-18", 10.05e6, &[("loss", 0.013)]),
        case(&format!("{TCP}@direction=send,to=db-19"), 110e6, &[]),
        case("net.round_trip@protocol=tcp,to=db-19", 61_000.0, &[]),
    ]);
    all
}
