//! The table that STREAM 5.10 prints, from the passes of memory.stream or from what STREAM itself printed: best rate, mean,
//! least and greatest time.

use std::fmt::Write;

use hostmark_analysis::escape::visible;
use hostmark_analysis::format::{other, plus_minus};
use hostmark_analysis::groups::grouped;
use hostmark_analysis::short_arrays::short_arrays;
use hostmark_analysis::stream_times::{KERNEL, KERNELS, PROBE, Times, number, passes};
use hostmark_model::imported::stream as imported;
use hostmark_model::{CaseRecord, Leading, Outcome, Params, Run, counted};

use super::{ExportFormat, Render};
use crate::RenderOptions;

/// Format for scripts that read STREAM's output, and for eyes that know it.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "stream",
    description: term!("the table of STREAM 5.10, of memory.stream"),
    render: Render::One(render),
};

const RULE: &str = "-------------------------------------------------------------\n";

/// Cases that the table shows: of our own probe and of what STREAM itself printed.
fn cases(run: &Run) -> impl Iterator<Item = &CaseRecord> {
    run.cases.iter().filter(|case| case.probe == PROBE || case.probe == imported::PROBE)
}

/// Tells whether the table shows anything of a run.
pub(super) fn is_in(run: &Run) -> bool {
    cases(run).next().is_some()
}

fn render(run: &Run, _: &RenderOptions) -> String {
    let rest = |case: &CaseRecord| Params(case.params.0.iter().filter(|(axis, _)| axis != KERNEL).cloned().collect());
    let tables = grouped(cases(run).map(|case| ((&case.probe, rest(case)), case)));
    if tables.is_empty() {
        return format!("This run has no case of {PROBE}; measure it by `hostmark run {PROBE}`.\n");
    }
    tables.iter().map(|((_, rest), cases)| table(rest, cases)).collect::<Vec<String>>().join("\n")
}

fn table(rest: &Params, cases: &[&CaseRecord]) -> String {
    let mut text = String::from(RULE);
    // Writing to a string cannot fail.
    let points: Vec<String> = rest.0.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    let probe = cases.first().map_or(PROBE, |case| case.probe.as_str());
    let _ = writeln!(text, "{probe}: {}", visible(&points.join(", ")));
    // What STREAM itself was told stands in the case's id.
    let noted = |key: &str| {
        let noted = cases.iter().find_map(|case| number(case.measured()?, key));
        noted.or_else(|| rest.get(key)?.parse().ok())
    };
    if let Some(elements) = noted("elements") {
        let mib = elements * noted("element").unwrap_or(8.0) / f64::from(1 << 20);
        let _ = writeln!(text, "Array size = {elements} (elements), memory per array = {mib:.1} MiB");
    }
    if let Some(short) = cases.iter().find_map(|case| short_arrays(case.measured()?)) {
        let _ = writeln!(text, "NOT BY STREAM'S RULE: {short}");
    }
    if let Some(threads) = noted("threads") {
        let _ = writeln!(text, "Number of Threads counted = {threads}");
    }
    let kernels: Vec<String> = (KERNELS.iter())
        .filter_map(|(kernel, label, _)| {
            let case = cases.iter().find(|case| case.params.get(KERNEL) == Some(kernel))?;
            Some(format!("{label} {}", visible(case.measured()?.notes.get(KERNEL)?)))
        })
        .collect();
    if !kernels.is_empty() {
        let _ = writeln!(text, "Instructions by function = {}", kernels.join(", "));
    }
    text.push_str(RULE);
    text.push_str("Function    Best Rate MB/s  Avg time     Min time     Max time\n");
    for (kernel, label, bytes) in KERNELS {
        let Some(case) = cases.iter().find(|case| case.params.get(KERNEL) == Some(kernel)) else { continue };
        let _ = match &case.outcome {
            Outcome::Measured(measured) => match Times::of(measured, bytes) {
                Some(Times { best, mean, least, greatest }) => {
                    writeln!(text, "{label:<11}{best:12.1}  {mean:11.6}  {least:11.6}  {greatest:11.6}")
                }
                None => writeln!(text, "{label:<11} the run does not tell how many elements a pass had"),
            },
            Outcome::Skipped { reason } => writeln!(text, "{label:<11} skipped: {}", visible(reason)),
            Outcome::Failed { reason } => writeln!(text, "{label:<11} failed: {}", visible(reason)),
        };
    }
    text.push_str(RULE);
    // What STREAM itself measured is as valid as it said.
    let validation = |case: &&CaseRecord| {
        let own = "Solution Validates: error less than 1.000000e-13 on every element";
        let measured = case.measured()?;
        if case.probe == PROBE { Some(own.into()) } else { measured.notes.get(imported::VALIDATION).cloned() }
    };
    if let Some(validation) = cases.iter().find_map(validation) {
        let _ = writeln!(text, "{}", visible(&validation));
        text.push_str(RULE);
    }
    text + &values(cases)
}

/// STREAM's rates are those of the best pass; this line has the values of all passes, and how sure they are.
fn values(cases: &[&CaseRecord]) -> String {
    let of_kernel = |(kernel, label, _): &(&str, &str, f64)| {
        let case = cases.iter().find(|case| case.params.get(KERNEL) == Some(kernel) && case.probe == PROBE)?;
        let estimate = &case.measured()?.estimate;
        let sure = plus_minus(estimate).unwrap_or_else(|| "without an interval".to_owned());
        let other =
            other(estimate).map(|(name, other)| format!(" ({} {:.1})", name.en, other / 1e6)).unwrap_or_default();
        Some(format!("{} {:.1} {sure}{other}", label.trim_end_matches(':'), estimate.value() / 1e6))
    };
    let values: Vec<String> = KERNELS.iter().filter_map(of_kernel).collect();
    if values.is_empty() {
        return String::new();
    }
    let leads = |case: &&CaseRecord| case.measured().is_some_and(|one| one.estimate.estimator() == Leading::Quiet);
    let what = if cases.iter().any(leads) { "Quiet value" } else { "Typical value, the median of the rounds" };
    format!(
        "MB are 10^6 bytes. {}\n{what}, with its 95 % interval, MB/s:\n{}\n{RULE}",
        best_of(cases),
        values.join(", ")
    )
}

/// Number of passes behind the best rate: the more there are, the higher it is.
fn best_of(cases: &[&CaseRecord]) -> String {
    let of_case = |case: &&CaseRecord| passes(case.measured()?);
    let all = || cases.iter().filter_map(of_case);
    let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    let of = if least == most { counted(most, "pass") } else { format!("{least} to {most} passes") };
    format!("Best Rate is that of the best of {of}; STREAM 5.10 takes the best of 9.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostmark_model::{HostFacts, load_run};
    use serde_json::{Value, json};

    fn case(kernel: &str, outcome: Value) -> Value {
        json!({ "id": format!("memory.stream@kernel={kernel},store=plain,threads=all"), "probe": "memory.stream",
                "params": { "kernel": kernel, "store": "plain", "threads": "all" }, "outcome": outcome })
    }

    /// Builds a measurement: of several rounds a median with its interval, 2 % to each side.
    fn measured(samples: &Value) -> Value {
        let rounds = samples.as_array().unwrap();
        let median = rounds.iter().map(|round| round[0].as_f64().unwrap()).sum::<f64>() / rounds.len() as f64;
        let (low, high) = if rounds.len() > 1 { (Some(median * 0.98), Some(median * 1.02)) } else { (None, None) };
        json!({ "measured": {
            "estimate": { "typical": median, "ci_low": low, "ci_high": high, "confidence": 0.95, "method": "none", "min": 1.0,
                          "max": 1.0, "mean": 1.0, "stddev": 0.0, "mad": 0.0, "best_round": 1.0, "n": 1, "rounds": 1 },
            "also": {}, "samples": samples, "rounds": [],
            "noise": { "tainted": 0, "left_out": 0, "run_delay_ns": 0.0, "steal_ns": null, "involuntary_switches": 0,
                       "faults": 0, "unsettled_rounds": 0 },
            "notes": { "elements": "30000000", "threads": "4", "kernel": "nt-avx2" }, "flags": [],
        } })
    }

    fn text(cases: &Value) -> String {
        let run = json!({
            "schema": "hostmark.run/1", "id": "i", "name": "n", "started": "s", "finished": null,
            "tool": { "version": "1", "target": "t", "libc": "l", "static": false },
            "settings": { "profile": "quick", "seed": 1, "filters": [], "rounds": 3, "limit_s": 60.0, "cpu": 0, "set": {},
                          "clock": { "source": "tsc", "hz": 1.0, "reason": null, "drift": null } },
            "host": HostFacts::default(), "disturbances": [], "findings": [], "probes": [], "cases": cases,
        });
        render(&load_run(&run.to_string()).unwrap(), &RenderOptions::default())
    }

    #[test]
    fn the_table_is_that_of_stream() {
        let text = text(&json!([
            // 480 MB in 10 and in 30 ms: 48 and 16 GB/s, whose mean would be 32 GB/s and 15 ms.
            case("copy", measured(&json!([[48e9], [16e9]]))),
            case("triad", measured(&json!([[36e9]]))),
            case("scale", json!({ "skipped": { "reason": "no time left" } })),
            case("add", json!({ "failed": { "reason": "3 elements are wrong" } })),
        ]));
        let expected = "\
-------------------------------------------------------------
memory.stream: store=plain, threads=all
Array size = 30000000 (elements), memory per array = 228.9 MiB
Number of Threads counted = 4
Instructions by function = Copy: nt-avx2, Triad: nt-avx2
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           48000.0     0.020000     0.010000     0.030000
Scale:      skipped: no time left
Add:        failed: 3 elements are wrong
Triad:          36000.0     0.020000     0.020000     0.020000
-------------------------------------------------------------
Solution Validates: error less than 1.000000e-13 on every element
-------------------------------------------------------------
MB are 10^6 bytes. Best Rate is that of the best of 1 to 2 passes; STREAM 5.10 takes the best of 9.
Typical value, the median of the rounds, with its 95 % interval, MB/s:
Copy 32000.0 ±2.0 %, Triad 36000.0 without an interval
-------------------------------------------------------------
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_run_without_it_says_how_to_measure_it() {
        assert_eq!(
            text(&json!([])),
            "This run has no case of memory.stream; measure it by `hostmark run memory.stream`.\n"
        );
    }

    #[test]
    fn passes_of_an_unknown_length_have_no_time() {
        let mut one = measured(&json!([[48e9]]));
        one["measured"]["notes"] = json!({});
        assert!(text(&json!([case("copy", one)])).contains("does not tell"));
    }
}
