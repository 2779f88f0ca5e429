//! Which signals a process ignores.

use std::fmt::Display;

/// The signals that a process ignores, as the kernel's mask, whose lowest bit is signal 1; none where /proc does not say. The process is
/// its number, or `self`. Who ignores one passes that on to every program that it starts (nohup(1), a script's background job).
pub fn ignored(process: impl Display) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Whether such a mask has the signal of this number.
pub fn has(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}
