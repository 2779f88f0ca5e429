//! The page in a browser: it draws, asks for nothing, complains of nothing, speaks both languages, and tells its values
//! to the pointer and to the keyboard. Where there is no Chromium the test says so and tests nothing.

mod browser;
#[path = "../../../tests/support/skip.rs"]
mod skip;
mod synthetic;
#[path = "synthetic/thorough.rs"]
mod thorough;

use std::io::Write;
use std::path::{Path, PathBuf};

use browser::Browser;
use hostmark_model::Run;
use hostmark_report::RenderOptions;
use hostmark_report::export::format_named;
use skip::skipped;

/// Time from the request of the page until it is loaded, ms. It is 2000 that is promised; a machine that builds and tests
/// at the same time gets some more.
const MOST_LOAD_MS: f64 = 6000.0;

/// The browser; says so where there is none. `HOSTMARK_CHROMIUM=required` makes its absence an error.
fn chromium() -> Option<PathBuf> {
    let found = browser::find();
    if found.is_none() {
        let is_required = std::env::var_os("HOSTMARK_CHROMIUM").is_some_and(|value| value == "required");
        assert!(!is_required, "there is no Chromium, and HOSTMARK_CHROMIUM=required");
        skipped("there is no Chromium on the PATH; install the package chromium");
    }
    found
}

/// Tells something past what the test runner keeps to itself.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

/// Writes the page of some runs where the browser can read it.
fn written(folder: &Path, runs: &[Run]) -> PathBuf {
    let path = folder.join("report.html");
    std::fs::write(&path, format_named("html").unwrap().render(runs, &RenderOptions::default()).unwrap()).unwrap();
    path
}

/// What a page did that it must not do: requests but for itself, complaints, errors.
fn misdeeds(browser: &Browser, file: &Path) -> Vec<String> {
    let own = format!("file://{}", file.display());
    let mut found = Vec::new();
    for event in &browser.events {
        let params = &event["params"];
        match event["method"].as_str().unwrap_or("") {
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or("");
                if url.split('#').next() != Some(own.as_str()) && url != "about:blank" {
                    found.push(format!("a request: {url}"));
                }
            }
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" => {
                found.push(format!("a complaint: {params}"));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn a_reader_can_switch_the_language_and_read_a_point() {
    let Some(program) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &[thorough::with_charts(synthetic::plausible(), 4)]);
    let mut browser = Browser::start(&program, 1280, 900);
    browser.open(&file);

    // Every chart has a size and marks in it.
    let empty = browser.eval(
        "[...document.querySelectorAll('svg.chart')].filter(c => c.querySelectorAll('.m').length < 2 && \
         !c.querySelector('.dots') || (!c.closest('details') && c.getBoundingClientRect().height < 60)).length",
    );
    assert_eq!(empty, 0);
    assert!(browser.eval("document.querySelectorAll('#charts svg.chart').length").as_u64().unwrap() >= 7);

    // The page speaks English, then Chinese once the switch is clicked, and says so in its root.
    let visible = "[...document.querySelectorAll('h2')].map(h => h.innerText.trim()).join('|')";
    assert!(browser.eval(visible).as_str().unwrap().starts_with("Answer|Host and settings|Findings|Charts|"));
    let at = browser.eval(
        "(r => [r.x + r.width / 2, r.y + r.height / 2])(document.getElementById('l-zh').getBoundingClientRect())",
    );
    browser.click(at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    assert_eq!(browser.eval("document.documentElement.lang"), "zh-CN");
    assert!(browser.eval(visible).as_str().unwrap().starts_with("概要|主机与设置|结论|图表|"));

    // The pointer reads the value of a point and its interval.
    let place = "(m => { m.scrollIntoView({block: 'center'}); const r = m.getBoundingClientRect(); \
                 return [r.x + r.width / 2, r.y + r.height / 2]; })";
    // The last line is drawn over the others.
    let mark =
        "document.querySelectorAll('#charts svg.chart')[0].querySelectorAll('g[data-en=\"pattern 4096\"] .m')[3]";
    let at = browser.eval(&format!("{place}({mark})"));
    browser.eval("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))");
    browser.point(at[0].as_f64().unwrap() + 1.0, at[1].as_f64().unwrap() + 1.0);
    let tip = browser.eval("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText");
    let tip = tip.as_str().unwrap();
    assert!(tip.contains("pattern 4096") && tip.contains("128 KiB: 4.15 ns [95 %: 4.13 … 4.17]"), "{tip}");

    // The keyboard goes on to the next point of the line.
    browser.eval("document.querySelectorAll('#charts svg.chart')[0].focus()");
    browser.press("ArrowRight");
    let next = browser.eval("document.getElementById('tip').innerText");
    let next = next.as_str().unwrap();
    assert!(next != tip && next.contains("KiB: "), "{next}");
    browser.press("Escape");
    assert_eq!(browser.eval("document.getElementById('tip').hidden"), true);

    // Dark is dark, and light is light.
    for (theme, is_dark) in [("t-dark", true), ("t-light", false)] {
        browser.eval(&format!("document.getElementById('{theme}').click()"));
        let ground = browser.eval("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)");
        assert_eq!(ground[0].as_f64().unwrap() < 80.0, is_dark, "{theme}: {ground}");
    }
    assert_eq!(misdeeds(&browser, &file), Vec::<String>::new());
}

#[test]
fn a_narrow_page_is_no_wider_than_the_screen_and_hostile_text_runs_nothing() {
    let Some(program) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut browser = Browser::start(&program, 400, 800);
    for (name, runs) in [
        ("plain", vec![thorough::with_charts(synthetic::plausible(), 64)]),
        ("hostile", vec![thorough::hostile(), thorough::odd()]),
    ] {
        let sub = folder.path().join(name);
        std::fs::create_dir(&sub).unwrap();
        let file = written(&sub, &runs);
        browser.events.clear();
        browser.open(&file);
        let width = browser.eval("document.documentElement.scrollWidth");
        assert!(width.as_u64().unwrap() <= 400, "{name}: {width}");
        assert_eq!(misdeeds(&browser, &file), Vec::<String>::new(), "{name}");
    }
    assert_eq!(
        browser.eval("document.querySelectorAll('img, iframe, object, embed, script:not(body > script)').length"),
        0
    );
}

#[test]
fn what_is_open_is_printed_on_white_and_no_column_cuts_a_word() {
    let Some(program) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &[thorough::with_charts(synthetic::plausible(), 4)]);
    // A sheet of A4 between its margins.
    let mut browser = Browser::start(&program, 703, 1000);
    browser.open(&file);
    browser.eval("document.getElementById('t-dark').click()");
    browser.eval("document.querySelector('article details.explain').open = true");
    browser.call("Emulation.setEmulatedMedia", serde_json::json!({"media": "print"}));
    let shown = |what: &str| {
        format!("[...document.querySelectorAll('{what}')].filter(e => e.getBoundingClientRect().height > 0).length")
    };
    for (what, least) in [("nav, .switches, #tip", 0), ("article details", 1), ("#charts svg.chart", 7)] {
        let all = browser.eval(&shown(what)).as_u64();
        let is_right = if what.starts_with('#') { all >= Some(least) } else { all == Some(least) };
        assert!(is_right, "{what}: {all:?}");
    }
    let ground = browser.eval("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)");
    assert!(ground[0].as_f64().unwrap() > 200.0, "{ground}");
    // The longest word of a heading stands on one line: its width alone is no more than its cell's.
    let cut = browser.eval(
        "(() => { const range = document.createRange(), cut = []; \
         for (const text of document.querySelectorAll('.values thead th')) { \
           const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT); \
           for (let node = walker.nextNode(); node; node = walker.nextNode()) \
             for (const word of node.data.matchAll(/\\S+/g)) { \
               range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length); \
               if (range.getClientRects().length > 1) cut.push(word[0]); } } \
         return cut; })()",
    );
    assert_eq!(cut, serde_json::json!([]));
    assert!(browser.eval("document.documentElement.scrollWidth").as_u64().unwrap() <= 703);
}

#[test]
fn the_largest_page_opens_at_once() {
    let Some(program) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &[thorough::thorough()]);
    let mut browser = Browser::start(&program, 1280, 900);
    browser.open(&file);
    // Laid out and painted once.
    browser.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    let took = browser.eval("performance.now()").as_f64().unwrap();
    say(&format!("a page of {} cases: {took:.0} ms until it is painted", thorough::CASES));
    assert!(took < MOST_LOAD_MS, "{took} ms");
    assert!(browser.eval("document.querySelectorAll('tr[id]').length").as_u64().unwrap() >= thorough::CASES as u64);
    assert_eq!(misdeeds(&browser, &file), Vec::<String>::new());
}
