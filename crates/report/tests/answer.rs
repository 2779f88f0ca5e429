//! The answer that stands first: one screen, whatever the width and the language, and the table where a run is none of a machine.

mod synthetic;
#[path = "synthetic/thorough.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod thorough;

use hostmark_model::{Lang, Outcome, Run};
use hostmark_report::RenderOptions;
use hostmark_report::export::format_named;
use unicode_width::UnicodeWidthStr;

fn shown(run: &Run, options: RenderOptions) -> String {
    format_named("answer").unwrap().render_one(run, &options)
}

fn table(run: &Run, options: RenderOptions) -> String {
    format_named("table").unwrap().render_one(run, &options)
}

#[test]
fn it_is_one_screen_at_every_width_in_both_languages() {
    let run = thorough::thorough();
    for lang in [Lang::En, Lang::Zh] {
        for width in [80, 100, 160] {
            let options = RenderOptions { width, lang, ..RenderOptions::default() };
            let text = shown(&run, options);
            assert!(text.lines().count() <= 25, "{width} columns:\n{text}");
            assert!(text.lines().all(|line| line.width() <= width), "{width} columns:\n{text}");
            assert!(text != table(&run, options) && text.ends_with('\n') && !text.contains("\n\n\n"), "{text}");
        }
    }
}

#[test]
fn it_has_the_constants_that_the_run_has() {
    let run = thorough::thorough();
    let text = shown(&run, RenderOptions::default());
    for name in ["L1d ", "DRAM ", "null call ", "context switch ", "on one CPU ", "across CPUs ", "round trip "] {
        assert!(text.contains(name), "{name} is not in\n{text}");
    }
    // What was not measured is not there, and nothing stands in its place.
    let mut less = run;
    for case in less.cases.iter_mut().filter(|case| case.probe == "syscall.null") {
        case.outcome = Outcome::Skipped { reason: "time budget".into() };
    }
    assert!(!shown(&less, RenderOptions::default()).contains("null call"));
}

#[test]
fn a_run_of_few_cases_and_whoever_asks_for_all_get_the_table() {
    let mut few = thorough::thorough();
    few.cases.retain(|case| case.probe == "ipc.pipe");
    assert_eq!(shown(&few, RenderOptions::default()), table(&few, RenderOptions::default()));
    let verbose = RenderOptions { verbose: true, ..RenderOptions::default() };
    let run = thorough::thorough();
    assert_eq!(shown(&run, verbose), table(&run, verbose));
}

#[test]
fn the_page_and_markdown_begin_with_it() {
    let run = thorough::thorough();
    let options = RenderOptions::default();
    let markdown = format_named("markdown").unwrap().render_one(&run, &options);
    let page = format_named("html").unwrap().render_one(&run, &options);
    let console = shown(&run, options);
    for text in [&markdown, &page] {
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} is not in\n{text}"));
        // Before the first table of cases, the facts and all findings.
        let rest = text.find("\n## Memory").or_else(|| text.find("id=\"host\"")).unwrap();
        for word in ["null call", "across CPUs", "What costs most"] {
            assert!(at(word) < rest, "{word} does not stand first");
        }
    }
    // The same values, in the same words.
    let null = console.split("null call ").nth(1).unwrap().split("   ").next().unwrap().trim();
    assert!(markdown.contains(&format!("null call {null}")), "{null} is not in\n{markdown}");
}
