//! What is said of others on the same physical machine, and what is not.

use hostmark_analysis::findings;
use hostmark_model::{Lang, LastCache, Neighbours, Run};
use hostmark_present::RenderOptions;
use hostmark_present::export::format_named;

use crate::synthetic;

fn beside(neighbours: Neighbours) -> Run {
    Run { neighbours: Some(neighbours), ..synthetic::plausible() }
}

fn conclusion(run: &Run) -> Vec<(String, String, f64)> {
    let found = findings(run).into_iter().map(crate::short::sound).filter(|finding| finding.id == "run.neighbours");
    found.map(|finding| (finding.text.en, finding.text.zh, finding.cost)).collect()
}

fn cache(looks_ns: &[f64]) -> Option<LastCache> {
    Some(LastCache { bytes: 8 << 20, looks_ns: looks_ns.to_vec() })
}

#[test]
fn a_core_that_others_used_is_reported_with_the_share_of_the_time() {
    let shared = |share: f64| beside(Neighbours { core_shared: Some(share), last_cache: None });
    let [(en, zh, cost)] = &conclusion(&shared(0.31))[..] else { panic!() };
    assert!(en.contains("used this core 31 % of the time") && zh.contains("31 %"), "{en} {zh}");
    assert!((cost - 0.155).abs() < 1e-9);
    assert!(conclusion(&shared(0.049)).is_empty() && conclusion(&beside(Neighbours::default())).is_empty());
    assert!(conclusion(&synthetic::plausible()).is_empty());
}

#[test]
fn a_last_cache_that_changed_is_reported_with_its_best_and_its_worst() {
    let looked = |looks_ns: &[f64]| beside(Neighbours { core_shared: None, last_cache: cache(looks_ns) });
    let [(en, ..)] = &conclusion(&looked(&[34.0, 35.0, 52.0, 36.0]))[..] else { panic!() };
    assert!(en.contains("a load from 8 MiB took 34.0 ns at best and 52.0 ns at worst"), "{en}");
    assert!(conclusion(&looked(&[34.0, 35.0, 44.1])).is_empty() && conclusion(&looked(&[34.0, 52.0])).is_empty());
}

#[test]
fn the_grade_stands_at_the_head_of_every_report() {
    let mut run = beside(Neighbours { core_shared: Some(0.31), last_cache: None });
    hostmark_analysis::repetition::add(&mut run, &Default::default());
    run.trust = hostmark_analysis::trust::trust(&run);
    assert!(run.trust.is_some());
    for format in ["table", "markdown", "html"] {
        let format = format_named(format).unwrap();
        let text = |lang: Lang| format.render_one(&run, &RenderOptions { lang, ..RenderOptions::default() });
        let (en, zh) = (text(Lang::En), text(Lang::Zh));
        // The page draws the letter as a badge.
        let is_graded = |text: &str, word: &str| text.contains(word) || text.contains("class=\"grade\">");
        assert!(
            is_graded(&en, "TRUST ") && en.contains("a neighbour shared this physical core 31 % of the time"),
            "{en}"
        );
        assert!(is_graded(&zh, "可信度 ") && zh.contains("可信度"), "{zh}");
    }
}

#[test]
fn every_report_says_how_the_run_ended_and_what_disturbed_it() {
    let mut run = beside(Neighbours::default());
    run.interrupted = Some("the terminal went away".into());
    run.settings.clock.drift = Some(0.01);
    let ended = [("this run ended early", "本次运行提前结束"), ("parts in a million", "百万分之")];
    for format in ["table", "markdown", "html"].map(|name| format_named(name).unwrap()) {
        for (en, zh) in ended {
            for (lang, words) in [(Lang::En, en), (Lang::Zh, zh)] {
                let of = |run| format.render_one(run, &RenderOptions { lang, width: 200, ..RenderOptions::default() });
                assert!(of(&run).contains(words), "{words} is not in\n{}", of(&run));
                assert!(!of(&synthetic::plausible()).contains(words), "{words}");
            }
        }
    }
}
