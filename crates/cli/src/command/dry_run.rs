//! `hostmark run --dry-run`: what would be measured, and how long it would take.

use std::time::Duration;

use anyhow::{Result, bail};
use hostmark_engine::Eta;
use hostmark_engine::plan::Plan;
use hostmark_model::{Exit, Lang, Text};
use serde_json::json;

use super::inputs::settings_set;
use crate::output;

/// How many cases of a probe or group are measured, and how many skipped.
#[derive(Default, Clone, Copy)]
struct Count {
    measured: usize,
    skipped: usize,
    expected: Duration,
}

/// Prints the plan.
pub fn show(plan: &Plan, of_table: Option<&str>, format: &str, lang: Lang) -> Result<Exit> {
    let text = match format {
        "table" => table(plan, of_table, lang),
        "json" => output::json(&serde_json::to_string_pretty(&value(plan, of_table))?),
        _ => bail!("a plan cannot be shown as {format}; give --format table or json"),
    };
    output::print(&text);
    Ok(Exit::Fine)
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

fn value(plan: &Plan, of_table: Option<&str>) -> serde_json::Value {
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
        "set": settings_set(&plan.request),
        "limit_s": seconds(plan.profile_limits().limit),
        "rounds": eta.rounds,
        "expected_s": seconds(eta.in_all()),
        "fits": eta.fits(),
        "groups": groups(&counts).iter().map(|(group, count)| counted("group", group, count)).collect::<Vec<_>>(),
        "probes": counts.iter().map(probe).collect::<Vec<_>>(),
        "derived": plan.derived.iter().map(|entry| entry.id()).collect::<Vec<_>>(),
        "cases": plan.cases.iter().map(case).collect::<Vec<_>>(),
    })
}

fn table(plan: &Plan, of_table: Option<&str>, lang: Lang) -> String {
    const TITLE: Text =
        Text { en: "Nothing is measured; this would be:", zh: "不做任何测量；若运行，则为：" };
    const TIGHT: Text = Text {
        en: "The limit has no room for all rounds: some cases would be skipped.",
        zh: "时限容不下全部轮次：部分用例将被略过。",
    };
    let word = |en: &'static str, zh: &'static str| if lang == Lang::Zh { zh } else { en };
    let eta = Eta::of(plan);
    let counts = counts(plan, &eta);
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let row = |name: &str, count: &Count| {
        let time = seconds(count.expected);
        let (cases, skips) = (word("cases", "个用例"), word("skipped", "个略过"));
        format!("{name:<28} {:>5} {cases} {:>5} {skips} {time:>9}\n", count.measured, count.skipped)
    };
    let mut text = format!("{}\n", TITLE.get(lang));
    if let Some(name) = of_table {
        text += &format!("{} {name}\n", word("table", "表"));
    }
    text += &format!(
        "{} {} × {} {}{} / {} s   {} {:#x}\n",
        eta.cases,
        word("cases", "个用例"),
        eta.rounds,
        word("rounds, ≈ ", "轮，≈ "),
        seconds(eta.in_all()),
        plan.profile_limits().limit.as_secs(),
        word("seed", "种子"),
        plan.request.seed
    );
    if !eta.fits() {
        text += &format!("{}\n", TIGHT.get(lang));
    }
    for (group, sum) in groups(&counts) {
        text += &format!("\n{}", row(group, &sum));
        for (_, id, count) in counts.iter().filter(|(own, ..)| *own == group) {
            if plan.derived.iter().any(|entry| entry.id() == *id) {
                text += &format!("  {id:<26} {}\n", word("computed from others", "由其他用例算出"));
                continue;
            }
            text += &row(&format!("  {id}"), count);
            let brought_by = plan.brought_by(id).join(", ");
            if !brought_by.is_empty() {
                text += &format!("    {}{brought_by}\n", word("only what is needed for ", "仅测所需部分，用于 "));
            }
            for case in plan.cases.iter().filter(|case| case.id.probe == *id) {
                let what = match &case.skip {
                    Some(reason) => format!("{}{reason}", word("skipped: ", "略过：")),
                    None => seconds(eta.of_cases(plan, [case])),
                };
                text += &format!("    {}   {what}\n", case.id);
            }
        }
    }
    text
}
