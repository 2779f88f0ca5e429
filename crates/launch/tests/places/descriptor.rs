//! A program that was copied lets go of the descriptor by which it was executed; this test's own is one.

use hostmark_launch::program::Programs;
use hostmark_launch::supervise::{Ending, ReadOutcome};
use hostmark_launch::transport::{Transport, close_own_descriptor};

use super::{SOON, terms};

/// Set where this test's program runs as a copy.
const COPIED: &str = "HOSTMARK_TEST_COPIED";

#[test]
fn a_copy_lets_go_of_its_own_file_and_others_close_nothing() {
    let held =
        || std::fs::read_link("/proc/self/fd/9").is_ok_and(|file| file.to_string_lossy().ends_with(" (deleted)"));
    if std::env::var_os(COPIED).is_some() {
        return assert!(held() && close_own_descriptor() && !held());
    }
    assert!(!close_own_descriptor());
    let place = Transport::Command(vec!["env".into(), format!("{COPIED}=1").into()]);
    let name = "places::descriptor::a_copy_lets_go_of_its_own_file_and_others_close_nothing";
    let arguments = [name, "--exact", "--nocapture", "--test-threads=1"];
    let mut process =
        place.start(&Programs::of_this(false).unwrap(), &arguments, terms(Ending::Killed)).unwrap().process;
    assert_eq!(process.drain(SOON, 1 << 20).unwrap(), ReadOutcome::Closed);
    let said = String::from_utf8(process.take_buffered()).unwrap();
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
}
