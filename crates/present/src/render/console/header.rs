//! The head of the table: what was measured where, and what disturbed it.

use hostmark_analysis::consistency;
use hostmark_analysis::duration::duration_s;
use hostmark_analysis::escape::visible;
use hostmark_analysis::findings::host::{limits_unseen, yields};
use hostmark_analysis::findings::steal::stolen_ns;
use hostmark_analysis::format::{number, percent, value};
use hostmark_analysis::guest;
use hostmark_analysis::reasons;
use hostmark_analysis::trust;
use hostmark_model::{
    CaseRecord, Event, FlagKind, Gap, Grade, Guest, Imported, Lang, LostRound, OUT_OF_MEMORY, Outcome, Run, Text, Unit,
    counted,
};

use super::page::{Page, Piece, Style};
use super::spent;
use super::view::View;
use crate::views;
use crate::words;

/// Share of disturbed samples, unsettled rounds or stolen time that the run as a whole should know of.
const WORTH_SAYING: f64 = 0.01;

/// How far the clock's rate may move: the calibration itself is no better than this.
const CLOCK_DRIFT: f64 = 1e-4;

/// Writes the head.
pub(super) fn write(view: &View, page: &mut Page) {
    let facts = machine(view);
    page.flow(0, &facts);
    page.flow(0, &settings(view));
    if let Some(line) = spent::line(view.run.time.as_ref(), view.lang).filter(|_| view.verbose) {
        page.paragraph("  ", &line, Style::Dim);
    }
    if let Some(guest) = &view.run.guest {
        page.flow(0, &virtual_machine(guest, view));
    }
    noted(view, page);
    for line in brought_along(view) {
        page.paragraph("  ", &line, Style::Dim);
    }
    if let Some(warning) = guest::warning(view.run) {
        page.paragraph("! ", warning.get(view.lang), Style::Bad);
    }
    if let Some(warning) = contradiction(view) {
        page.paragraph("! ", warning.get(view.lang), Style::Bad);
    }
    grade(view, page);
    let mut ends = Vec::new();
    let mut disturbances = Vec::new();
    how_it_ended(view, Reasons::Below, &mut |en, zh| ends.push(if view.lang == Lang::Zh { zh } else { en }));
    disturbed(view, &mut |en, zh| disturbances.push(if view.lang == Lang::Zh { zh } else { en }));
    for warning in ends.iter().chain(&disturbances) {
        page.paragraph("! ", warning, Style::Warning);
    }
    if !disturbances.is_empty() {
        let advice = page.say(words::WHAT_TO_DO);
        page.paragraph("  ", advice, Style::Dim);
    }
}

/// The head of the answer: what machine it is, whether its values can be believed at all, the grade with so many of its reasons, and
/// how the run ended.
pub(super) fn write_short(view: &View, page: &mut Page, reasons: usize) {
    page.flow(0, &machine(view));
    noted(view, page);
    for warning in guest::warning(view.run).into_iter().chain(contradiction(view)) {
        page.paragraph("! ", warning.get(view.lang), Style::Bad);
    }
    if let Some(trust) = &view.run.trust {
        let left = trust.doubts.len().saturating_sub(reasons);
        graded(&trust::line(trust, left), trust.grade, view, page);
        for doubt in trust.doubts.iter().take(reasons) {
            page.paragraph("  ", trust::doubted(doubt).get(view.lang), grade_style(trust.grade));
        }
    }
    let mut ends = Vec::new();
    how_it_ended(view, Reasons::InFull, &mut |en, zh| ends.push(if view.lang == Lang::Zh { zh } else { en }));
    for end in &ends {
        page.paragraph("! ", end, Style::Warning);
    }
}

/// What a person wrote of the run.
fn noted(view: &View, page: &mut Page) {
    if let Some(note) = &view.run.note {
        page.paragraph(if view.lang == Lang::Zh { "备注：" } else { "note: " }, &visible(note), Style::Plain);
    }
}

/// How far the values can be trusted, why, and what to do.
fn grade(view: &View, page: &mut Page) {
    let Some(trust) = &view.run.trust else { return };
    let lines = trust::lines(trust);
    let Some((first, reasons)) = lines.split_first() else { return };
    graded(first, trust.grade, view, page);
    for line in reasons {
        page.paragraph("  ", line.get(view.lang), grade_style(trust.grade));
    }
}

/// The grade, before what it stands on.
fn graded(line: &Text<String>, grade: Grade, view: &View, page: &mut Page) {
    let line = line.get(view.lang);
    let (lead, text) = line.split_once("  ").map_or((String::new(), line), |(lead, text)| (format!("{lead}  "), text));
    page.paragraph(&lead, text, grade_style(grade));
}

fn grade_style(grade: Grade) -> Style {
    if grade == Grade::A { Style::Plain } else { Style::Warning }
}

/// What a reader must know before the values, without the grade and its reasons.
pub(crate) fn warnings(view: &View) -> Vec<Text<String>> {
    let mut all: Vec<Text<String>> = guest::warning(view.run).into_iter().chain(contradiction(view)).collect();
    how_it_ended(view, Reasons::Below, &mut |en, zh| all.push(Text { en, zh }));
    disturbed(view, &mut |en, zh| all.push(Text { en, zh }));
    all
}

/// What in the run's file cannot be true together.
fn contradiction(view: &View) -> Option<Text<String>> {
    let Text { en, zh } = consistency::warning(view.run)?;
    Some(Text { en: visible(&en), zh: visible(&zh) })
}

/// What was measured.
pub(super) fn machine(view: &View) -> Vec<Piece> {
    let (run, host) = (view.run, &view.run.host);
    let mut facts = vec![Piece::new(tool(run), Style::Heading), Piece::new(&host.hostname, Style::Heading)];
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    let usable = host.usable_cpus().len();
    let model = host.cpu.named_model();
    let mut parts: Vec<String> = model.into_iter().collect();
    if online > 0 {
        // One package and one node are what everybody expects.
        let packages = Some(host.cpu.packages).filter(|packages| *packages > 1);
        parts.push(match (view.lang, packages) {
            (Lang::En, Some(packages)) => format!("{} of {packages} packages", counted(online, "CPU")),
            (Lang::En, None) => counted(online, "CPU"),
            (Lang::Zh, Some(packages)) => format!("{packages} 个封装共 {online} 个 CPU"),
            (Lang::Zh, None) => format!("{online} 个 CPU"),
        });
        if usable < online {
            parts.push(match view.lang {
                Lang::En => format!("{usable} usable"),
                Lang::Zh => format!("可用 {usable} 个"),
            });
        }
        if let Some(quota) = host.limits.cpu_quota.filter(|quota| *quota < usable as f64).map(number) {
            parts.push(match view.lang {
                Lang::En => format!("quota {quota} CPU"),
                Lang::Zh => format!("配额 {quota} 个 CPU"),
            });
        }
    }
    if host.nodes.len() > 1 {
        parts.push(match view.lang {
            Lang::En => format!("{} nodes", host.nodes.len()),
            Lang::Zh => format!("{} 个节点", host.nodes.len()),
        });
    }
    if host.memory.total_bytes > 0 {
        parts.push(value(host.memory.total_bytes as f64, Unit::Bytes, view.lang));
        if let Some(limit) = host.limits.memory_limit_bytes.filter(|limit| *limit < host.memory.total_bytes) {
            let limit = value(limit as f64, Unit::Bytes, view.lang);
            parts.push(match view.lang {
                Lang::En => format!("limit {limit}"),
                Lang::Zh => format!("上限 {limit}"),
            });
        }
    }
    let comma = if view.lang == Lang::Zh { "，" } else { ", " };
    facts.push(Piece::plain(parts.join(comma)));
    facts.extend(host.kernel.named().map(Piece::plain));
    if let Some(hypervisor) = &host.virtualization.hypervisor {
        let name = if hypervisor == "kvm" { "KVM" } else { hypervisor };
        facts.push(Piece::plain(match view.lang {
            Lang::En => format!("{name} guest"),
            Lang::Zh => format!("{name} 虚拟机"),
        }));
    }
    if let Some(container) = &host.virtualization.container {
        facts.push(Piece::plain(match view.lang {
            Lang::En => format!("in {container}"),
            Lang::Zh => format!("{container} 容器"),
        }));
    }
    facts
}

/// The virtual machine that it was measured in.
fn virtual_machine(guest: &Guest, view: &View) -> Vec<Piece> {
    let fact = |(label, says): (Text<String>, Text<String>)| {
        Piece::plain(format!("{} {}", label.get(view.lang), says.get(view.lang)))
    };
    guest::facts(guest, view.verbose).into_iter().map(fact).collect()
}

/// What measured.
fn tool(run: &Run) -> String {
    match &run.imported {
        Some(_) => run.tool.version.clone(),
        None => format!("hostmark {}", run.tool.version),
    }
}

/// Where a run comes from that another tool measured.
fn origin(view: &View, imported: &Imported) -> Vec<Piece> {
    let (file, values) = (&imported.file, view.run.cases.len());
    let mut facts = vec![match view.lang {
        Lang::En => format!("{} imported from {file}, without intervals", counted(values, "value")),
        Lang::Zh => format!("从 {file} 导入 {values} 个值，没有区间"),
    }];
    facts.extend(imported.date.clone());
    facts.extend(view.run.settings.set.iter().map(|(key, value)| format!("{key}={value}")));
    facts.into_iter().map(Piece::plain).collect()
}

/// How it was measured.
fn settings(view: &View) -> Vec<Piece> {
    if let Some(imported) = &view.run.imported {
        return origin(view, imported);
    }
    let (run, settings) = (view.run, &view.run.settings);
    let (cases, rounds, limit) = (run.cases.len(), settings.rounds, settings.limit_s);
    let has_more = run.cases.iter().filter_map(CaseRecord::measured).any(|measured| measured.estimate.rounds > rounds);
    let profile = view.say(views::profile(settings.profile));
    let limit = value(if limit.is_finite() { limit * 1e9 } else { limit }, Unit::Nanoseconds, view.lang);
    let limit = whole_seconds(settings.limit_s).unwrap_or(limit);
    let mut facts = vec![
        match (view.lang, settings.limit_s == 0.0) {
            (Lang::En, true) => format!("{profile}, no time limit"),
            (Lang::Zh, true) => format!("{profile}，不限时"),
            (Lang::En, false) => format!("{profile}, at most {limit}"),
            (Lang::Zh, false) => format!("{profile}，最长 {limit}"),
        },
        match view.lang {
            Lang::En => {
                let (cases, rounds) = (counted(cases, "case"), counted(rounds, "round"));
                format!("{cases} × {rounds}{}", if has_more { " or more" } else { "" })
            }
            Lang::Zh => format!("{cases} 个用例 × {}{rounds} 轮", if has_more { "至少 " } else { "" }),
        },
    ];
    if let Some(seconds) = duration_s(run) {
        let took = whole_seconds(seconds).unwrap_or_default();
        facts.push(match view.lang {
            Lang::En => format!("{}, took {took}", run.started),
            Lang::Zh => format!("{}，用时 {took}", run.started),
        });
    } else {
        facts.push(run.started.clone());
    }
    facts.extend(place(run, view.lang));
    facts.push(match view.lang {
        Lang::En => format!("seed {:#x}", settings.seed),
        Lang::Zh => format!("种子 {:#x}", settings.seed),
    });
    let clock = match settings.clock.source.as_str() {
        "tsc" => "TSC",
        "cntvct" => "CNTVCT",
        source => source,
    };
    let rate = value(settings.clock.hz, Unit::Hertz, view.lang);
    facts.push(match view.lang {
        Lang::En => format!("clock {clock} {rate}"),
        Lang::Zh => format!("时钟 {clock} {rate}"),
    });
    if let Some(table) = &settings.table {
        facts.push(match view.lang {
            Lang::En => format!("only table {table}"),
            Lang::Zh => format!("仅表 {table}"),
        });
    }
    if !settings.filters.is_empty() {
        facts.push(match view.lang {
            Lang::En => format!("only {}", settings.filters.join(" ")),
            Lang::Zh => format!("仅 {}", settings.filters.join(" ")),
        });
    }
    facts.extend(settings.set.iter().map(|(key, value)| format!("{key}={value}")));
    facts.into_iter().map(Piece::plain).collect()
}

/// Where the run was measured, if not where it was ordered.
pub(crate) fn place(run: &Run, lang: Lang) -> Option<String> {
    let place = run.place.as_ref()?;
    Some(match lang {
        Lang::En => format!("measured at '{place}'"),
        Lang::Zh => format!("测量位置：'{place}'"),
    })
}

/// Probes that nobody asked for, by those that are computed from them.
fn brought_along(view: &View) -> Vec<String> {
    let mut by: Vec<(String, Vec<&str>)> = Vec::new();
    for probe in view.run.probes.iter().filter(|probe| !probe.brought_by.is_empty()) {
        let for_whom = probe.brought_by.join(", ");
        match by.iter_mut().find(|(known, _)| *known == for_whom) {
            Some((_, probes)) => probes.push(&probe.id),
            None => by.push((for_whom, vec![&probe.id])),
        }
    }
    let line = |(for_whom, probes): (String, Vec<&str>)| match view.lang {
        Lang::En => format!("also measured for {for_whom}, as far as needed: {}", probes.join(", ")),
        Lang::Zh => format!("为 {for_whom} 附带测量（仅所需部分）：{}", probes.join("、")),
    };
    by.into_iter().map(line).collect()
}

pub(crate) fn whole_seconds(seconds: f64) -> Option<String> {
    match seconds {
        s if !(0.0..1e9).contains(&s) => None,
        s if s >= 120.0 => Some(format!("{:.0} min", s / 60.0)),
        s => Some(format!("{s:.0} s")),
    }
}

/// What could not be estimated again, a sentence each, after who did.
pub(crate) fn again(run: &Run) -> Vec<Text<String>> {
    let Some(again) = &run.again else { return Vec::new() };
    let version = visible(&again.version);
    let head = Text {
        en: format!("estimated again from its recorded rounds by hostmark {version}"),
        zh: format!("由 hostmark {version} 根据已记录的轮次重新估计"),
    };
    let gap = |gap: &Gap| {
        let (en, zh, cases) = (visible(&gap.what.en), visible(&gap.what.zh), gap.cases.len());
        let count = counted(cases, "case");
        Text { en: format!("{en} ({count})"), zh: format!("{zh}（{cases} 个用例）") }
    };
    std::iter::once(head).chain(again.gaps.iter().map(gap)).collect()
}

/// Where a reader finds why a case has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reasons {
    Below,
    InFull,
}

/// Whether all was measured that was to be; a sentence, in both languages, for what was not.
fn how_it_ended(view: &View, reasons: Reasons, say: &mut impl FnMut(String, String)) {
    let run = view.run;
    again(run).into_iter().for_each(|Text { en, zh }| say(en, zh));
    if let Some(why) = &run.interrupted {
        say(format!("this run ended early: {why}"), format!("本次运行提前结束：{}", reasons::told(why, Lang::Zh)));
    } else if run.finished.is_none() {
        say("this run has not finished".into(), "本次运行尚未结束".into());
    }
    let count = |wanted: fn(&Outcome) -> bool| run.cases.iter().filter(|case| wanted(&case.outcome)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed { .. }));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped { .. }));
    if failed > 0 {
        let (all, were) = (counted(run.cases.len(), "case"), if skipped == 1 { "was" } else { "were" });
        let (place, place_zh) = match reasons {
            Reasons::Below => ("each says why below", "原因见下文"),
            Reasons::InFull => ("--full says why", "原因：--full"),
        };
        say(
            format!("{failed} of {all} failed and {skipped} {were} skipped; {place}"),
            format!("{} 个用例中 {failed} 个失败、{skipped} 个已跳过，{place_zh}", run.cases.len()),
        );
    }
}

/// What disturbed the run, a sentence each.
fn disturbed(view: &View, say: &mut impl FnMut(String, String)) {
    let (host, clock) = (&view.run.host, &view.run.settings.clock);
    if let Some(why) = &clock.reason {
        say(
            format!("the clock is {} and not the CPU's counter: {why}", clock.source),
            format!("时钟为 {}，未使用 CPU 计数器：{}", clock.source, reasons::told(why, Lang::Zh)),
        );
    }
    if let Some(drift) = clock.drift.filter(|drift| drift.abs() > CLOCK_DRIFT) {
        let parts = value(drift.abs() * 1e6, Unit::Count, view.lang);
        say(
            format!("the clock's rate moved by {parts} parts in a million during the run"),
            format!("运行期间时钟频率变化了百万分之 {parts}"),
        );
    }
    let usable = host.usable_cpus().len();
    if let Some(quota) = host.limits.cpu_quota.filter(|quota| *quota < usable as f64) {
        let quota = number(quota);
        say(
            format!("a CPU quota of {quota} for {} stops this run now and then", counted(usable, "CPU")),
            format!("CPU 配额为 {quota}（共 {usable} 个 CPU），运行会不时被暂停"),
        );
    }
    for text in [yields(host), limits_unseen(host)].into_iter().flatten() {
        say(visible(&text.en), visible(&text.zh));
    }
    let is_killed = |round: &&LostRound| matches!(round.events.last(), Some(Event::Failed { reason }) if reason.contains(OUT_OF_MEMORY));
    let killed = view.run.lost_rounds.iter().filter(is_killed).count();
    if killed > 0 {
        say(
            format!(
                "{} lost as a worker was killed, not by hostmark: probably out of memory",
                counted(killed, "round")
            ),
            format!("{killed} 轮因工作进程被杀死而丢失，且并非 hostmark 所为：很可能内存不足"),
        );
    }
    for disturbance in &view.run.disturbances {
        say(visible(&disturbance.en), visible(&disturbance.zh));
    }
    noise(view, say);
}

fn noise(view: &View, say: &mut impl FnMut(String, String)) {
    let measured: Vec<_> = view.run.cases.iter().filter_map(CaseRecord::measured).collect();
    let steal_ns: f64 = view.run.cases.iter().filter_map(stolen_ns).sum();
    let of_run = duration_s(view.run).filter(|seconds| *seconds > 0.0).map(|seconds| steal_ns / 1e9 / seconds);
    if steal_ns > 0.0 && of_run.is_none_or(|share| share >= WORTH_SAYING / 10.0) {
        let time = value(steal_ns, Unit::Nanoseconds, view.lang);
        let share = of_run.map(percent);
        say(
            match &share {
                Some(share) => format!("steal {share}: the hypervisor gave {time} of this run to others"),
                None => format!("steal: the hypervisor gave {time} of this run to others"),
            },
            match &share {
                Some(share) => format!("CPU steal {share}：宿主机把本次运行中的 {time} 分给了其他虚拟机"),
                None => format!("CPU steal：宿主机把本次运行中的 {time} 分给了其他虚拟机"),
            },
        );
    }
    let sum = |of: fn(&hostmark_model::Measured) -> u64| measured.iter().fold(0u64, |sum, m| sum.saturating_add(of(m)));
    let (tainted, left_out) = (sum(|m| m.noise.tainted), sum(|m| m.noise.left_out));
    let samples = sum(hostmark_model::Measured::taken);
    let share = tainted as f64 / samples.max(1) as f64;
    if tainted > 0 && share >= WORTH_SAYING {
        let share = percent(share);
        say(
            format!("{share} of samples were disturbed (migrated or preempted); {left_out} discarded"),
            format!("{share} 的样本受扰（被迁移或被抢占）；已丢弃 {left_out} 个"),
        );
    }
    let rounds = sum(|m| u64::from(m.estimate.rounds));
    let unsettled = sum(|m| u64::from(m.noise.unsettled_rounds));
    if unsettled > 0 && unsettled as f64 >= WORTH_SAYING * rounds as f64 {
        say(
            format!("in {unsettled} of {} the CPU frequency did not settle", counted(rounds, "round")),
            format!("{rounds} 轮中有 {unsettled} 轮 CPU 频率未稳定"),
        );
    }
    for (kind, count) in &view.flags {
        // The unsettled rounds were told above.
        if view.common.contains(kind) && *kind != FlagKind::Unsettled {
            let (en, zh) = (words::flag(*kind).en, words::flag(*kind).zh);
            say(
                format!("{count} of {}: {en}", counted(view.measured, "value")),
                format!("{} 个数值中 {count} 个：{zh}", view.measured),
            );
        }
    }
}
