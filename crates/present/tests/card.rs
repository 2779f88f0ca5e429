//! The picture to share: what stands in it, and in a browser that no text leaves its room.

use hostmark_model::{Lang, Run};
use hostmark_present::RenderOptions;
use hostmark_present::export::format_named;

use crate::browser;
use crate::browser::Browser;
use crate::skip::skipped;
use crate::synthetic;
use crate::thorough::{hostile, odd, thorough};

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
        assert!(
            svg.contains(&format!(">{value} ns")) && words.contains(&format!("L1d {value} ns")),
            "{value}\n{words}"
        );
        assert!(words.lines().count() < 30, "{words}");
    }
    let empty = shown(&synthetic::empty(), "card", Lang::En);
    assert!(empty.contains("The run has none of the constants."), "{empty}");
}

#[test]
fn no_text_of_the_card_leaves_its_room_or_meets_another() {
    let Some(program) = browser::find() else {
        return skipped("there is no Chromium on the PATH; install the package chromium");
    };
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
