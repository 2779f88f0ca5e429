//! What was measured, where and how: the runs' settings and their hosts, side by side.

use hostmark_analysis::duration::duration_s;
use hostmark_analysis::findings::host::host_findings;
use hostmark_analysis::format::{unit_name, value};
use hostmark_analysis::guest;
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::trust;
use hostmark_model::{Disturbed, HostReport, HostWeight, Lang, Run, Unit, counted};
use serde::Serialize;

use super::bilingual::{Words, each, fixed, same};
use super::gather::Runs;
use crate::render::console::header::{warnings, whole_seconds};
use crate::render::host::blocks;
use crate::views;

/// A table of facts: a column a run.
#[derive(Debug, Serialize)]
pub(super) struct Block {
    title: Words,
    rows: Vec<Fact>,
}

#[derive(Debug, Serialize)]
struct Fact {
    label: Words,
    /// One for each run, or a single one where all say the same.
    cells: Vec<Words>,
    differs: bool,
}

/// What a run's reader must know first.
#[derive(Debug, Serialize)]
pub(super) struct Head {
    pub(super) letter: String,
    pub(super) host: String,
    pub(super) name: String,
    machine: Words,
    /// How far it can be trusted.
    verdict: Option<Verdict>,
    /// What disturbed it and how it ended.
    pub(super) warnings: Vec<Words>,
    /// What its host's facts mean for its values.
    pub(super) conditions: Vec<Condition>,
}

/// How far a run can be trusted: the grade, what it promises, and why it is no better.
#[derive(Debug, Serialize)]
struct Verdict {
    grade: &'static str,
    promise: Words,
    reasons: Vec<Words>,
}

/// Something about the host that disturbs or shifts values.
#[derive(Debug, Serialize)]
pub(super) struct Condition {
    disturbs: bool,
    effect: Words,
    cure: Words,
}

/// The head of each run.
pub(super) fn heads(runs: &Runs) -> Vec<Head> {
    let head = |(index, run): (usize, &Run)| {
        let [en, zh] = &runs.views[index];
        let (en, zh) = (warnings(en), warnings(zh));
        let conditions = host_findings(&run.host, &Disturbed { load: run.host.activity.load, ..Disturbed::default() });
        Head {
            letter: run_letter(index),
            host: run.host.hostname.clone(),
            name: run.name.clone(),
            machine: machine(run),
            verdict: run.trust.as_ref().map(|trust| Verdict {
                grade: trust.grade.letter(),
                promise: trust::promise(trust),
                reasons: trust.doubts.iter().map(trust::doubted).collect(),
            }),
            warnings: en.into_iter().zip(zh).map(|(en, zh)| Words { en: en.en, zh: zh.zh }).collect(),
            conditions: (conditions.into_iter().filter(|finding| finding.weight != HostWeight::Note))
                .map(|finding| Condition {
                    disturbs: matches!(finding.weight, HostWeight::Disturbs | HostWeight::Unknown),
                    effect: finding.effect,
                    cure: finding.cure,
                })
                .collect(),
        }
    };
    runs.all.iter().enumerate().map(head).collect()
}

/// Model, CPUs, memory, kernel and hypervisor in one line.
fn machine(run: &Run) -> Words {
    let host = &run.host;
    each(|lang| {
        let mut parts: Vec<String> = host.cpu.named_model().into_iter().collect();
        let online = host.cpus.iter().filter(|cpu| cpu.online).count();
        if online > 0 {
            parts.push(if lang == Lang::Zh { format!("{online} 个 CPU") } else { counted(online, "CPU") });
        }
        if host.memory.total_bytes > 0 {
            parts.push(value(host.memory.total_bytes as f64, Unit::Bytes, lang));
        }
        parts.extend(host.kernel.named());
        parts.extend(host.virtualization.hypervisor.as_ref().map(|name| match lang {
            Lang::En => format!("{name} guest"),
            Lang::Zh => format!("{name} 虚拟机"),
        }));
        parts.join(" · ")
    })
}

/// Settings, then the host's facts, a column for each run.
pub(super) fn tables(runs: &[&Run]) -> Vec<Block> {
    let mut all = vec![settings(runs), virtual_machine(runs)];
    let of_run = |run: &Run| {
        let report = HostReport {
            schema: HostReport::SCHEMA.to_owned(),
            host: run.host.clone(),
            disturbed: Disturbed::default(),
            findings: Vec::new(),
        };
        [Lang::En, Lang::Zh].map(|lang| blocks(&report, lang))
    };
    let hosts: Vec<_> = runs.iter().copied().map(of_run).collect();
    let [first, _] = match hosts.first() {
        Some(first) => first,
        None => return all,
    };
    for (place, block) in first.iter().enumerate() {
        let title = Words { en: sentence(block.title), zh: hosts[0][1][place].title.to_owned() };
        let mut rows = Vec::new();
        for (at, (label, _)) in block.rows.iter().enumerate() {
            let cell = |[en, zh]: &[Vec<_>; 2]| Words { en: told(&en[place], at), zh: told(&zh[place], at) };
            rows.extend(fact(fixed(*label), hosts.iter().map(cell).collect()));
        }
        all.push(Block { title, rows });
    }
    all.retain(|block| !block.rows.is_empty());
    all
}

/// The facts of a row behind each other.
fn told(block: &crate::render::host::Block, row: usize) -> String {
    let facts = block.rows.get(row).map(|(_, facts)| facts.as_slice()).unwrap_or_default();
    let facts: Vec<&str> = facts.iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
    facts.join(" · ")
}

/// `MEMORY` as `Memory`; abbreviations stay.
fn sentence(title: &str) -> String {
    if title.len() <= 3 {
        return title.to_owned();
    }
    let mut chars = title.chars();
    chars.next().map(|first| first.to_string() + &chars.as_str().to_lowercase()).unwrap_or_default()
}

/// A row, unless no run has anything to say.
fn fact(label: Words, cells: Vec<Words>) -> Option<Fact> {
    if cells.iter().all(|cell| cell.en.is_empty()) {
        return None;
    }
    let differs = cells.windows(2).any(|pair| pair[0] != pair[1]);
    let filled = |cell: Words| if cell.en.is_empty() { same("–") } else { cell };
    Some(Fact { label, differs, cells: cells.into_iter().map(filled).collect() })
}

fn settings(runs: &[&Run]) -> Block {
    let mut rows = Vec::new();
    let mut row = |en: &str, zh: &str, of: &dyn Fn(&Run) -> Words| {
        let label = Words { en: en.to_owned(), zh: zh.to_owned() };
        rows.extend(fact(label, runs.iter().copied().map(of).collect()));
    };
    let measured = |run: &Run| run.imported.is_none();
    row("run", "运行", &|run| same(&run.name));
    row("note", "备注", &|run| same(run.note.clone().unwrap_or_default()));
    row("host", "主机", &|run| same(&run.host.hostname));
    row("measured at", "测量位置", &|run| same(run.place.clone().unwrap_or_default()));
    row("imported from", "导入自", &|run| {
        same(run.imported.as_ref().map(|from| from.file.clone()).unwrap_or_default())
    });
    row("started", "开始时间", &|run| same(&run.started));
    row("took", "用时", &|run| same(duration_s(run).and_then(whole_seconds).unwrap_or_default()));
    row("profile", "档位", &|run| if measured(run) { fixed(views::profile(run.settings.profile)) } else { same("") });
    row("cases × rounds", "用例 × 轮", &|run| same(format!("{} × {}", run.cases.len(), run.settings.rounds)));
    row("only", "筛选", &|run| same(run.settings.filters.join(" ")));
    row("table", "表", &|run| same(run.settings.table.clone().unwrap_or_default()));
    row("settings", "设置", &|run| {
        let set: Vec<String> = run.settings.set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        same(set.join(" "))
    });
    row("seed", "随机种子", &|run| {
        if measured(run) { same(format!("{:#x}", run.settings.seed)) } else { same("") }
    });
    row("clock", "时钟", &|run| {
        let clock = &run.settings.clock;
        each(|lang| match measured(run) {
            true => format!("{} {}", clock.source, value(clock.hz, Unit::Hertz, lang)),
            false => String::new(),
        })
    });
    row("measuring CPU", "测量所用 CPU", &|run| {
        if measured(run) { same(run.settings.cpu.to_string()) } else { same("") }
    });
    row("program", "程序", &|run| {
        let tool = &run.tool;
        let linked = if tool.is_static { ", static" } else { "" };
        same(format!("hostmark {}, {}, {}{linked}", tool.version, tool.target, tool.libc))
    });
    row("program's SHA-256", "程序的 SHA-256", &|run| same(run.tool.digest.clone().unwrap_or_default()));
    Block { title: Words { en: "Run and settings".to_owned(), zh: "运行与设置".to_owned() }, rows }
}

/// The virtual machines that the runs were measured in.
fn virtual_machine(runs: &[&Run]) -> Block {
    let of_run = |run: &Run| run.guest.as_ref().map(|guest| guest::facts(guest, true)).unwrap_or_default();
    let all: Vec<Vec<(Words, Words)>> = runs.iter().copied().map(of_run).collect();
    let mut labels: Vec<&Words> = Vec::new();
    for (label, _) in all.iter().flatten() {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let says = |label: &Words, facts: &Vec<(Words, Words)>| {
        facts.iter().find(|(known, _)| known == label).map(|(_, says)| says.clone()).unwrap_or_default()
    };
    let row = |label: &Words| fact(label.clone(), all.iter().map(|facts| says(label, facts)).collect());
    let title = Words { en: "Virtual machine".to_owned(), zh: "虚拟机".to_owned() };
    Block { title, rows: labels.into_iter().filter_map(row).collect() }
}

/// The name of a unit for a table's head.
pub(super) fn unit(of: Unit) -> Words {
    each(|lang| unit_name(of, lang).to_owned())
}
