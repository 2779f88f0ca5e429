//! `hostmark run --dry-run`: what would be measured, and how long it would take.

use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::escape::visible;
use hostmark_analysis::reasons::localized;
use hostmark_analysis::{format, spoken};
use hostmark_engine::Eta;
use hostmark_engine::plan::Plan;
use hostmark_model::{Exit, HostFacts, Lang, MemoryLook, Text, Unit};
use hostmark_present::RenderOptions;
use hostmark_present::wrap::hanging;
use hostmark_say::say;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::command::measure;
use crate::command::measure::inputs::settings_set;
use crate::language::refuse;
use crate::{output, shown};

/// Number of measured and skipped cases of a probe or group.
#[derive(Default, Clone, Copy)]
struct Count {
    measured: usize,
    skipped: usize,
    expected: Duration,
}

/// Columns of a count and of a time, with what parts them from what stands before.
const COUNTED: usize = 9;

pub fn show((plan, host): &(Plan, HostFacts), of_table: Option<&str>, format: &str, lang: Lang) -> Result<Exit> {
    let look = host.memory_look.as_ref();
    let text = match format {
        "table" => table(plan, look, of_table, &output::options(lang, false)),
        "json" => output::json(&serde_json::to_string_pretty(&value(plan, look, of_table))?),
        _ => refuse!("a plan cannot be shown as {format}; give --format table or json"),
    };
    output::print(&text);
    match measure::of_plan(plan) {
        Some(nothing) => Err(nothing),
        None => Ok(Exit::Fine),
    }
}

/// The selected probes with their groups, in catalogue order.
fn counts(plan: &Plan, eta: &Eta) -> Vec<(&'static str, String, Count)> {
    let count = |id: &String| {
        let of_probe = plan.cases.iter().filter(|case| case.id.probe == *id);
        let mut count = Count { expected: eta.of_cases(plan, of_probe), ..Count::default() };
        for case in plan.cases.iter().filter(|case| case.id.probe == *id) {
            *if case.skip.is_some() { &mut count.skipped } else { &mut count.measured } += 1;
        }
        count
    };
    plan.selected.iter().map(|entry| (entry.group, entry.id(), count(&entry.id()))).collect()
}

fn groups(counts: &[(&'static str, String, Count)]) -> Vec<(&'static str, Count)> {
    let mut groups: Vec<(&str, Count)> = Vec::new();
    for (group, _, count) in counts {
        if groups.last().is_none_or(|(last, _)| last != group) {
            groups.push((group, Count::default()));
        }
        if let Some((_, sum)) = groups.last_mut() {
            sum.measured += count.measured;
            sum.skipped += count.skipped;
            sum.expected += count.expected;
        }
    }
    groups
}

fn value(plan: &Plan, look: Option<&MemoryLook>, of_table: Option<&str>) -> serde_json::Value {
    let eta = Eta::of(plan);
    let counts = counts(plan, &eta);
    let seconds = |time: Duration| time.as_secs_f64();
    let counted = |name: &str, of: &str, count: &Count| {
        json!({ name: of, "cases": count.measured, "skipped": count.skipped,
                "expected_s": seconds(count.expected) })
    };
    let probe = |(_, id, count): &(_, String, Count)| {
        let mut counted = counted("probe", id, count);
        if !plan.brought_by(id).is_empty() {
            counted["brought_by"] = json!(plan.brought_by(id));
        }
        counted
    };
    let case = |case: &hostmark_engine::plan::PlannedCase| {
        let id = case.id.to_string();
        match &case.skip {
            Some(reason) => json!({ "id": id, "skipped": reason }),
            None => json!({ "id": id, "cpus": case.cpus, "rounds": plan.rounds_of(case),
                            "expected_s": seconds(eta.of_cases(plan, [case])) }),
        }
    };
    json!({
        "profile": plan.request.profile,
        "seed": plan.request.seed,
        "filters": plan.request.filters,
        "table": of_table,
        "memory_look": look,
        "set": settings_set(&plan.request),
        "limit_s": seconds(plan.profile_limits().limit),
        "rounds": eta.rounds,
        "least_rounds": eta.least_rounds,
        "expected_s": seconds(eta.in_all()),
        "fits": eta.fits(),
        "groups": groups(&counts).iter().map(|(group, count)| counted("group", group, count)).collect::<Vec<_>>(),
        "probes": counts.iter().map(probe).collect::<Vec<_>>(),
        "derived": plan.derived.iter().map(|entry| entry.id()).collect::<Vec<_>>(),
        "cases": plan.cases.iter().map(case).collect::<Vec<_>>(),
    })
}

fn title(look: Option<&MemoryLook>, lang: Lang) -> String {
    let but = look.map(|look| format::value(look.first_touch_bytes_per_s, Unit::BytesPerSecond, lang));
    let sentence = match but {
        None => say!("Nothing is measured; this would be:"),
        Some(rate) => say!("Nothing is measured but the first touch of memory, {rate}; this would be:"),
    };
    spoken(&sentence, lang)
}

fn table(plan: &Plan, look: Option<&MemoryLook>, of_table: Option<&str>, options: &RenderOptions) -> String {
    const TIGHT: Text = term!("The limit has no room for all rounds: some cases would be skipped.");
    let (lang, width) = (options.lang, options.width);
    let eta = Eta::of(plan);
    let counts = counts(plan, &eta);
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let mut text = hanging("", &title(look, lang), width);
    if let Some(name) = of_table {
        text += &format!("{} {name}\n", term!("table").say(lang));
    }
    let rounds = match (eta.least_rounds, eta.rounds) {
        (least, rounds) if least < rounds => say!("{least} to {rounds} rounds"),
        (_, rounds) => say!("{rounds:round}"),
    };
    let (time, limit, seed) = (seconds(eta.in_all()), plan.profile_limits().limit.as_secs(), plan.request.seed);
    let sentence =
        spoken(&say!("{cases:case} × {rounds}, ≈ {time} of {limit} s   seed {seed:#x}", cases = eta.cases), lang);
    text += &hanging("", &sentence, width);
    if !eta.fits() {
        text += &hanging("", TIGHT.get(lang), width);
    }
    text += "\n";
    let names = counts.iter().map(|(_, id, _)| id.len() + 2).max().unwrap_or_default();
    // Where they do not stand beside each other, a name has a line of its own.
    let row = |name: &str, cells: [String; 3]| {
        let [cases, skips, time] = cells.map(|cell| " ".repeat(COUNTED.saturating_sub(cell.width())) + &cell);
        let lead = if names + 3 * COUNTED > width { format!("{name}\n") } else { format!("{name:<names$}") };
        format!("{}\n", format!("{lead}{cases}{skips}{time}").trim_end())
    };
    let counted = |name: &str, count: &Count| {
        let skips = if count.skipped > 0 { count.skipped.to_string() } else { String::new() };
        row(name, [count.measured.to_string(), skips, seconds(count.expected)])
    };
    text +=
        &row("", [term!("cases").say(lang), term!("skipped").say(lang), term!("time").say(lang)].map(str::to_owned));
    for (group, sum) in groups(&counts) {
        text += &format!("\n{}", counted(group, &sum));
        for (_, id, count) in counts.iter().filter(|(own, ..)| *own == group) {
            if plan.derived.iter().any(|entry| entry.id() == *id) {
                text += &hanging("  ", &format!("{id}   {}", term!("computed from others").say(lang)), width);
                continue;
            }
            text += &counted(&format!("  {id}"), count);
            let brought_by = plan.brought_by(id).join(", ");
            if !brought_by.is_empty() {
                let for_whom = term!("only what is needed for ").say(lang);
                text += &hanging("    ", &format!("{for_whom}{brought_by}"), width);
            }
            for case in plan.cases.iter().filter(|case| case.id.probe == *id) {
                let what = match &case.skip {
                    Some(reason) => format!("{}{}", term!("skipped: ").say(lang), localized(reason, lang)),
                    None => seconds(eta.of_cases(plan, [case])),
                };
                let case = shown::case_id(&case.id.to_string());
                text += &hanging("    ", &format!("{case}   {}", visible(&what)), width);
            }
        }
    }
    text
}
