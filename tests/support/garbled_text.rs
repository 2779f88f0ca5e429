//! What other tools wrote, and texts that are nearly right: changed in their bytes, numbers and lines, by a seed.

use super::mutated::Mutator;

pub const OUTPUTS: &[(&str, &str)] = &[
    ("stream", include_str!("../../crates/present/tests/fixtures/import/stream.txt")),
    ("fio", include_str!("../../crates/present/tests/fixtures/import/fio.json")),
    ("iperf3", include_str!("../../crates/present/tests/fixtures/import/iperf3-tcp.json")),
    ("iperf3", include_str!("../../crates/present/tests/fixtures/import/iperf3-udp.json")),
    ("iperf3", include_str!("../../crates/present/tests/fixtures/import/iperf3-bidir.json")),
    ("iperf3", include_str!("../../crates/present/tests/fixtures/import/iperf3-stream.json")),
    ("sysbench", include_str!("../../crates/present/tests/fixtures/import/sysbench.txt")),
    ("stress-ng", include_str!("../../crates/present/tests/fixtures/import/stress-ng.yaml")),
    ("perf-bench", include_str!("../../crates/present/tests/fixtures/import/perf-bench.txt")),
    ("perf-bench", include_str!("../../crates/present/tests/fixtures/import/perf-simple.txt")),
    ("netperf", include_str!("../../crates/present/tests/fixtures/import/netperf.txt")),
    ("sockperf", include_str!("../../crates/present/tests/fixtures/import/sockperf.txt")),
    ("unixbench", include_str!("../../crates/present/tests/fixtures/import/unixbench.txt")),
    ("sc-membench", include_str!("../../crates/present/tests/fixtures/import/sc-membench.csv")),
    ("hyperfine", include_str!("../../crates/present/tests/fixtures/import/hyperfine.json")),
    ("google-benchmark", include_str!("../../crates/present/tests/fixtures/import/google-benchmark.json")),
    ("perfkit", include_str!("../../crates/present/tests/fixtures/import/perfkit.json")),
    ("phoronix", include_str!("../../crates/present/tests/fixtures/import/phoronix.xml")),
    ("openssl-speed", include_str!("../../crates/present/tests/fixtures/import/openssl-speed.txt")),
    ("tinymembench", include_str!("../../crates/present/tests/fixtures/import/tinymembench.txt")),
    ("p7zip", include_str!("../../crates/present/tests/fixtures/import/p7zip.txt")),
    ("go-bench", include_str!("../../crates/present/tests/fixtures/import/go-bench.txt")),
    ("criterion", include_str!("../../crates/present/tests/fixtures/import/criterion.txt")),
    ("criterion", include_str!("../../crates/present/tests/fixtures/import/criterion.json")),
    ("pytest-benchmark", include_str!("../../crates/present/tests/fixtures/import/pytest-benchmark.json")),
    ("jmh", include_str!("../../crates/present/tests/fixtures/import/jmh.json")),
    ("geekbench", include_str!("../../crates/present/tests/fixtures/import/geekbench.json")),
    (
        "lmbench",
        "[lmbench3.0 results for Linux h 5 x]\n[MHZ: 2400 MHz]\n[Thu Jan  7 10:00:00 UTC 2010]\nSimple syscall: 0.0911 microseconds\n\"mappings\n0.5 15\n\n\"stride=128\n0.00098 1.3\n\n[Thu Jan  7 10:30:00 UTC 2010]\n",
    ),
    ("lmbench", include_str!("../../crates/present/tests/fixtures/import/lmbench.txt")),
];

/// What is put into a text: numbers that are none, too large or too small, brackets, what steers a terminal.
const HOSTILE: &[&str] = &[
    "NaN", "inf", "-inf", "-1", "0", "1e999", "1e308", "-0.0", "null", "\"", "{", "}", "[", "]", "[[[[[[[[", ":", ",",
    "'", "\u{202e}", "\0", "\u{feff}", "---", "...", "- ", "true", "\r", "\n",
];
const HOSTILE_LONG: &[&str] = &[
    "99999999999999999999",
    "18446744073709551616",
    "\u{1b}[31m",
    "# Running 'sched/pipe' benchmark:",
    "sysbench 1.0.20 (using x)",
    "STREAM version $Revision: 5.10 $",
];

fn hostile(draw: &mut Mutator) -> &'static str {
    let texts = [HOSTILE, HOSTILE_LONG][draw.below(2)];
    texts[draw.below(texts.len())]
}

/// This text, changed at one to five places.
pub fn garbled_text(draw: &mut Mutator, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=draw.below(5) {
        change(draw, &mut bytes);
    }
    bytes
}

fn change(draw: &mut Mutator, bytes: &mut Vec<u8>) {
    let at = draw.below(bytes.len() + 1);
    match draw.below(16) {
        0 => bytes.truncate(at),
        1..4 => bytes[at..].iter_mut().take(1).for_each(|byte| *byte = draw.below(256) as u8),
        4..6 => drop(bytes.splice(at..at, hostile(draw).bytes())),
        // The digits there become another number.
        6..10 => {
            let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
            let Some(start) = bytes[at..].iter().position(is_digit).map(|start| at + start) else { return };
            let end = bytes[start..].iter().position(|byte| !is_digit(byte)).map_or(bytes.len(), |end| start + end);
            bytes.splice(start..end, hostile(draw).bytes());
        }
        10 => drop(bytes.splice(at..at, "[{\"a\":".repeat(draw.below(3000)).into_bytes())),
        way => {
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            if lines.is_empty() {
                return;
            }
            let (one, other) = (draw.below(lines.len()), draw.below(lines.len()));
            match way {
                11 | 12 => lines.insert(one, lines[one]),
                13 | 14 => drop(lines.remove(one)),
                _ => lines.swap(one, other),
            }
            *bytes = lines.concat();
        }
    }
}
