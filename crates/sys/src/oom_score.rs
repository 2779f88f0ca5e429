//! Which process the kernel kills first when memory runs out: a worker, before anything of others.

use std::fs;
use std::io;
use std::sync::OnceLock;

use super::call::Call;

const ADJUSTMENT: &str = "/proc/self/oom_score_adj";
/// The largest value: as if the process used all memory.
const FIRST: &str = "1000";

/// The calls by which it is read and written.
const READ: &str = "open or read";
const WRITE: &str = "open or write";

/// The value that this process had from its user.
static USERS: OnceLock<String> = OnceLock::new();

/// Makes this process, and what it forks from now on, the first to be killed when memory runs out. That needs no
/// privilege. An error where the kernel does not take it: without /proc, or in a sandbox that makes it read-only.
pub fn prefer_this_process() -> io::Result<()> {
    let value = fs::read_to_string(ADJUSTMENT).call(READ)?.trim().to_owned();
    USERS.get_or_init(|| value);
    fs::write(ADJUSTMENT, FIRST).call(WRITE)
}

/// Gives this process, and what it starts from now on, its user's value back, for a program of the user's own. An error
/// where the kernel does not allow that: it is a privilege to go below what a privileged process has set.
pub fn be_as_the_user_wants() -> io::Result<()> {
    match USERS.get() {
        Some(value) => fs::write(ADJUSTMENT, value).call(WRITE),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::in_a_child;

    #[test]
    fn a_process_offers_itself_and_takes_it_back() {
        in_a_child(|| {
            let now = || fs::read_to_string(ADJUSTMENT).map(|value| value.trim().to_owned());
            let before = now()?;
            prefer_this_process()?;
            assert_eq!(now()?, FIRST);
            // Twice, as a copy does that was started by a worker.
            prefer_this_process()?;
            in_a_child(|| Ok(()));
            be_as_the_user_wants()?;
            assert_eq!(now()?, before);
            Ok(())
        });
    }
}
