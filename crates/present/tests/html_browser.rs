//! Pages and pictures in a browser; where there is no Chromium the tests say so.

use std::io::Write;
use std::path::{Path, PathBuf};

use hostmark_analysis::fleet::planted::{MadeUp, Planted};
use hostmark_analysis::fleet::{Fleet, Gathering};
use hostmark_model::{Doubt, Lang, Run, Text, Trust};
use hostmark_present::RenderOptions;
use hostmark_present::export::{fleet, format_named};

use crate::browser::{self, Browser};
use crate::skip::skipped;
use crate::synthetic;
use crate::thorough::{self, hostile, odd, thorough};

/// Time from the request of the page until it is loaded, ms. It is 1500 that is promised; a machine that builds and tests
/// at the same time gets some more.
const MOST_LOAD_MS: f64 = 6000.0;
/// Sheets of A4 that a page fills as it is first shown.
const MOST_SHEETS: usize = 4;

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

/// The page of some runs in a window of this size; nothing where there is no browser.
fn opened(runs: &[Run], width: u32, height: u32) -> Option<(tempfile::TempDir, PathBuf, Browser)> {
    let program = chromium()?;
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), runs);
    let mut browser = Browser::start(&program, width, height);
    browser.open(&file);
    Some((folder, file, browser))
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
    let Some((_folder, file, mut browser)) = opened(&[thorough::with_charts(synthetic::plausible(), 4)], 1280, 900)
    else {
        return;
    };

    // Groups are closed at first; opened, every chart has a size and marks in it.
    assert_eq!(browser.eval("document.querySelectorAll('main details.group[open]').length"), 0);
    browser.eval("document.querySelectorAll('details.group').forEach(group => { group.open = true; })");
    let empty = browser.eval(
        "[...document.querySelectorAll('svg.chart')].filter(c => c.querySelectorAll('.m').length < 2 && \
         !c.querySelector('.dots') || (!c.closest('details') && c.getBoundingClientRect().height < 60)).length",
    );
    assert_eq!(empty, 0);
    assert!(browser.eval("document.querySelectorAll('#charts svg.chart').length").as_u64().unwrap() >= 6);

    // Whoever copies a command goes nowhere.
    assert_eq!(browser.eval("document.querySelectorAll('a button, button a').length"), 0);

    // The page speaks English, then Chinese once the switch is clicked, and says so in its root.
    let visible = "[...document.querySelectorAll('h2')].map(h => h.innerText.trim()).join('|')";
    assert!(browser.eval(visible).as_str().unwrap().starts_with("Answer|Findings|Charts|Values|Host"));
    let at = browser.eval(
        "(r => [r.x + r.width / 2, r.y + r.height / 2])(document.getElementById('l-zh').getBoundingClientRect())",
    );
    browser.click(at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    assert_eq!(browser.eval("document.documentElement.lang"), "zh-CN");
    assert!(browser.eval(visible).as_str().unwrap().starts_with("概要|结论|图表|数值|主机与设置"));

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
    assert!(tip.contains("模式 4096") && tip.contains("128 KiB: 4.15 ns [95 %: 4.13 … 4.17]"), "{tip}");

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

/// How far down the page what such a selector finds ends, pixels; nothing where it finds nothing.
fn bottom(browser: &mut Browser, selector: &str) -> Option<f64> {
    browser.eval(&format!("document.querySelector('{selector}')?.getBoundingClientRect().bottom")).as_f64()
}

#[test]
fn the_first_screen_has_verdict_constants_and_findings() {
    let Some(program) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = |en: &str, zh: &str| Text { en: en.to_owned(), zh: zh.to_owned() };
    let doubt = Doubt {
        text: text("other processes used the CPUs of 16 % of the cases", "16% 的用例中有其他进程使用 CPU"),
        cure: text("stop them", "请停止这些进程"),
    };
    let trust = serde_json::json!({"grade": "C", "within": 0.21, "core": 0.08, "others": 0.35, "runs": 0, "doubts": vec![doubt; 4]});
    let trust: Option<Trust> = serde_json::from_value(trust).unwrap();
    let file = written(folder.path(), &[Run { trust, ..thorough::with_charts(synthetic::plausible(), 64) }]);
    // On a telephone the constants begin there and go on below.
    for (width, height, constants) in
        [(1440, 900, ".constants"), (1024, 768, ".constants"), (400, 850, ".constants tbody tr")]
    {
        let mut browser = Browser::start(&program, width, height);
        browser.open(&file);
        for lang in ["l-en", "l-zh"] {
            browser.eval(&format!("document.getElementById('{lang}').click()"));
            for part in [".verdict", ".costly", constants] {
                let bottom = bottom(&mut browser, part);
                say(&format!("{width} x {height}, {lang}: {part} ends at {bottom:?}"));
                assert!(
                    bottom.is_some_and(|bottom| bottom <= f64::from(height)),
                    "{width} x {height}, {lang}: {part} ends at {bottom:?}"
                );
            }
        }
    }
}

#[test]
fn what_is_open_is_printed_on_white_and_no_column_cuts_a_word() {
    // A sheet of A4 between its margins.
    let Some((_folder, _, mut browser)) = opened(&[thorough::with_charts(synthetic::plausible(), 4)], 703, 1000) else {
        return;
    };
    browser.eval("document.getElementById('t-dark').click()");
    browser.eval("document.querySelector('#values details.group').open = true");
    browser.eval("document.querySelector('article details').open = true");
    browser.call("Emulation.setEmulatedMedia", serde_json::json!({"media": "print"}));
    let shown = |what: &str| {
        format!("[...document.querySelectorAll('{what}')].filter(e => e.getBoundingClientRect().height > 0).length")
    };
    for (what, least) in [("nav, .switches, #tip", 0), ("article details", 1), ("#charts svg.chart", 6)] {
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
    let Some((_folder, file, mut browser)) = opened(&[thorough::thorough()], 1280, 900) else { return };
    // Laid out and painted once.
    browser.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    let took = browser.eval("performance.now()").as_f64().unwrap();
    say(&format!("a page of {} cases: {took:.0} ms until it is painted", thorough::CASES));
    assert!(took < MOST_LOAD_MS, "{took} ms");
    assert!(browser.eval("document.querySelectorAll('tr[id]').length").as_u64().unwrap() >= thorough::CASES as u64);
    assert_eq!(misdeeds(&browser, &file), Vec::<String>::new());
}

/// The bytes of a text in base 64.
fn decoded(text: &str) -> Vec<u8> {
    let place = |c: u8| match c {
        b'A'..=b'Z' => u32::from(c - b'A'),
        b'a'..=b'z' => u32::from(c - b'a') + 26,
        b'0'..=b'9' => u32::from(c - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').collect();
    let four = |part: &[u8]| {
        let bits = part.iter().fold(0, |bits, c| bits << 6 | place(*c)) << (6 * (4 - part.len()));
        bits.to_be_bytes()[1..part.len()].to_vec()
    };
    digits.chunks(4).flat_map(four).collect()
}

#[test]
fn a_page_is_printed_on_four_sheets_unless_more_is_opened() {
    let Some(program) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut browser = Browser::start(&program, 1280, 900);
    let mut sheets = |lang: &str| {
        let file = written(folder.path(), &[thorough::thorough()]);
        browser.events.clear();
        browser.open(&file);
        browser.eval(&format!("document.getElementById('{lang}').click()"));
        let size = serde_json::json!({"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": true, "printBackground": true});
        let printed = browser.call("Page.printToPDF", size);
        let pdf = decoded(printed["data"].as_str().unwrap());
        let has = |what: &[u8]| pdf.windows(what.len()).filter(|part| part == &what).count();
        has(b"/Type /Page") - has(b"/Type /Pages")
    };
    for lang in ["l-en", "l-zh"] {
        let sheets = sheets(lang);
        assert!((1..=MOST_SHEETS).contains(&sheets), "{lang}: {sheets} sheets");
    }
}

/// What the first cells of a probe's rows say, as they stand there.
fn rows_of(browser: &mut Browser, probe: &str) -> Vec<String> {
    let rows = browser.eval(&format!(
        "[...document.getElementById('p-{probe}').querySelectorAll('tbody tr')].filter(row => !row.hidden).map(row => row.id)"
    ));
    rows.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_column_sorts_by_its_numbers_and_not_by_their_letters() {
    // The times go from ns to µs, where 1.1 is more than 900.
    let mut run = synthetic::plausible();
    let mut next = [950.0, 1_100.0, 20.0, 3_000.0, 250.0].into_iter().cycle();
    for case in run.cases.iter_mut().filter(|case| case.probe == "memory.latency") {
        *case.measured_mut().unwrap() = synthetic::measured(next.next().unwrap(), 0.01);
    }
    let Some((_folder, file, mut browser)) = opened(&[run], 1280, 900) else { return };
    browser.eval("document.querySelectorAll('details.group').forEach(group => { group.open = true; })");
    let before = rows_of(&mut browser, "memory.latency");
    let head = "document.querySelector('#p-memory\\\\.latency thead th.n')";
    let values = |browser: &mut Browser| -> Vec<f64> {
        let all = browser.eval(
            "[...document.getElementById('p-memory.latency').querySelectorAll('tbody td.v')].map(cell => cell.textContent)",
        );
        let in_ns = |text: &str| {
            let (number, unit) = text.split_once(' ').unwrap();
            let scale = match unit.split(' ').next().unwrap() {
                "ns" => 1.0,
                "µs" => 1e3,
                unit => panic!("{unit}"),
            };
            number.parse::<f64>().unwrap() * scale
        };
        all.as_array().unwrap().iter().map(|value| in_ns(value.as_str().unwrap())).collect()
    };
    for (key, descends) in [("Enter", true), (" ", false)] {
        browser.eval(&format!("{head}.focus()"));
        browser.press(key);
        let values = values(&mut browser);
        assert!(values.len() >= 5, "{values:?}");
        let is_sorted = values.windows(2).all(|two| if descends { two[0] >= two[1] } else { two[0] <= two[1] });
        assert!(is_sorted, "{values:?}");
        let said = browser.eval(&format!("{head}.getAttribute('aria-sort')"));
        assert_eq!(said, if descends { "descending" } else { "ascending" });
    }
    let mut after = rows_of(&mut browser, "memory.latency");
    assert_ne!(after, before);
    after.sort();
    let mut whole = before.clone();
    whole.sort();
    assert_eq!(after, whole, "no row is lost");
    assert_eq!(misdeeds(&browser, &file), Vec::<String>::new());
}

#[test]
fn a_search_opens_what_it_finds_and_puts_all_back() {
    let Some((_folder, file, mut browser)) = opened(&[synthetic::plausible()], 1280, 900) else { return };
    let open = "document.querySelectorAll('details.group[open]').length";
    let shown = "[...document.querySelectorAll('#values tr[id]')].filter(row => row.checkVisibility()).length";
    assert_eq!(browser.eval(shown), 0);
    browser.eval("document.getElementById('find').focus()");
    browser.call("Input.insertText", serde_json::json!({"text": "latency 64 kib"}));
    let found = browser.eval("Number(document.getElementById('found').textContent)").as_u64().unwrap();
    assert!(found >= 1);
    assert_eq!(browser.eval(shown).as_u64(), Some(found));
    assert!(browser.eval(open).as_u64().unwrap() >= 1);
    let every = browser.eval(
        "[...document.querySelectorAll('#values tr[id]')].filter(row => !row.hidden).every(row => /64/.test(row.textContent) && /KiB/.test(row.textContent))",
    );
    assert_eq!(every, true);
    browser.press("Escape");
    assert_eq!(browser.eval("document.getElementById('find').value"), "");
    assert_eq!(browser.eval(open), 0);
    // A link to a case that lies in a closed group shows it.
    browser.eval("location.hash = 'c0'");
    browser.eval("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))");
    assert_eq!(browser.eval("document.getElementById('c0').checkVisibility()"), true);
    assert_eq!(misdeeds(&browser, &file), Vec::<String>::new());
}

fn shown(run: &Run, format: &str, lang: Lang) -> String {
    format_named(format).unwrap().render_one(run, &RenderOptions { lang, ..RenderOptions::default() })
}

fn named() -> Run {
    let mut run = thorough();
    run.host.hostname = "quokka-17".into();
    run.host.cpu.model = Some("Example \u{1b}<script>&\" Processor of Uncommonly Many Words @ 3.50GHz ".repeat(3));
    run
}

#[test]
fn the_card_has_the_constants_and_no_name() {
    for lang in [Lang::En, Lang::Zh] {
        let run = named();
        let (svg, words) = (shown(&run, "card", lang), shown(&run, "card-markdown", lang));
        let answer = shown(&run, "answer", lang);
        for text in [&svg, &words, &answer] {
            assert_eq!(text.contains("quokka"), *text == answer, "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
        assert!(!svg.contains("<script") && !words.contains(" <script"), "{words}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.len() < 40_000, "{}", svg.len());
        assert_eq!(svg.matches("<text ").count(), svg.matches("</text>").count());
        assert!(!svg.contains("href") && !svg.contains("url("), "{svg}");
        // Whatever constant the answer tells stands in both.
        let line = answer.lines().find(|line| line.contains("L1d")).unwrap();
        let value = line.split_whitespace().find(|word| word.parse::<f64>().is_ok()).unwrap();
        assert!(svg.contains(&format!(">{value} ")) && words.contains(&format!("L1d {value} ")), "{value}\n{words}");
        assert!(words.lines().count() < 30, "{words}");
    }
    let empty = shown(&synthetic::empty(), "card", Lang::En);
    assert!(empty.contains("The run has none of the constants."), "{empty}");
}

#[test]
fn no_text_of_the_card_leaves_its_room_or_meets_another() {
    let Some(program) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (number, run) in
        [named(), thorough(), synthetic::plausible(), hostile(), odd(), synthetic::empty()].iter().enumerate()
    {
        for lang in [Lang::En, Lang::Zh] {
            let file = folder.path().join(format!("{number}-{lang:?}.svg"));
            std::fs::write(&file, shown(run, "card", lang)).unwrap();
            let mut browser = Browser::start(&program, 1200, 630);
            browser.open(&file);
            let met = "(() => { const all = [...document.querySelectorAll('text')].map(text => [text.textContent, text.getBBox()]); \
                       const wrong = all.filter(([, box]) => box.width && (box.x < 0 || box.x + box.width > 1200 || box.y + box.height > 630)); \
                       for (const [one, a] of all) for (const [other, b] of all) if (a !== b && a.width && b.width && \
                         a.x < b.x + b.width && b.x < a.x + a.width && a.y + 4 < b.y + b.height - 4 && b.y + 4 < a.y + a.height - 4) \
                         wrong.push([one, other]); return JSON.stringify([document.documentElement.tagName, all.length > 1, wrong]); })()";
            assert_eq!(browser.eval(met), r#"["svg",true,[]]"#, "{number} {lang:?}");
            // It has nothing that answers to a reader.
            browser.click(300.0, 300.0);
            browser.press("Enter");
            assert_eq!(browser.eval(met), r#"["svg",true,[]]"#, "{number} {lang:?}");
        }
    }
}

/// The names of the hosts that the heat map shows.
const SHOWN: &str = "[...document.querySelector('.map').tBodies[0].rows].filter(row => !row.hidden && row.id)\
                     .map(row => row.cells[0].textContent.trim()).join(' ')";

#[test]
fn a_click_opens_a_hosts_cases_and_a_search_finds_hosts() {
    let Some(program) = chromium() else { return };
    let made_up = MadeUp { odd: 1, shift: 0.5, planted: Planted::Quota, ..MadeUp::usual(12, 3) };
    let mut gathering = Gathering::new(&[]);
    for host in 0..made_up.hosts {
        gathering.read(&format!("{host}.json"), made_up.run(host, 0).as_bytes());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fleet.html");
    let mut text = String::new();
    (fleet::format_named("html").unwrap().write)(&Fleet::of(&gathering), &RenderOptions::default(), &mut |part| {
        text += part
    });
    std::fs::write(&file, text).unwrap();

    let mut browser = Browser::start(&program, 1000, 800);
    browser.open(&file);
    let all = browser.eval(SHOWN).as_str().unwrap().to_owned();
    assert!(all.starts_with("node00000 ") && all.split(' ').count() == 12, "{all}");
    // A click where a reader clicks: on the name.
    let at = |what: &str| {
        format!(
            "(() => {{ const it = document.querySelector('{what}'); it.scrollIntoView({{ block: 'center' }}); \
             const box = it.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        )
    };
    let name = at(".map tbody tr button");
    let click = |browser: &mut Browser, what: &str| {
        let place = browser.eval(what);
        browser.click(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    };
    click(&mut browser, &name);
    let below = "document.querySelector('.map .cases')?.previousElementSibling.cells[0].textContent.trim()";
    assert_eq!(browser.eval(below), "node00000");
    let cases = browser.eval("document.querySelectorAll('.map .cases li').length").as_u64().unwrap();
    assert_eq!(browser.eval("document.querySelectorAll('.map .cases li svg .host').length"), cases);
    assert!(cases > 50, "{cases}");
    let change = browser.eval("document.querySelector('.map .cases li b').textContent").as_str().unwrap().to_owned();
    assert!(change.starts_with('−'), "{change}");
    click(&mut browser, &name);
    assert_eq!(browser.eval("document.querySelectorAll('.map .cases').length"), 0);
    // The same by the keyboard.
    browser.eval("document.querySelector('.map tbody tr button').focus()");
    browser.press("Enter");
    assert_eq!(browser.eval("document.querySelectorAll('.map .cases').length"), 1);

    click(&mut browser, &at(".find input"));
    browser.call("Input.insertText", serde_json::json!({"text": "NODE0000"}));
    assert_eq!(browser.eval(SHOWN).as_str().unwrap().split(' ').count(), 10);
    browser.call("Input.insertText", serde_json::json!({"text": "7"}));
    assert_eq!(browser.eval(SHOWN), "node00007");
    browser.call("Input.insertText", serde_json::json!({"text": "<"}));
    assert_eq!(browser.eval(SHOWN), "");
}
