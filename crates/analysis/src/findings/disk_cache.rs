//! A disk that answers faster than any device could: what was measured is a cache in front of it.

use hostmark_model::{CaseRecord, Lang, Run, Text, Unit};

use super::evidence::{Proven, believed, case_at};
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, IO_LIMIT, Rule, WRONG};
use crate::format::value;
use crate::texts::findings::disk_cache as texts;

const READ: &str = "disk.read";
const READ_AT: &[(&str, &str)] = &[("pattern", "random"), ("block", "4096"), ("depth", "1")];
const SYNC: &str = "disk.fsync";
/// A page of NAND takes 40 to 100 µs from the request to its answer; 25 to 30 µs is what the fastest SLC flash has. ns
const FASTEST_FLASH_NS: f64 = 25e3;
/// A flush that goes over the bus of a device with power-loss protection and back, with the filesystem's own work. ns
const FASTEST_FLUSH_NS: f64 = 8e3;
/// Filesystems that keep their data on a device of this machine.
const ON_DEVICE: [&str; 4] = ["ext4", "xfs", "btrfs", "overlay"];

pub(super) static RULE: Rule = Rule {
    id: "disk.answered_by_cache",
    shown: Demonstration::Run,
    probes: &[READ, SYNC],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[&IO_LIMIT] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    [read(run), sync(run)].into_iter().flatten().collect()
}

/// A device that a file stands for: this machine's own page cache answers for it.
const ON_A_FILE: &str = " on loop";

/// Tells whether the case used a filesystem that has a device.
fn is_on_device(case: &CaseRecord) -> bool {
    let Some(measured) = believed(case) else { return false };
    let is_on_file = measured.notes.get("lies_on").is_some_and(|stack| stack.contains(ON_A_FILE));
    measured.notes.get("filesystem").is_some_and(|name| ON_DEVICE.contains(&name.as_str())) && !is_on_file
}

fn read(run: &Run) -> Option<Conclusion> {
    let case = case_at(run, READ, READ_AT).filter(|case| is_on_device(case))?;
    let took = Proven::also(case, "p50").filter(|took| took.high < FASTEST_FLASH_NS)?;
    let (took, place) = (value(took.value, Unit::Nanoseconds, Lang::En), place(run));
    let text = texts::read_text!(took, place);
    let short = short(texts::read_short!(took));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: 0.0 })
}

fn place(run: &Run) -> Text<String> {
    match run.host.virtualization.hypervisor {
        Some(_) => texts::place_hypervisor!(),
        None => texts::place_device!(),
    }
}

fn sync(run: &Run) -> Option<Conclusion> {
    let case = run.cases.iter().find(|case| case.probe == SYNC).filter(|case| is_on_device(case))?;
    let took = Proven::of_case(case).filter(|took| took.high < FASTEST_FLUSH_NS)?;
    let took = value(took.value, Unit::Nanoseconds, Lang::En);
    let text = texts::sync_text!(took);
    let short = short(texts::sync_short!(took));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: 0.0 })
}
