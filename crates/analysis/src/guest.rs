//! A run's virtual machine in words: a list of facts, each with what it is called.

use std::collections::BTreeMap;

use hostmark_model::{Guest, Message, Run, Text, Unit, size_text};
use hostmark_say::say;

use crate::format::{amount, number, percent};
use crate::typography::COMMA;

/// Digits of a digest that tell two files apart; the run's file has all.
const DIGITS: usize = 12;
/// Facts of a kind that are shown at most: a file may have any number.
const MOST: usize = 12;

/// Facts about a guest, each a label and its value. `all` adds command lines and whole digests.
pub fn facts(guest: &Guest, all: bool) -> Vec<(Text, Message)> {
    let mut facts: Vec<(Text, Message)> = Vec::new();
    let mut add = |label: Text, says: Message| {
        if !says.is_empty() {
            facts.push((label, says));
        }
    };
    let plain = |text: &Option<String>| text.clone().unwrap_or_default().into();
    add(term!("accelerator"), accelerator(guest));
    add(term!("monitor"), Message::plain(&guest.vmm));
    add(term!("machine"), Message::plain(&guest.machine));
    add(term!("CPU model"), Message::plain(&guest.cpu));
    add(term!("virtual CPUs"), cpus(guest));
    add(term!("memory"), memory(guest));
    add(term!("disk"), plain(&guest.disk));
    add(term!("network"), plain(&guest.net));
    add(term!("channel"), Message::plain(&guest.channel));
    add(term!("boot", "duration"), amount(guest.boot_ns as f64, Unit::Nanoseconds));
    let idle = guest.idle_cpus.filter(|cpus| cpus.is_finite());
    add(term!("idle"), idle.map(percent).map(|cpus| say!("takes {cpus} of a CPU")).unwrap_or_default());
    add(term!("exits"), exits_text(&guest.exits));
    add(term!("of the host"), pairs(&guest.host, |text| text.clone()).into());
    let digits = |digest: &String| digest.chars().take(if all { usize::MAX } else { DIGITS }).collect();
    add(Text::name("SHA-256"), pairs(&guest.digests, digits).into());
    if all {
        add(term!("kernel's command line"), Message::plain(&guest.append));
        add(term!("command"), guest.command.join(" ").into());
    }
    facts
}

/// Warning that readers need before any figure of the run.
pub fn warning(run: &Run) -> Option<Text> {
    const EMULATED: Text = term!("measured under QEMU's software emulation: the figures tell nothing about KVM");
    run.guest.as_ref().is_some_and(|guest| guest.is_emulated()).then_some(EMULATED)
}

/// Number of VM exits, and the reasons with their shares, the most frequent first.
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

fn exits_text(of: &BTreeMap<String, u64>) -> Message {
    let (all, reasons) = exits(of);
    match reasons.is_empty() {
        true => Message::default(),
        false => {
            let (count, shown) = (number(all as f64), shares(all, &reasons, MOST));
            say!("{count}: {shown}")
        }
    }
}

fn accelerator(guest: &Guest) -> Message {
    match guest.is_emulated() {
        true => say!("{accel}, software emulation", accel = guest.accel),
        false => Message::plain(&guest.accel),
    }
}

fn cpus(guest: &Guest) -> Message {
    let list: Vec<String> = guest.pinned.iter().map(usize::to_string).collect();
    let list = list.join(" ");
    let count = say!("{cpus}", cpus = guest.cpus);
    let nodes = (guest.nodes > 1).then(|| say!("{nodes} memory nodes", nodes = guest.nodes));
    let pinned = match list.is_empty() {
        true => term!("not pinned").into(),
        false => say!("pinned to {list}"),
    };
    Message::joined([count].into_iter().chain(nodes).chain([pinned]), COMMA)
}

fn memory(guest: &Guest) -> Message {
    let (size, backing) = (size_text(guest.memory), &guest.backing);
    say!("{size} in {backing} pages")
}

fn pairs<V>(map: &BTreeMap<String, V>, shown: impl Fn(&V) -> String) -> String {
    let pairs: Vec<String> = map.iter().take(MOST).map(|(key, value)| format!("{key} {}", shown(value))).collect();
    pairs.join(", ")
}
