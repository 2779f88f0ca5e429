//! Work of which several copies hinder each other by more than the cores that they share.

use hostmark_model::{Message, Run, Text};
use hostmark_say::say;
use hostmark_stats::scalability::{Growth, growth};

use super::copies::{NOTABLE, PURE, SCALING, Together, curve, most_copies, usable_cores};
use super::evidence::lost;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA, Rule, YIELDS};
use crate::format::{number, percent_number};
use crate::texts::findings::scaling as texts;
use crate::typography::COMMA;
use crate::words;

pub(super) static RULE: Rule = Rule {
    id: "cpu.scaling_falls",
    shown: Demonstration::Run,
    probes: &[SCALING],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA] },
    draw,
};

/// Resource that the copies of a source share.
const SHARED: &[(&str, Text)] = &[
    ("syscall.null", term!("little but the cores' clock")),
    ("memory.latency", term!("the last-level cache and the memory channels")),
    ("process.fork_exit", term!("the kernel's locks of memory and processes")),
    ("ipc.bandwidth", term!("caches and memory")),
    ("net.tcp", term!("the loopback device and its soft interrupts")),
    ("net.udp", term!("the loopback device and its soft interrupts")),
    ("net.tcp_connect", term!("the tables of sockets and ports")),
];

fn draw(run: &Run) -> Vec<Conclusion> {
    let all = most_copies(run);
    let pure = all.iter().find(|together| together.source == PURE);
    let mut found: Vec<(f64, &Together)> = all
        .iter()
        .filter(|together| together.source != PURE)
        .filter_map(|together| Some((hindered(together, pure)?, together)))
        .collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let Some((cost, worst)) = found.first() else { return Vec::new() };
    let part = |together: &Together| {
        let (source, times, copies) = (together.source, number(together.times.value), together.copies);
        let shared = SHARED.iter().find(|(name, _)| *name == source).map(|(_, shared)| *shared);
        match shared {
            Some(shared) => say!("{source} {times} of {copies} ({shared})"),
            None => say!("{source} {times} of {copies}"),
        }
    };
    let parts = words(Message::joined(found.iter().map(|(_, together)| part(together)), COMMA));
    let law = law(run, worst.source).unwrap_or_default();
    let text = texts::text!(parts, law);
    let (source, times, copies) = (worst.source, number(worst.times.value), worst.copies);
    let short = short(texts::short!(source, copies, times));
    vec![Conclusion {
        short,
        text,
        cases: found.iter().map(|(_, together)| together.case.id.clone()).collect(),
        cost: *cost,
    }]
}

/// Law of a source's growth with its copies, where enough numbers of them were measured: the part that waits for one copy at a time, the
/// number with the highest throughput, and the first with less.
fn law(run: &Run, source: &str) -> Option<Text<String>> {
    let (points, cores) = (curve(run, source), usable_cores(&run.host).map(|cores| cores as f64));
    let Some(Growth::Smooth { law: Some(law), knee, falls_from, .. }) = growth(&points, cores, run.settings.seed)
    else {
        return None;
    };
    let [value, low, high] = [law.contention.value, law.contention.low, law.contention.high].map(percent_number);
    let mut text = vec![say!(
        " By the universal scalability law {value} % of the work of {source} can be done by one copy at a time only ({low} to {high} %)"
    )];
    if let Some(peak) = law.peak(knee) {
        text.push(say!("; {peak:.0} copies would do most"));
    }
    if let Some(copies) = falls_from {
        text.push(say!("; {copies} do less than fewer did"));
    }
    text.push(say!("."));
    Some(words(Message::joined(text, "")))
}

/// The share that each copy loses beyond what pure computation loses with as many; none where that is not proven. Without
/// a figure of pure computation on as many CPUs, nothing is known of the cores.
fn hindered(together: &Together, pure: Option<&Together>) -> Option<f64> {
    let pure = pure.filter(|pure| pure.copies >= together.copies)?;
    // Of fewer copies than the sieve's each has no less of a core.
    let share = |times: f64, copies: f64| (times / copies).min(1.0);
    let expected = share(pure.times.low, pure.copies);
    let is_proven = together.times.high / together.copies < expected * (1.0 - NOTABLE);
    is_proven.then(|| lost(share(pure.times.value, pure.copies), together.times.value / together.copies))
}
