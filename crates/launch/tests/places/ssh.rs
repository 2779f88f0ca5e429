//! A real server of ssh, with the shells, banners and greetings that there are.

use std::path::Path;
use std::time::Duration;

use hostmark_launch::supervise::{Ending, ReadOutcome};
use hostmark_launch::transport::TransportError;

use super::spot::Spot;
use super::{SOON, terms};
use crate::skip::skipped;
use crate::sshd::{Options, Sshd};

const NO_SERVER: &str = "there is no sshd here that lets this user in";
/// What a server's message of the day may be, at ten lines a KiB.
const GREETING: &str =
    "yes 'Welcome to this machine; all that you do is recorded, and nothing of it is ours. Have a good day.'";

/// Behind a server of these options, whose sessions have a directory for temporary files of their own.
pub fn over_ssh(options: &Options) -> Option<(Spot, Sshd)> {
    let mut server = None;
    let spot = Spot::of(|temporary| {
        let environment: Vec<_> = options.environment.iter().copied().chain([("TMPDIR", temporary)]).collect();
        server = Sshd::start(&Options { environment: &environment, ..*options });
        server.as_ref().map(Sshd::prefix).unwrap_or_default()
    });
    Some((spot, server?))
}

#[test]
fn a_program_runs_behind_ssh_and_nothing_of_it_is_left() {
    let Some((spot, server)) = over_ssh(&Options::default()) else { return skipped(NO_SERVER) };
    spot.works();
    // Of a session in the middle of its work, too: an agent ends when its input does.
    let mut process = spot.start("echo $$; exec cat >/dev/null", terms(Ending::Killed));
    let ReadOutcome::Line(pid) = process.read_line_within(SOON).unwrap() else { panic!("it says nothing") };
    assert_ne!(sessions(&server), "");
    assert!(Path::new("/proc").join(&pid).exists());
    drop(process);
    let is_left = || Path::new("/proc").join(&pid).exists();
    for _ in 0..SOON.as_millis() / 10 {
        if !is_left() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!is_left());
}

/// The processes that the server's sessions have begun with.
pub fn sessions(server: &Sshd) -> String {
    let pid = server.pid();
    std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap()
}

#[test]
fn a_banner_before_the_login_changes_nothing() {
    let banner = "Authorized users only.\n".repeat(100);
    let Some((spot, _server)) = over_ssh(&Options { banner: &banner, ..Options::default() }) else {
        return skipped(NO_SERVER);
    };
    spot.works();
    let mut process = spot.start("exit 4", terms(Ending::Killed));
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
    assert!(process.ends_within(SOON));
    assert_eq!((process.end().unwrap().code(), process.last_word()), (Some(4), None));
}

#[test]
fn a_message_of_the_day_is_dropped_unless_it_is_too_long() {
    for (lines, is_too_long) in [(100, false), (1000, true)] {
        let profile = format!("{GREETING} | head -n {lines}");
        let Some((spot, _server)) = over_ssh(&Options { profile: &profile, ..Options::default() }) else {
            return skipped(NO_SERVER);
        };
        if !is_too_long {
            spot.works();
            continue;
        }
        let error = spot.start_file(&spot.program("exit"), &[], terms(Ending::Killed)).unwrap_err();
        assert!(matches!(error, TransportError::Banner { .. }), "{error}");
    }
}

#[test]
fn a_program_runs_behind_every_login_shell() {
    for shell in ["dash", "bash", "bash --login", "busybox sh"] {
        let Some((spot, _server)) = over_ssh(&Options { shell, ..Options::default() }) else {
            skipped(&format!("{NO_SERVER}, with the shell {shell}"));
            continue;
        };
        spot.works();
    }
}

#[test]
fn a_terminal_of_ssh_is_reported() {
    let Some((mut spot, _server)) = over_ssh(&Options::default()) else { return skipped(NO_SERVER) };
    let hostmark_launch::transport::Transport::Command(words) = &mut spot.place else { panic!() };
    words.insert(1, "-tt".into());
    let error = spot.start_file(&spot.program("exit"), &[], terms(Ending::Killed)).unwrap_err();
    assert!(matches!(error, TransportError::Terminal { .. }), "{error}");
    assert!(error.to_string().ends_with("leave out -t"), "{error}");
}

#[test]
fn ssh_leads_through_ssh() {
    let Some((spot, server)) = over_ssh(&Options::default()) else { return skipped(NO_SERVER) };
    let nested = Spot::of(|temporary| {
        let temporary = format!("TMPDIR={temporary}");
        [server.prefix(), server.prefix(), vec!["env".into(), temporary]].concat()
    });
    nested.works();
    drop(spot);
}

#[test]
fn what_ssh_says_of_a_login_that_fails_is_reported() {
    let Some((mut spot, server)) = over_ssh(&Options::default()) else { return skipped(NO_SERVER) };
    let begun = spot.start("echo begun", terms(Ending::Killed)).read_line_within(SOON).unwrap();
    assert_eq!(begun, ReadOutcome::Line("begun".into()));
    for (option, says) in [("User=nobody", "Permission denied"), ("Port=1", "Connection refused")] {
        let mut words = server.prefix();
        words.splice(1..1, ["-o".into(), option.into()]);
        spot.place = hostmark_launch::transport::Transport::Command(words.into_iter().map(Into::into).collect());
        let error = spot.start_file(&spot.program("exit"), &[], terms(Ending::Killed)).unwrap_err();
        assert!(matches!(error, TransportError::Ended { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("before its shell had begun (exit status: 255: ") && text.contains(says), "{text}");
    }
}
