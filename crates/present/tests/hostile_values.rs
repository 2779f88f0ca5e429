//! A run that was measured on somebody's machine may say anything: whatever its values are, every format shows it, soon, and
//! nothing of it steers. 150 mutations of a run; `HOSTMARK_FUZZ=100000` asks for as many.

use std::time::{Duration, Instant};

use hostmark_analysis::compare::{Comparison, History, Pool, SAME};
use hostmark_analysis::escape::steers;
use hostmark_analysis::{consistency, findings};
use hostmark_model::{Lang, Run};
use hostmark_present::{RenderOptions, export};

use crate::mutated::{Mutator, trials};
use crate::peers;

/// Far more than any takes on a loaded machine: one that goes over a hostile number of steps has no end.
const ENDLESS: Duration = Duration::from_secs(60);

fn small() -> Run {
    let mut run = peers::three_hosts();
    let mut seen = std::collections::BTreeSet::new();
    let mut of_probe = std::collections::BTreeMap::<String, usize>::new();
    run.cases.retain(|case| {
        let count = of_probe.entry(case.probe.clone()).or_default();
        *count += 1;
        seen.insert((case.probe.clone(), case.measured().is_some())) || *count < 5
    });
    run
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn whatever_the_values_of_a_run_are_it_is_shown_in_every_format() {
    let run = small();
    let whole = serde_json::to_value(&run).unwrap();
    let mut draw = Mutator::new(0x5eed);
    let mut read = 0;
    for trial in 0..trials(150) {
        let mut document = whole.clone();
        draw.document(&mut document);
        let Ok(hostile) = serde_json::from_value::<Run>(document.clone()) else { continue };
        read += 1;
        #[expect(clippy::disallowed_methods, reason = "bounds a wait")]
        let begin = Instant::now();
        let text = document.to_string();
        let shown = std::panic::catch_unwind(|| show(&hostile, &run, trial));
        let name = || {
            let file = std::env::temp_dir().join(format!("hostmark-hostile-{trial}.json"));
            let _ = std::fs::write(&file, &text);
            file
        };
        assert!(shown.is_ok(), "trial {trial}: {}", name().display());
        assert!(begin.elapsed() < ENDLESS, "trial {trial}: {}", name().display());
    }
    assert!(read > trials(150) / 4, "only {read} could be read");
}

fn show(hostile: &Run, other: &Run, trial: usize) {
    let lang = if trial.is_multiple_of(2) { Lang::En } else { Lang::Zh };
    let options = RenderOptions { lang, verbose: trial % 4 < 2, ..RenderOptions::default() };
    consistency::sentence(hostile);
    let mut again = hostile.clone();
    again.findings = findings(hostile);
    for format in export::FORMATS {
        steers_nothing(format.name, &format.render_one(&again, &options));
    }
    let pool = |run| Pool { name: "a", runs: std::slice::from_ref(run) };
    let comparison = Comparison::of(pool(other), &[pool(&again)], &History::default(), SAME);
    for format in export::comparison::FORMATS {
        steers_nothing(format.name, &(format.render)(&comparison, &options));
    }
    if let Some(both) = export::format_named("html").and_then(|html| html.render(&[again, other.clone()], &options)) {
        steers_nothing("html of both", &both);
    }
}

fn steers_nothing(format: &str, text: &str) {
    assert!(format != "html" || text.matches("<script").count() == 1, "{format}: text of the file is markup");
    assert!(!text.chars().any(|c| c != '\n' && steers(c)), "{format}");
}
