//! That a Chinese page tells every reason in Chinese.

use std::io;
use std::sync::LazyLock;

use hostmark_analysis::compare::{Comparison, History, Pool, SAME};
use hostmark_analysis::reasons::localized;
use hostmark_model::{Lang, Message, MessageArgument, Outcome, ReasonCode, Run};
use hostmark_present::RenderOptions;
use hostmark_present::export::{comparison, format_named};
use hostmark_present::html;
use hostmark_present::render::console::table;
use hostmark_present::render::markdown::markdown;

use crate::synthetic;

/// Reasons of several kinds: of a plan, a host that lacks something, a probe, a worker, a system call.
static REASONS: LazyLock<[Message; 7]> = LazyLock::new(|| {
    let denied = io::Error::from_raw_os_error(13);
    let socket = said("cannot open a socket at {at}", &[("at", "127.0.0.1:0".into())]);
    let bind = said("{what}: {error}", &[("what", "bind".into()), ("error", Message::from(&denied))]);
    let wrong = &[("wrong", "4".into()), ("elements", "16".into())];
    let wrong = said("{wrong} of {elements} elements of a thread are wrong", wrong);
    let lies = said("the scratch directory lies on a device", &[]);
    [
        said("needs {needed} CPUs, and may use {have} here", &[("needed", "64".into()), ("have", "4".into())]),
        said("{what}: {error}", &[("what", socket), ("error", bind)]),
        said("was ended by signal {signal}", &[("signal", "9".into())]),
        said("a copy on CPU {cpu} failed: {reason}", &[("cpu", "3".into()), ("reason", wrong)]),
        said("there is no tmpfs to write to: {reasons}", &[("reasons", lies)]),
        said("{level} could not be told apart from the levels beside it in this run", &[("level", "L3".into())]),
        said("no further process may be started here; raise ulimit -u, or pids.max of the control group", &[]),
    ]
});

fn said(template: &'static str, arguments: &[(&'static str, Message)]) -> Message {
    let nested = |(name, message): &(&'static str, Message)| match message.as_plain() {
        Some(text) if !text.contains(" (os error ") => (*name, MessageArgument::Text(text.to_owned())),
        _ => (*name, MessageArgument::Message(message.clone())),
    };
    Message::new(template, arguments.iter().map(nested).collect())
}

/// A run of which every other case has one of these reasons, or failed for it.
fn run() -> Run {
    let mut run = synthetic::plausible();
    for (place, case) in run.cases.iter_mut().enumerate().filter(|(place, _)| place % 2 == 0) {
        let reason = ReasonCode::Internal.because(&REASONS[place / 2 % REASONS.len()]);
        case.outcome = if place % 4 == 0 { Outcome::Skipped { reason } } else { Outcome::Failed { reason } };
    }
    run
}

fn options() -> RenderOptions {
    RenderOptions { width: 400, lang: Lang::Zh, ..RenderOptions::default() }
}

/// Three words of a reason in a row, wherever a page shows them.
#[track_caller]
fn has_no_english(page: &str) {
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for reason in REASONS.iter().map(Message::to_string) {
        let words: Vec<&str> = reason.split(' ').collect();
        let is_word = |word: &&str| word.trim_end_matches([',', ':', ';']).chars().all(|c| c.is_ascii_alphabetic());
        for three in words.windows(3).filter(|three| three.iter().all(is_word)) {
            assert!(!page.contains(&three.join(" ")), "'{}' stands in:\n{page}", three.join(" "));
        }
    }
}

#[track_caller]
fn says_all(page: &str) {
    has_no_english(page);
    for reason in REASONS.iter() {
        let zh = localized(reason, Lang::Zh);
        assert!(page.contains(&*zh), "{zh}\nis not in:\n{page}");
    }
}

#[test]
fn no_reason_has_three_english_words_left() {
    for reason in REASONS.iter() {
        let zh = localized(reason, Lang::Zh);
        let words: Vec<&str> = zh.split([' ', '，', '：', '；', '（', '）']).collect();
        let is_word = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_alphabetic());
        assert!(!words.windows(3).any(|three| three.iter().all(is_word)), "{zh}");
    }
}

#[test]
fn console_and_markdown_report_every_reason_in_chinese() {
    let run = run();
    says_all(&table(&run, &options()));
    says_all(&table(&run, &RenderOptions { verbose: true, ..options() }));
    // Markdown marks up what is special to it.
    has_no_english(&markdown(&run, &options()));
}

#[test]
fn no_format_for_people_leaves_a_reason_in_english() {
    for name in ["table", "markdown", "answer", "lmbench", "overhead"] {
        let format = format_named(name).unwrap_or_else(|| panic!("there is no {name}"));
        has_no_english(&format.render(&[run()], &options()).unwrap_or_default());
    }
}

#[test]
fn the_page_reports_every_reason_in_both_languages() {
    let page = html::page(&[run()], &options());
    let chinese: Vec<&str> = page
        .split("<span lang=\"zh-CN\">")
        .skip(1)
        .filter_map(|rest| rest.split_once("</span>").map(|(text, _)| text))
        .collect();
    says_all(&chinese.join("\n"));
    for reason in REASONS.iter().map(Message::to_string) {
        assert!(page.contains(&reason), "{reason}");
    }
}

#[test]
fn a_comparison_reports_every_reason_in_chinese() {
    let (base, new) = ([run()], [synthetic::plausible()]);
    let pool = |name, runs| Pool { name, runs };
    let compared = Comparison::of(pool("a", &base), &[pool("b", &new)], &History::default(), SAME);
    let page = (comparison::FORMATS[0].render)(&compared, &RenderOptions { verbose: true, ..options() });
    says_all(&page);
}

#[test]
fn machines_read_english() {
    for name in ["csv", "json", "jsonl"] {
        let page = format_named(name).unwrap().render(&[run()], &options()).unwrap();
        assert!(page.contains(&REASONS[0].to_string()) && !page.contains(&*localized(&REASONS[0], Lang::Zh)), "{name}");
    }
}
