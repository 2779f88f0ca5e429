//! Control groups that runs make.

use std::path::PathBuf;

use hostmark_host::{Root, nurseries};

/// Those that are there, which no other test makes.
pub fn groups() -> Vec<PathBuf> {
    let within = |base: &String| std::fs::read_dir(base).into_iter().flatten().filter_map(Result::ok);
    let bases = nurseries(&Root::here(), "memory");
    let found = bases.iter().flat_map(within).map(|entry| entry.path());
    found.filter(|path| path.file_name().unwrap_or_default().to_string_lossy().starts_with("hostmark-")).collect()
}
