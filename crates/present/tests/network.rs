//! What limits a link, from constructed runs: each rule speaks where its data prove it, and not where they do not.

use hostmark_analysis::compare;
use hostmark_analysis::network::{Framing, Protocol, goodput};
use hostmark_present::html;
use hostmark_present::render::{console, markdown};

use crate::peers::{TCP, case, limited, path, peer, sends, three_hosts};
use crate::prelude::*;
use crate::synthetic::{empty, estimate, sound, value};

fn run(peer: Peer, cases: Vec<CaseRecord>) -> Run {
    Run { peers: vec![peer], cases, ..empty() }
}

/// The texts of a rule's findings in English; each says something else in Chinese.
fn said(run: &Run, rule: &str) -> Vec<String> {
    synthetic::found(run, rule)
        .into_iter()
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
    let sentences = said(&here(9.9e6), "net.rate_limit");
    assert_eq!(
        sentences,
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
    let sentences = said(&there, "net.rate_limit");
    assert!(
        sentences.len() == 1 && sentences[0].contains("TCP from db-18") && sentences[0].contains("eth0 of db-18"),
        "{sentences:?}"
    );
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
fn a_full_link_with_idle_cpus_is_informed() {
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
fn a_link_that_carries_less_both_ways_at_once_is_named() {
    let both = |rate| case(&format!("{TCP}@direction=both,to=db-18"), rate, &[]);
    let limited = || limited(1_000_000_000);
    let at_once = |rate| said(&run(peer(limited(), limited()), vec![both(rate)]), "net.link_both_ways");
    let [sentence] = &at_once(158e6)[..] else { panic!("{:?}", at_once(158e6)) };
    assert!(
        sentence.starts_with("TCP both ways at once with db-18 gives 158 MB/s, 66 % of the 239 MB/s"),
        "{sentence}"
    );
    assert!(sentence.contains("token bucket"), "{sentence}");
    // Acknowledgements share the way; and what one way alone does not reach, both are not to blame for.
    let slow = vec![both(158e6), case(&format!("{TCP}@to=db-18"), 80e6, &[]), sends(85e6, &[])];
    assert!(at_once(232e6).is_empty() && said(&run(peer(limited(), limited()), slow), "net.link_both_ways").is_empty());
    let wire = || path("veth", None, 1500);
    assert!(said(&run(peer(wire(), wire()), vec![both(158e6)]), "net.link_both_ways").is_empty(), "nothing is known");
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
    let sentences = at(60e6, &[("receiver_limited", 0.93), ("buffer_limited", 0.01)]);
    assert_eq!(
        sentences,
        [
            "Waiting limits the link: TCP to db-18 gives 60.0 MB/s, and the sender is held by the receiver's window for 93 % of its time."
        ]
    );
    let sentences = at(60e6, &[("receiver_limited", 0.01), ("buffer_limited", 0.9)]);
    assert!(sentences.len() == 1 && sentences[0].contains("its own send buffer"), "{sentences:?}");
    assert!(at(60e6, &[("receiver_limited", 0.2)]).is_empty());
    assert!(at(1.17e9, &[("buffer_limited", 0.9)]).is_empty(), "the link is what it waits for");
}

#[test]
fn loss_is_reported_where_no_limit_drops_on_purpose() {
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
fn a_path_that_carries_less_than_its_interface_is_reported() {
    let mut short = path("igb", None, 1500);
    short.path_mtu_bytes = Some(1400);
    let sentences = said(&run(peer(short, path("igb", None, 1500)), Vec::new()), "run.path_mtu");
    assert_eq!(sentences, ["The path to db-18 carries packets of 1400 bytes, eth0 takes 1500."]);
    let mut lo = path("lo", None, 65_536);
    lo.path_mtu_bytes = Some(65_535);
    assert!(findings(&run(peer(lo, path("igb", None, 1500)), Vec::new())).is_empty());
}

#[test]
fn a_long_queue_before_the_link_is_reported_with_its_length() {
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
fn the_network_section_reports_what_each_link_can_do_does_and_is_limited_by() {
    let run = three_hosts();
    // Wide enough for every fact to stand on one line.
    let options = RenderOptions { width: 200, ..RenderOptions::default() };
    let table = console::table(&run, &options);
    for line in [
        "db-18, ssh db-18, 10.0.0.8",
        "eth0 (veth); MTU 1500; queue tbf 83 Mbit/s",
        "eth0 (igb); 1 Gbit/s; MTU 1500",
        "TCP at most 9.92 MB/s: rate limit of 83 Mbit/s on eth0, 1448 of 1514 bytes in the queue",
        "TCP at most 118 MB/s: link of 1 Gbit/s, 1448 of 1538 bytes on the wire",
        "1 stream, 9.90 MB/s (9.86 … 9.94), 100 % of what is possible",
        "4 streams, 9.91 MB/s",
        "51.2 µs (51.0 … 51.4), p50 51.0 µs, p99 88.0 µs",
        "load there, 31.0 ms",
        "1.3 % lost",
        "a rate limit (finding",
    ] {
        assert!(table.contains(line), "{line}\n{table}");
    }
    // 117.7 MB/s: what the table tells is what can be computed.
    let wire = goodput(1_000_000_000, 1500, false, Framing::Wire, Protocol::Tcp);
    assert!(wire.is_some_and(|rate| (rate - 117.69e6).abs() < 1e4));
    let chinese = console::table(&run, &RenderOptions { lang: Lang::Zh, ..options });
    for line in ["本端", "去程上限", "TCP 往返", "瓶颈", "主机间网络"] {
        assert!(chinese.contains(line), "{line}\n{chinese}");
    }
}

#[test]
fn the_matrix_has_each_pair_in_its_direction() {
    let run = three_hosts();
    let table = console::table(&run, &RenderOptions { width: 100, ..RenderOptions::default() });
    let rows = |title: &str| -> Vec<String> {
        let from = table.lines().skip_while(|line| !line.contains(title)).skip(2).take(3);
        from.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(
        rows("TCP bandwidth   down"),
        ["db-17 – 9.91 MB/s 110 MB/s", "db-18 117 MB/s – 111 MB/s", "db-19 – 112 MB/s –"]
    );
    assert_eq!(
        rows("TCP round trip   down"),
        ["db-17 – 51.2 µs 61.0 µs", "db-18 54.0 µs – 55.5 µs", "db-19 – 56.5 µs –"]
    );
    assert!(table.contains("turn 2: db-18 → db-19, db-19 → db-18, db-18 → here"), "{table}");
}

#[test]
fn a_pair_that_failed_is_reported_with_the_reason() {
    let mut run = three_hosts();
    let lost = Some("the link broke".to_owned());
    run.pairs[1] = PairRun { turn: 2, cases: Vec::new(), failed: lost, ..run.pairs[1].clone() };
    let table = console::table(&run, &RenderOptions::default());
    assert!(
        table.contains("turn 2: db-18 → db-19, db-18 → here\n") && table.contains("turn 3: db-19 → db-18\n"),
        "{table}"
    );
    assert!(table.contains("db-19 → db-18 failed: the link broke"), "{table}");
    let page = html::page(std::slice::from_ref(&run), &RenderOptions::default());
    let text = markdown::markdown(&run, &RenderOptions::default());
    assert!(page.contains("failed: the link broke") && text.contains("failed: the link broke"));
}

#[test]
fn page_and_markdown_have_the_section_and_nothing_of_a_file_becomes_markup() {
    let mut run = three_hosts();
    run.peers[1].place = Some("ssh <script>|x|".into());
    let page = html::page(std::slice::from_ref(&run), &RenderOptions::default());
    assert!(page.contains("<section id=\"network\">") && page.contains("Network between hosts"));
    assert!(page.contains("ssh &lt;script&gt;|x|") && !page.contains("ssh <script>"));
    let text = markdown::markdown(&run, &RenderOptions::default());
    assert!(
        text.contains("| can carry there | TCP at most 9.92 MB/s: rate limit") && text.contains("\\|x\\|"),
        "{text}"
    );
    assert!(text.contains("| db-18 | 117 MB/s | – | 111 MB/s |"), "{text}");
    // Of two runs the findings have one count, so the second's go on where the first's end.
    let both = html::page(&[run.clone(), run.clone()], &RenderOptions::default());
    let (first, second) = (findings(&run).len(), findings(&run).len() * 2);
    let numbers: Vec<usize> =
        both.split("(finding ").skip(1).filter_map(|text| text.split(')').next()?.parse().ok()).collect();
    assert!(numbers.len() == 4 && numbers[..2].iter().all(|number| *number <= first), "{numbers:?}");
    assert!(numbers[2..].iter().all(|number| (first + 1..=second).contains(number)), "{numbers:?}");
    run.peers.clear();
    run.pairs.clear();
    let page = html::page(std::slice::from_ref(&run), &RenderOptions::default());
    assert!(!page.contains("id=\"network\""));
    assert!(!console::table(&run, &RenderOptions::default()).contains("can carry"));
}

#[test]
fn cases_to_another_host_never_pair_with_those_on_this_one() {
    let mut far = three_hosts();
    far.cases.retain(|case| case.peer().is_some());
    let mut here = far.clone();
    for case in &mut here.cases {
        case.params.0.retain(|(axis, _)| axis != "to");
        let id = CaseId { probe: case.probe.clone(), params: case.params.clone() };
        case.id = id.to_string();
    }
    fn pool<'a>(name: &'a str, run: &'a Run) -> compare::Pool<'a> {
        compare::Pool { name, runs: std::slice::from_ref(run) }
    }
    let between = |new: &Run| {
        let compared =
            compare::Comparison::of(pool("a", &far), &[pool("b", new)], &compare::History::default(), compare::SAME);
        compared.new[0].cases.iter().filter(|case| case.effect.is_some()).count()
    };
    assert_eq!(between(&here), 0);
    assert_eq!(between(&far), far.cases.len());
}

#[test]
fn lmbenchs_remote_table_is_that_of_the_first_peer() {
    let mut run = three_hosts();
    let axes: &[_] = &[("protocol", AxisKind::Choice, "tcp"), ("copies", AxisKind::Copies, "1")];
    let probe = "net.round_trip";
    run.probes.push(synthetic::probe(probe, (probe, probe), Unit::Nanoseconds, ("Network", "网络"), axes));
    run.cases.retain(|case| case.probe != probe);
    run.cases.extend([
        synthetic::value("net.round_trip@protocol=tcp,cpus=same_cpu,copies=1", 9_000.0),
        synthetic::value("net.round_trip@protocol=tcp,cpus=two_hosts,copies=2,to=db-18", 77_000.0),
        synthetic::value("net.round_trip@protocol=tcp,cpus=two_hosts,copies=1,to=db-19", 61_000.0),
        synthetic::value("net.round_trip@protocol=tcp,cpus=two_hosts,copies=1,to=db-18", 51_200.0),
    ]);
    let text = format_named("lmbench").unwrap().render_one(&run, &RenderOptions::default());
    let remote: Vec<&str> = text.lines().skip_while(|line| !line.contains("Remote communication")).take(14).collect();
    assert!(remote.iter().any(|line| line.contains("51.2")), "{text}");
    assert!(remote.iter().all(|line| !line.contains("61.0") && !line.contains("77.0")), "{remote:?}");
    let local: Vec<&str> = text.lines().skip_while(|line| !line.contains("Local communication lat")).take(10).collect();
    assert!(
        local.iter().any(|line| line.contains("9.00")) && local.iter().all(|line| !line.contains("51.2")),
        "{local:?}"
    );
}

/// A case of net.tcp_bandwidth: its values of cpus, window, congestion and method.
fn tcp(cpus: &str, window: &str, congestion: &str, method: &str, rate: f64) -> CaseRecord {
    let mut case = value(
        &format!(
            "net.tcp_bandwidth@message=65536,direction=receive,method={method},cpus={cpus},streams=1,window={window},congestion={congestion},block=65536"
        ),
        rate,
    );
    let measured = case.measured_mut().unwrap();
    measured.estimate = estimate(rate, 0.01);
    let used = if congestion == "default" { "bbr" } else { congestion };
    measured.notes.insert("congestion_control".into(), used.into());
    let wake_ups = if cpus == "same_cpu" { 1.0 } else { 8.0 };
    measured.also.insert("wake_ups".into(), Also { estimate: estimate(wake_ups, 0.01) });
    if method == "zero_copy" {
        measured.notes.insert("zero_copy".into(), "copied".into());
    }
    case
}

fn offload(offload: &str, rate: f64) -> CaseRecord {
    value(&format!("net.tcp_offload@device=lo,offload={offload},mtu=1500,cpus=same_cpu"), rate)
}

fn run_of_streams(cases: Vec<CaseRecord>) -> Run {
    Run { cases, ..synthetic::plausible() }
}

/// What is said in English, and the cost; nothing where nothing is concluded.
fn conclusion_of_streams(cases: Vec<CaseRecord>) -> Option<(String, f64)> {
    let found =
        findings(&run_of_streams(cases)).into_iter().map(sound).find(|finding| finding.id == "net.tcp_loopback")?;
    assert!(found.text.zh.chars().any(|c| c >= '\u{4e00}') && found.cure.is_some());
    Some((found.text.en, found.cost))
}

fn base_stream() -> CaseRecord {
    tcp("same_cpu", "default", "default", "write", 2e9)
}

#[test]
fn a_value_alone_and_one_that_nothing_changes_are_no_finding() {
    assert_eq!(conclusion_of_streams(vec![base_stream()]), None);
    let alike = vec![
        base_stream(),
        tcp("same_cpu", "default", "reno", "write", 2.01e9),
        tcp("same_cpu", "1m", "default", "write", 1.99e9),
        tcp("same_cache", "default", "default", "write", 2.1e9),
        tcp("same_cpu", "default", "default", "zero_copy", 1.95e9),
        offload("all", 5e9),
        offload("none", 4.9e9),
    ];
    assert_eq!(conclusion_of_streams(alike), None);
}

#[test]
fn what_is_sent_from_here_is_no_base() {
    let reno = tcp("same_cpu", "default", "reno", "write", 4e9);
    assert!(conclusion_of_streams(vec![base_stream(), reno.clone()]).is_some());
    let mut sent = base_stream();
    sent.id = sent.id.replace("receive", "send");
    sent.params = sent.params.with("direction", "send");
    assert_eq!(conclusion_of_streams(vec![sent, reno]), None);
}

#[test]
fn pacing_is_named_where_another_congestion_control_is_proven_faster() {
    let (text, cost) =
        conclusion_of_streams(vec![base_stream(), tcp("same_cpu", "default", "reno", "write", 5e9)]).unwrap();
    assert!(text.starts_with("TCP over loopback gives 2.00 GB/s (1.98 … 2.02) on one CPU, which both ends share."));
    assert!(text.contains("is bbr, which paces") && text.contains("with reno it is 5.00 GB/s"), "{text}");
    assert!(text.contains("×2.50") && (cost - 0.6).abs() < 1e-9, "{text} {cost}");
    // Twice as fast, and no interval proves it.
    let mut unsure = tcp("same_cpu", "default", "reno", "write", 4e9);
    unsure.measured_mut().unwrap().estimate = estimate(4e9, 0.6);
    assert_eq!(conclusion_of_streams(vec![base_stream(), unsure]), None);
}

#[test]
fn windows_cpus_copies_and_packets_are_reported_with_what_they_change() {
    let (text, cost) = conclusion_of_streams(vec![
        base_stream(),
        tcp("same_cpu", "64k", "default", "write", 1e9),
        tcp("same_cpu", "256k", "default", "write", 2.5e9),
        tcp("same_cache", "default", "default", "write", 1e9),
        tcp("same_cache", "64k", "default", "write", 0.5e9),
        tcp("same_cpu", "default", "default", "zero_copy", 1.6e9),
        offload("all", 5e9),
        offload("none", 0.25e9),
        offload("big", 5.1e9),
    ])
    .unwrap();
    for part in [
        "window of 256 KiB gives 2.50 GB/s (2.48 … 2.52) (cpus=same_cpu), ×1.25",
        "window of 64 KiB gives 500 MB/s (495 … 505) (cpus=same_cache), ÷2.00",
        "On two CPUs (cpus=same_cache) it is 1.00 GB/s (0.990 … 1.01), ÷2.00: 8.00 wake-ups",
        "MSG_ZEROCOPY gives 1.60 GB/s (1.58 … 1.62), ÷1.25, and the kernel tells that it copied after all",
        "made one by one and not joined 250 MB/s",
        "÷20.0",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("BIG TCP"), "{text}");
    assert!((cost - 0.2).abs() < 1e-9, "{cost}");
}
