//! Processes that belong to one test's home, found by the environment that they have inherited.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::Home;

/// Long enough for a loaded machine to do what is done at once, and for a far end that was cut short to end the round under way.
pub const SOON: Duration = Duration::from_secs(60);
/// What a turn of [`within`] counts at most: more passes only where the machine pauses or others have its CPUs, and what is waited
/// for with it.
const MOST_A_TURN: Duration = Duration::from_millis(20);

/// Every live process of this home, with the first argument that it was started with.
pub fn processes(home: &Home) -> Vec<(i32, String)> {
    let wanted = format!("XDG_DATA_HOME={}", home.data.path().display());
    let described = |pid: i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let is_ours = environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes());
        let words = is_ours.then(|| fs::read(format!("/proc/{pid}/cmdline")).ok())??;
        let word = words.split(|&byte| byte == 0).nth(1).unwrap_or_default();
        Some((pid, String::from_utf8_lossy(word).into_owned()))
    };
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| described(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// Looks again and again until it is so; whether it was within that time.
pub fn within(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    #[expect(clippy::disallowed_methods, reason = "bounds a wait")]
    let now = Instant::now;
    let mut passed = Duration::ZERO;
    while passed <= limit {
        let turn = now();
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
        passed += turn.elapsed().min(MOST_A_TURN);
    }
    false
}
