//! Tests that sentences are translated with their arguments and within one another, and that texts without a template stay as they are.

use std::io;

use hostmark_model::{MessageArgument, ReasonCode};

use super::*;

fn zh(reason: impl Into<Message>) -> String {
    localized(reason, Lang::Zh)
}

/// The sentence of a template in `zh.po`.
fn said<const N: usize>(template: &'static str, arguments: [(&'static str, Message); N]) -> Message {
    let nested = |(name, message): (&'static str, Message)| match message.as_plain() {
        Some(text) => (name, MessageArgument::Text(text.to_owned())),
        None => (name, MessageArgument::Message(message)),
    };
    Message::new(template, arguments.into_iter().map(nested).collect())
}

/// An error behind what it was met by.
fn behind(what: impl Into<Message>, error: &io::Error) -> Message {
    let nested = |message| MessageArgument::Message(message);
    Message::new("{what}: {error}", vec![("what", nested(what.into())), ("error", nested(error.into()))])
}

#[test]
fn a_reason_is_reported_with_its_values() {
    let reasons = [
        (said("needs root", []), "需要 root 权限"),
        (
            said("needs {needed} CPUs, and may use {have} here", [("needed", "4".into()), ("have", "2".into())]),
            "需要 4 个 CPU，这里只能使用 2 个",
        ),
        (said("{have} of {of:round}", [("have", "2".into()), ("of", "7".into())]), "7 轮中有 2 轮"),
    ];
    assert_eq!(zh(io::Error::from(io::ErrorKind::TimedOut)), "等待超时");
    for (reason, wanted) in reasons {
        assert_eq!([zh(&reason), localized(&reason, Lang::En)], [wanted.to_owned(), reason.to_string()]);
        assert_eq!(zh(ReasonCode::Internal.because(reason)), wanted);
    }
}

#[test]
fn what_an_error_says_is_reported_within_its_reason() {
    let denied = io::Error::from_raw_os_error(13);
    let reasons = [
        (behind("open", &denied), "open：EACCES (13)；请检查权限，或以 root 运行"),
        (
            behind(said("cannot bind to CPU {cpu}", [("cpu", "3".into())]), &io::ErrorKind::TimedOut.into()),
            "无法绑定到 CPU 3：等待超时",
        ),
        (
            said("cannot be started: {error}", [("error", behind("execve", &denied))]),
            "无法启动：execve：EACCES (13)；请检查权限，或以 root 运行",
        ),
        (behind("make", &io::Error::other("*** No rule")), "make：*** No rule"),
    ];
    for (reason, wanted) in reasons {
        assert_eq!(zh(reason), wanted);
    }
}

#[test]
fn an_error_of_the_system_has_its_name_and_number_and_no_words_but_what_helps() {
    for number in (1..=133).filter(|number| ![41, 58].contains(number)) {
        let error = io::Error::from_raw_os_error(number);
        for (text, before) in [(zh(Message::from(&error)), ""), (zh(behind("open", &error)), "open：")] {
            let rest = text.strip_prefix(before).unwrap();
            let (named, remedy) = rest.split_once('；').map_or((rest, None), |(named, rest)| (named, Some(rest)));
            let name = named.strip_suffix(&format!(" ({number})")).unwrap_or_default();
            assert!(name.starts_with('E') && name.chars().all(|c| c.is_ascii_alphanumeric()), "{text}");
            let is_known = |(numbers, _): &&(&[i32], &str)| numbers.contains(&number);
            assert_eq!(remedy, REMEDIES.iter().find(is_known).map(|(_, remedy)| *remedy), "{text}");
        }
    }
    // These two numbers are nobody's.
    for number in [41, 58] {
        let error = io::Error::from_raw_os_error(number).to_string();
        assert_eq!(zh(&error), error);
    }
}

#[test]
fn a_text_without_a_template_stays_as_it_is() {
    for reason in [
        "",
        "nobody knows this",
        "（已是中文）",
        "a (os error 13",
        "open: Permission denied (os error 13)",
        "needs 4 CPUs",
    ] {
        assert_eq!(zh(reason), reason);
    }
    assert_eq!(zh("Strange error (os error 99999)"), "Strange error (os error 99999)");
    let older: hostmark_model::Reason = serde_json::from_str(r#"{"reason":"needs root"}"#).unwrap();
    assert_eq!(zh(&older), "需要 root 权限");
}

#[test]
fn a_name_that_is_a_template_stays_as_it_is() {
    let shown = |name: &'static str| [Message::plain(name), name.into()].map(|plain| spoken(&plain, Lang::Zh));
    assert_eq!(["needs root", "time"].map(shown).concat(), ["needs root", "needs root", "time", "time"]);
}
