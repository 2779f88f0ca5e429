//! Every page for a terminal keeps its width, from 60 to 200 columns, in both languages, and parts no number from its unit.

use hostmark_analysis::compare::{Comparison, History, Pool, SAME};
use hostmark_analysis::findings::host::host_report;
use hostmark_model::{Disturbed, Lang, Outcome, Run};
use hostmark_present::RenderOptions;
use hostmark_present::export::{comparison, format_named};
use hostmark_present::render::{handbook, host};
use unicode_width::UnicodeWidthStr;

use crate::synthetic::*;
use crate::thorough;

const WIDTHS: [usize; 7] = [60, 72, 80, 100, 132, 160, 200];

/// Formats for a terminal that show one run. One form is as its author's program prints it, whatever the width: stream.
const OF_ONE: [&str; 7] = ["answer", "table", "memory-bandwidth", "size-stride", "pipe", "lmbench", "data-path"];

/// A run with everything: one that is like those of machines, one of a large machine with pairs of CPUs, and those whose texts are
/// odd or mean.
fn runs() -> Vec<(&'static str, Run)> {
    let named = |name: &str, mut run: Run| {
        run.name = name.to_owned();
        run
    };
    vec![
        ("plausible", named("before", plausible())),
        ("thorough", named("20261125T030221Z-a-host-of-a-long-name-7238", thorough::thorough())),
        ("pairs", named("pairs", thorough::with_charts(thorough::thorough(), 12))),
        ("hostile", named("hostile", thorough::hostile())),
        ("odd", named("odd", thorough::odd())),
        ("empty", named("empty", empty())),
    ]
}

fn every(check: impl Fn(RenderOptions)) {
    for lang in [Lang::En, Lang::Zh] {
        for width in WIDTHS {
            // What is shown of everything is as wide as its rows are: the narrowest tells.
            for verbose in [false, true].into_iter().take(if width == 60 { 2 } else { 1 }) {
                check(RenderOptions { width, lang, verbose, color: false });
            }
        }
    }
}

#[track_caller]
fn assert_fits(what: &str, text: &str, options: &RenderOptions) {
    for line in text.lines() {
        assert!(
            line.width() <= options.width,
            "{what}, {} columns, {:?}: {} wide\n{line}",
            options.width,
            options.lang,
            line.width()
        );
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn every_page_of_a_run_keeps_its_width() {
    for (name, run) in runs() {
        every(|options| {
            // The other formats have the same values of all of these.
            let formats = if ["thorough", "odd"].contains(&name) { &OF_ONE[..] } else { &OF_ONE[..2] };
            for format in formats {
                let text = format_named(format).unwrap().render_one(&run, &options);
                assert_fits(&format!("{format} of {name}"), &text, &options);
            }
        });
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn every_page_of_several_runs_keeps_its_width() {
    let runs: Vec<Run> = runs().into_iter().map(|(_, run)| run).collect();
    let many: Vec<Run> = runs.iter().chain(&runs).cloned().collect();
    every(|options| {
        for format in ["hosts", "overhead", "lmbench"] {
            for some in [&runs[..2], &many].into_iter().take(if options.width == 60 { 2 } else { 1 }) {
                assert_fits(format, &format_named(format).unwrap().render(some, &options).unwrap(), &options);
            }
        }
    });
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_comparison_keeps_its_width() {
    let slower = |mut run: Run| {
        for case in &mut run.cases {
            if let Outcome::Measured(measured) = &mut case.outcome {
                measured.estimate.typical *= 1.5;
                measured.rounds.iter_mut().for_each(|round| round.median *= 1.5);
            }
        }
        run
    };
    for (name, base) in &runs() {
        let new = slower(base.clone());
        let pool = |run| Pool { name, runs: std::slice::from_ref(run) };
        let compared = Comparison::of(pool(base), &[pool(&new)], &History::default(), SAME);
        every(|options| assert_fits(name, &(comparison::FORMATS[0].render)(&compared, &options), &options));
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_host_and_the_handbook_keep_their_width() {
    for (name, run) in runs() {
        let report = host_report(run.host.clone(), Disturbed::default());
        every(|options| {
            assert_fits(name, &host::host(&report, &options), &options);
            // The handbook is of the program's own probes, whose texts nobody else writes.
            if !["hostile", "odd"].contains(&name) {
                assert_fits(name, &handbook::contents(&run.probes, &options), &options);
                assert_fits(name, &handbook::pages(&run.probes, &options), &options);
            }
        });
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn no_number_is_parted_from_its_unit_by_the_end_of_a_line() {
    const UNITS: [&str; 12] = ["ns", "µs", "ms", "s", "%", "KiB", "MiB", "GiB", "GB/s", "MB/s", "GHz", "秒"];
    let ends_with_number = |line: &str| {
        let last = line.trim_end().rsplit(' ').next().unwrap_or_default();
        !last.is_empty()
            && last.chars().all(|c| c.is_ascii_digit() || ".±<≈≤−".contains(c))
            && last.ends_with(|c: char| c.is_ascii_digit())
    };
    let begins_with_unit = |line: &str| {
        let first =
            line.trim_start().split([' ', ',', '，', ';', '；', '.', '。', ':', ')']).next().unwrap_or_default();
        UNITS.contains(&first)
    };
    for (name, run) in runs().into_iter().filter(|(name, _)| ["plausible", "thorough"].contains(name)) {
        every(|options| {
            if options.width > 100 || options.verbose {
                return;
            }
            for format in ["answer", "table"] {
                let text = format_named(format).unwrap().render_one(&run, &options);
                let lines: Vec<&str> = text.lines().collect();
                for pair in lines.windows(2) {
                    let is_parted = ends_with_number(pair[0]) && begins_with_unit(pair[1]);
                    assert!(!is_parted, "{format} of {name}, {} columns:\n{}\n{}", options.width, pair[0], pair[1]);
                }
            }
        });
    }
}
