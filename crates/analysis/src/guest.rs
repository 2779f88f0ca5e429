//! A run's virtual machine in words: a list of facts, each with what it is called.

use std::collections::BTreeMap;

use hostmark_model::{Guest, Run, Text, Unit, size_text};
use hostmark_say::say;

use crate::bilingual::{COMMA, Words, each, joined, same};
use crate::format::{number, percent, value};
use crate::words;

/// Digits of a digest that tell two files apart; the run's file has all.
const DIGITS: usize = 12;
/// Facts of a kind that are shown at most: a file may have any number.
const MOST: usize = 12;

/// What is shown of it: a label and what it says. `all` adds command lines and whole digests.
pub fn facts(guest: &Guest, all: bool) -> Vec<(Words, Words)> {
    let mut facts: Vec<(Words, Words)> = Vec::new();
    let mut add = |label: Text, says: Words| {
        if !says.en.is_empty() {
            facts.push((label.to_owned_text(), says));
        }
    };
    let plain = |text: &Option<String>| same(text.clone().unwrap_or_default());
    add(term!("accelerator"), accelerator(guest));
    add(term!("monitor"), same(&guest.vmm));
    add(term!("machine"), same(&guest.machine));
    add(term!("CPU model"), same(&guest.cpu));
    add(term!("virtual CPUs"), cpus(guest));
    add(term!("memory"), memory(guest));
    add(term!("disk"), plain(&guest.disk));
    add(term!("network"), plain(&guest.net));
    add(term!("channel"), same(&guest.channel));
    add(term!("boot", "duration"), each(|lang| value(guest.boot_ns as f64, Unit::Nanoseconds, lang)));
    let idle = guest.idle_cpus.filter(|cpus| cpus.is_finite());
    add(term!("idle"), idle.map(idle_text).unwrap_or_default());
    add(term!("exits"), exits_text(&guest.exits));
    add(term!("of the host"), same(pairs(&guest.host, |text| text.clone())));
    let digits = |digest: &String| digest.chars().take(if all { usize::MAX } else { DIGITS }).collect();
    add(Text::name("SHA-256"), same(pairs(&guest.digests, digits)));
    if all {
        add(term!("kernel's command line"), same(&guest.append));
        add(term!("command"), same(guest.command.join(" ")));
    }
    facts
}

/// What a reader must know before any figure of the run.
pub fn warning(run: &Run) -> Option<Words> {
    const EMULATED: Text = term!("measured under QEMU's software emulation: the figures tell nothing about KVM");
    run.guest.as_ref().is_some_and(|guest| guest.is_emulated()).then(|| EMULATED.to_owned_text())
}

/// How often a guest left guest mode, the most frequent reasons first, with each one's share.
pub(crate) fn exits(all: &BTreeMap<String, u64>) -> (u64, Vec<(&str, u64)>) {
    // KVM counts all of them too, and among its reasons other events.
    const ALL: &str = "exits";
    let is_reason =
        |name: &str| name != ALL && (name.ends_with("_exits") || ["hypercalls", "pf_taken"].contains(&name));
    let known = all.iter().filter(|(name, count)| is_reason(name) && **count > 0);
    let mut reasons: Vec<(&str, u64)> = known.map(|(name, count)| (name.as_str(), *count)).collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let sum = reasons.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
    (all.get(ALL).copied().unwrap_or(sum).max(1), reasons)
}

/// The reasons that say most, as shares of all.
pub(crate) fn shares(all: u64, reasons: &[(&str, u64)], most: usize) -> String {
    let shown = reasons.iter().take(most);
    let shown: Vec<String> =
        shown.map(|(name, count)| format!("{name} {}", percent(*count as f64 / all as f64))).collect();
    shown.join(", ")
}

fn exits_text(of: &BTreeMap<String, u64>) -> Words {
    let (all, reasons) = exits(of);
    match reasons.is_empty() {
        true => Words::default(),
        false => {
            let (count, shown) = (number(all as f64), shares(all, &reasons, MOST));
            words(say!("{count}: {shown}"))
        }
    }
}

fn accelerator(guest: &Guest) -> Words {
    match guest.is_emulated() {
        true => words(say!("{accel}, software emulation", accel = guest.accel)),
        false => same(&guest.accel),
    }
}

fn cpus(guest: &Guest) -> Words {
    let list: Vec<String> = guest.pinned.iter().map(usize::to_string).collect();
    let list = list.join(" ");
    let count = words(say!("{cpus}", cpus = guest.cpus));
    let nodes = (guest.nodes > 1).then(|| words(say!("{nodes} memory nodes", nodes = guest.nodes)));
    let pinned = match list.is_empty() {
        true => term!("not pinned").to_owned_text(),
        false => words(say!("pinned to {list}")),
    };
    joined(&[count].into_iter().chain(nodes).chain([pinned]).collect::<Vec<_>>(), COMMA)
}

fn memory(guest: &Guest) -> Words {
    let (size, backing) = (size_text(guest.memory), &guest.backing);
    words(say!("{size} in {backing} pages"))
}

fn idle_text(cpus: f64) -> Words {
    let cpus = percent(cpus);
    words(say!("takes {cpus} of a CPU"))
}

fn pairs<V>(map: &BTreeMap<String, V>, shown: impl Fn(&V) -> String) -> String {
    let pairs: Vec<String> = map.iter().take(MOST).map(|(key, value)| format!("{key} {}", shown(value))).collect();
    pairs.join(", ")
}
