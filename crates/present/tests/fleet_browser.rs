//! A fleet's page in a browser: a click opens a host's cases, and a search finds hosts. Where there is no Chromium the test says so
//! and tests nothing.

use hostmark_analysis::fleet::{Fleet, Gathering};
use hostmark_present::RenderOptions;
use hostmark_present::export::fleet::format_named;

use crate::browser;
use crate::browser::Browser;
use crate::skip::skipped;
use hostmark_analysis::fleet::planted::{MadeUp, Planted};

/// The names of the hosts that the heat map shows.
const SHOWN: &str = "[...document.querySelector('.map').tBodies[0].rows].filter(row => !row.hidden && row.id)\
                     .map(row => row.cells[0].textContent.trim()).join(' ')";

#[test]
fn a_click_opens_a_hosts_cases_and_a_search_finds_hosts() {
    let Some(program) = browser::find() else {
        return skipped("there is no Chromium on the PATH; install the package chromium");
    };
    let made_up = MadeUp { odd: 1, shift: 0.5, planted: Planted::Quota, ..MadeUp::usual(12, 3) };
    let mut gathering = Gathering::new(&[]);
    for host in 0..made_up.hosts {
        gathering.read(&format!("{host}.json"), made_up.run(host, 0).as_bytes());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fleet.html");
    let mut text = String::new();
    (format_named("html").unwrap().write)(&Fleet::of(&gathering), &RenderOptions::default(), &mut |part| text += part);
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
