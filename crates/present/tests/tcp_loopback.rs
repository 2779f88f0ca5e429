//! What is concluded of TCP over loopback: differences that are proven, and no others.

use hostmark_analysis::findings::findings;
use hostmark_model::{Also, CaseRecord, Outcome, Run};

use crate::short::sound;
use crate::synthetic::{self, estimate, value};

/// A case of net.tcp_bandwidth: its values of cpus, window, congestion and method.
fn tcp(cpus: &str, window: &str, congestion: &str, method: &str, rate: f64) -> CaseRecord {
    let mut case = value(
        &format!(
            "net.tcp_bandwidth@message=65536,direction=receive,method={method},cpus={cpus},streams=1,window={window},congestion={congestion},block=65536"
        ),
        rate,
    );
    let Outcome::Measured(measured) = &mut case.outcome else { panic!("it has a value") };
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

fn run(cases: Vec<CaseRecord>) -> Run {
    Run { cases, ..synthetic::plausible() }
}

/// What is said in English, and the cost; nothing where nothing is concluded.
fn conclusion(cases: Vec<CaseRecord>) -> Option<(String, f64)> {
    let found = findings(&run(cases)).into_iter().map(sound).find(|finding| finding.id == "net.tcp_loopback")?;
    assert!(found.text.zh.chars().any(|c| c >= '\u{4e00}') && found.cure.is_some());
    Some((found.text.en, found.cost))
}

fn base() -> CaseRecord {
    tcp("same_cpu", "default", "default", "write", 2e9)
}

#[test]
fn a_value_alone_and_one_that_nothing_changes_are_no_finding() {
    assert_eq!(conclusion(vec![base()]), None);
    let alike = vec![
        base(),
        tcp("same_cpu", "default", "reno", "write", 2.01e9),
        tcp("same_cpu", "1m", "default", "write", 1.99e9),
        tcp("same_cache", "default", "default", "write", 2.1e9),
        tcp("same_cpu", "default", "default", "zero_copy", 1.95e9),
        offload("all", 5e9),
        offload("none", 4.9e9),
    ];
    assert_eq!(conclusion(alike), None);
}

#[test]
fn what_is_sent_from_here_is_no_base() {
    let reno = tcp("same_cpu", "default", "reno", "write", 4e9);
    assert!(conclusion(vec![base(), reno.clone()]).is_some());
    let mut sent = base();
    sent.id = sent.id.replace("receive", "send");
    sent.params = sent.params.with("direction", "send");
    assert_eq!(conclusion(vec![sent, reno]), None);
}

#[test]
fn pacing_is_named_where_another_congestion_control_is_proven_faster() {
    let (text, cost) = conclusion(vec![base(), tcp("same_cpu", "default", "reno", "write", 5e9)]).unwrap();
    assert!(text.starts_with("TCP over loopback gives 2.00 GB/s (1.98 … 2.02) on one CPU, which both ends share."));
    assert!(text.contains("is bbr, which paces") && text.contains("with reno it is 5.00 GB/s"), "{text}");
    assert!(text.contains("×2.50") && (cost - 0.6).abs() < 1e-9, "{text} {cost}");
    // Twice as fast, and no interval proves it.
    let mut unsure = tcp("same_cpu", "default", "reno", "write", 4e9);
    let Outcome::Measured(measured) = &mut unsure.outcome else { panic!("it has a value") };
    measured.estimate = estimate(4e9, 0.6);
    assert_eq!(conclusion(vec![base(), unsure]), None);
}

#[test]
fn windows_cpus_copies_and_packets_are_reported_with_what_they_change() {
    let (text, cost) = conclusion(vec![
        base(),
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
