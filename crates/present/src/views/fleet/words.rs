//! The words of a fleet's report.

use hostmark_analysis::fleet::{
    BetweenHosts, Carried, CaseBesideUsual, Drift, Fleet, HostResult, KindOfHosts, LEAST_HOSTS, OddCase, PairApart,
    RareFact, SharedFact, WithinBy,
};
use hostmark_analysis::format::{QUIET, called, estimator, percent};
use hostmark_analysis::reasons;
use hostmark_model::{Lang, Leading, Text, Unit};

/// Groups of an odd host that are named in a line.
const MOST_GROUPS: usize = 4;

/// How many hosts there are and how many are odd.
pub(super) fn summary(fleet: &Fleet, lang: Lang) -> String {
    let slow: Vec<String> =
        fleet.kinds.iter().flat_map(|kind| &kind.usual).filter_map(|case| slow_as_a_whole(case, lang)).collect();
    match (slow.is_empty(), lang) {
        (true, _) => hosts_apart(fleet, lang),
        (false, Lang::En) => format!("{}. But {}", hosts_apart(fleet, lang), slow.join(", ")),
        (false, Lang::Zh) => format!("{}；但{}", hosts_apart(fleet, lang), slow.join("，")),
    }
}

/// Of a case in which most hosts are slower than usual: `8 of 8 have a slower DRAM than 9 of 10 such servers`.
fn slow_as_a_whole(case: &CaseBesideUsual, lang: Lang) -> Option<String> {
    let (slow, name, all) = (case.worse.len(), case.name.get(lang), case.judged() + case.unknown.len());
    case.is_slow_as_a_whole().then(|| match lang {
        Lang::En => format!("{slow} of {all} have slower {name} than 9 of 10 such servers"),
        Lang::Zh => format!("{all} 台中 {slow} 台的 {name} 慢于九成同类服务器"),
    })
}

fn hosts_apart(fleet: &Fleet, lang: Lang) -> String {
    let (hosts, runs, judged, odd) = (fleet.hosts(), fleet.runs, fleet.judged, fleet.odd().count());
    let kinds = fleet.kinds.len();
    match lang {
        Lang::En => {
            let of = format!("{}, {}, {}", many(hosts, "host"), many(runs, "run"), many(kinds, "kind"));
            match (judged, odd) {
                (0, _) => format!("{of}: no verdict, since no kind has {LEAST_HOSTS} hosts"),
                (_, 0) => format!("{of}: no host differs from the others of its kind"),
                (_, 1) => format!("{of}: 1 of {judged} hosts is not like the others of its kind"),
                _ => format!("{of}: {odd} of {judged} hosts are not like the others of their kind"),
            }
        }
        Lang::Zh => {
            let of = format!("{hosts} 台主机，{runs} 次运行，{kinds} 种机型");
            match (judged, odd) {
                (0, _) => format!("{of}：没有任何机型达到 {LEAST_HOSTS} 台，不作判定"),
                (_, 0) => format!("{of}：同机型之间没有离群主机"),
                _ => format!("{of}：{judged} 台主机中有 {odd} 台与同机型的其他主机不同"),
            }
        }
    }
}

fn many(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A kind and how many hosts it has.
pub(super) fn kind(kind: &KindOfHosts, lang: Lang) -> String {
    let count = kind.hosts.len();
    match lang {
        Lang::En => format!("{}: {}", kind.title.en, many(count, "host")),
        Lang::Zh => format!("{}：{count} 台主机", kind.title.zh),
    }
}

/// Why there is no verdict of a kind.
pub(super) fn no_verdict(kind: &KindOfHosts, lang: Lang) -> String {
    let count = kind.hosts.len();
    match lang {
        Lang::En => format!("no verdict: {}, and it takes {LEAST_HOSTS} to tell what is usual", many(count, "host")),
        Lang::Zh => format!("不作判定：只有 {count} 台，至少需要 {LEAST_HOSTS} 台才能确定常态"),
    }
}

/// A change of what is delivered: `−21 %`.
pub(crate) fn change(change: f64) -> String {
    // What rounds to nothing has no sign.
    if change.abs() < 0.0005 {
        return "0 %".to_owned();
    }
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(change.abs()))
}

/// A case in which a host stands out, with what the other estimator says: `cpu.latency@op=add −12 % (quiet; typical −3 %)`.
pub(super) fn odd_case(case: &OddCase, lang: Lang) -> String {
    let what = format!("{} {}", case.id, change(case.change));
    let Some(beside) = case.beside else { return called(&what, case.estimator, lang) };
    let other = format!("{} {}", estimator(beside.estimator).get(lang), change(beside.change));
    let led = if case.estimator == Leading::Quiet { QUIET.get(lang) } else { "" };
    match (lang, led.is_empty()) {
        (Lang::En, true) => format!("{what} ({other})"),
        (Lang::En, false) => format!("{what} ({led}; {other})"),
        (Lang::Zh, true) => format!("{what}（{other}）"),
        (Lang::Zh, false) => format!("{what}（{led}；{other}）"),
    }
}

/// In what a host stands out: `memory −21 %, paging −8 %`.
pub(super) fn stands_out(kind: &KindOfHosts, host: &HostResult, lang: Lang) -> String {
    let group = |number: &usize| {
        let place = host.groups.get(*number).copied().flatten()?;
        Some(format!("{} {}", kind.groups.get(*number)?.name, change(place.change)))
    };
    let parts: Vec<String> = host.odd_groups.iter().take(MOST_GROUPS).filter_map(group).collect();
    let more = host.odd_groups.len().saturating_sub(MOST_GROUPS);
    let mut text = parts.join(if lang == Lang::Zh { "，" } else { ", " });
    if more > 0 {
        text += &match lang {
            Lang::En => format!(", {more} more"),
            Lang::Zh => format!("，另有 {more} 组"),
        };
    }
    text
}

pub(super) const BY_CHANCE: Text = Text { en: "by chance", zh: "偶然" };

/// In how many fleets chance alone shows this; of a p value or an adjusted one.
pub(super) fn by_chance(p: f64, lang: Lang) -> String {
    let of_thousand = (1000.0 * p).ceil();
    match (lang, of_thousand <= 1.0) {
        (Lang::En, true) => "by chance in fewer than 1 of 1000 fleets".to_owned(),
        (Lang::En, false) => format!("by chance in {of_thousand:.0} of 1000 fleets"),
        (Lang::Zh, true) => "偶然出现：1000 个机群中不到 1 个".to_owned(),
        (Lang::Zh, false) => format!("偶然出现：1000 个机群中 {of_thousand:.0} 个"),
    }
}

/// A fact of an odd host.
pub(super) fn reason(reason: &RareFact, lang: Lang) -> String {
    let (label, value, usual) = (reason.label.get(lang), reason.value.get(lang), reason.usual.get(lang));
    let (others, of) = (reason.others, reason.of);
    match lang {
        Lang::En => format!("{label}: {value}, usually {usual}; {others} of {of} others have it"),
        Lang::Zh => format!("{label}：{value}，通常为 {usual}；其他 {of} 台中有 {others} 台相同"),
    }
}

/// What goes with being odd.
pub(super) fn cause(cause: &SharedFact, lang: Lang) -> String {
    let (label, value) = (cause.label.get(lang), cause.value.get(lang));
    let ((odd, all_odd), (others, all)) = (cause.odd, cause.others);
    let along: Vec<&str> = cause.along.iter().map(|along| along.get(lang)).collect();
    match lang {
        Lang::En => {
            let p = cause.p.map(|p| format!(" ({})", by_chance(p, lang))).unwrap_or_default();
            let along =
                if along.is_empty() { String::new() } else { format!("; the same hosts: {}", along.join(", ")) };
            format!("{label} {value}: shared by {odd} of {all_odd} odd, {others} of {all} others{p}{along}")
        }
        Lang::Zh => {
            let p = cause.p.map(|p| format!("（{}）", by_chance(p, lang))).unwrap_or_default();
            let along = if along.is_empty() {
                String::new()
            } else {
                format!("；同一批主机还有：{}", along.join("，"))
            };
            format!("{label} {value}：{all_odd} 台异常主机中的 {odd} 台，其他 {all} 台中的 {others} 台{p}{along}")
        }
    }
}

pub(super) fn drift(drift: &Drift, lang: Lang) -> String {
    let Drift { host, group, runs, time, p, .. } = drift;
    let (change, chance) = (change(drift.change), by_chance(*p, lang));
    match lang {
        Lang::En => format!("{host}, {group}: {change} over {runs} runs from {} to {} ({chance})", time.0, time.1),
        Lang::Zh => format!("{host}，{group}：{} 至 {} 的 {runs} 次运行中变化 {change}（{chance}）", time.0, time.1),
    }
}

/// What the tournament tells: how many pairs, ways that are worse than both hosts' other ways, and pairs that could not be measured.
pub(super) fn pairs(fleet: &Fleet, lang: Lang) -> Vec<String> {
    fleet.between.iter().flat_map(|all| between(all, lang)).collect()
}

fn between(between: &BetweenHosts, lang: Lang) -> Vec<String> {
    let (met, failed) = (between.measured, between.failed.len());
    let mut lines = vec![match (lang, between.apart.len()) {
        (Lang::En, 0) => format!("{met} measured, both ways counted: none is worse than its two hosts' other ways"),
        (Lang::En, apart) => {
            format!("{met} measured, both ways counted: {apart} worse than both hosts' other ways")
        }
        (Lang::Zh, 0) => format!("已测 {met} 对（两个方向分别计数）：没有一条路径差于两端主机的其他路径"),
        (Lang::Zh, apart) => format!("已测 {met} 对（两个方向分别计数）：{apart} 条路径差于两端主机的其他路径"),
    }];
    lines.extend(between.apart.iter().map(|pair| {
        let PairApart { from, to, carried, value, change: off } = pair;
        let (unit, what) = match carried {
            Carried::Bandwidth => (Unit::BytesPerSecond, Text { en: "bandwidth", zh: "带宽" }),
            Carried::RoundTrip => (Unit::Nanoseconds, Text { en: "round trip", zh: "往返时间" }),
        };
        let (value, off, what) = (hostmark_analysis::format::value(*value, unit, lang), change(*off), what.say(lang));
        match lang {
            Lang::En => format!("{from} → {to}: {what} {value}, delivers {off} beside what the two do with others"),
            Lang::Zh => format!("{from} → {to}：{what} {value}，与两者同其他主机之间相比 {off}"),
        }
    }));
    lines.extend(between.failed.iter().map(|pair| match lang {
        Lang::En => format!("{} → {} failed: {}", pair.from, pair.to, pair.reason),
        Lang::Zh => format!("{} → {} 失败：{}", pair.from, pair.to, reasons::localized(&pair.reason, lang)),
    }));
    if failed > 0 {
        lines.push(match lang {
            Lang::En => "measure them again: hostmark fleet run --pairs --resume".to_owned(),
            Lang::Zh => "重新测量：hostmark fleet run --pairs --resume".to_owned(),
        });
    }
    lines
}

/// By what the scatter within a host is known, where that is not by its runs.
pub(super) fn within_by_rounds(kind: &KindOfHosts) -> Option<Text> {
    let by_rounds = kind.cases.iter().any(|case| case.within_by == Some(WithinBy::Rounds));
    by_rounds.then_some(Text {
        en: "Each host has one run: \"within\" is what its rounds let the value be off; runs differ more.",
        zh: "每台主机只有一次运行：“主机内”为各轮次给出的误差；不同运行之间的差异更大。",
    })
}

/// The fixed texts.
pub(super) const TITLE: Text = Text { en: "Fleet", zh: "机群" };
pub(super) const ODD: Text = Text { en: "Hosts that are not like the others", zh: "与其他主机不同的主机" };
pub(super) const CAUSES: Text =
    Text { en: "What odd hosts share and others lack", zh: "异常主机共有而其他主机没有的" };
pub(super) const DRIFTS: Text = Text { en: "Hosts that change from run to run", zh: "随时间变化的主机" };
pub(super) const BETWEEN_HOSTS: Text =
    Text { en: "Pairs of hosts over the network", zh: "主机两两之间的网络" };
pub(super) const UNREAD: Text = Text { en: "Files that were not read", zh: "未读取的文件" };
pub(super) const HOST: Text = Text { en: "host", zh: "主机" };
pub(super) const KIND: Text = Text { en: "kind", zh: "机型" };
pub(super) const STANDS_OUT: Text = Text { en: "stands out in", zh: "异常之处" };
pub(super) const HAS: Text = Text { en: "what it has and others lack", zh: "与众不同的特征" };
pub(super) const GROUP: Text = Text { en: "group", zh: "组" };
pub(super) const CASES: Text = Text { en: "cases", zh: "用例" };
pub(super) const BETWEEN: Text = Text { en: "between hosts", zh: "主机间" };
pub(super) const WITHIN: Text = Text { en: "within a host", zh: "主机内" };
pub(super) const SPREAD: Text = Text {
    en: "Spread (standard deviation, median of the cases)",
    zh: "离散程度（标准差，取各用例的中位数）",
};
pub(super) const NO_FACTS: Text = Text {
    en: "no recorded fact sets it apart; compare its run with another host's: hostmark compare",
    zh: "没有记录到与众不同的事实；可用 hostmark compare 与其他主机的运行对比",
};
pub(super) const SAME_NAME: Text = Text { en: "another host has the same name", zh: "另有同名主机" };

/// How verdicts are made.
pub(super) const METHOD: Text = Text {
    en: "Hosts are held against others of their kind by robust distances; where no host is odd, at most 5 % of fleets name one \
         (Benjamini-Hochberg over hosts, Benjamini-Bogomolov within them).",
    zh: "主机按稳健距离与同机型的其他主机比较；没有异常主机时，至多 5% 的机群会误报一台（主机间用 Benjamini-Hochberg，主机内用 Benjamini-Bogomolov）。",
};

pub(super) const USUAL: Text = Text { en: "usual", zh: "常见范围" };
pub(super) const AS_USUAL: Text = Text { en: "as usual", zh: "正常" };
pub(super) const FASTER: Text = Text { en: "faster", zh: "偏快" };
pub(super) const SLOWER: Text = Text { en: "slower", zh: "偏慢" };
pub(super) const NOT_KNOWN: Text = Text { en: "not known", zh: "无法判断" };
/// Hosts that are named in a row.
const FEW_NAMES: usize = 3;

/// Beside which servers hosts stand.
pub(super) fn beside_usual(cases: &[CaseBesideUsual], lang: Lang) -> String {
    let machine = cases.first().map_or("", |case| case.machine.get(lang));
    match lang {
        Lang::En => format!("Beside {machine}; usual is from their 10th to their 90th percentile:"),
        Lang::Zh => format!("对照 {machine}；常见范围为其第 10 至第 90 百分位："),
    }
}

/// How many deliver less than usual, and which deliver least: `2: n17 60 %, n4 30 %`.
pub(super) fn worse(case: &CaseBesideUsual, lang: Lang) -> String {
    named(case.worse.iter().map(|(host, times)| format!("{host} {}", percent(times - 1.0))), lang)
}

/// Of how many that is not known, and why.
pub(super) fn unknown(case: &CaseBesideUsual, lang: Lang) -> String {
    named(case.unknown.iter().map(|(host, why)| format!("{host} {}", why.get(lang))), lang)
}

/// How many there are, and the first of them.
fn named(hosts: impl ExactSizeIterator<Item = String>, lang: Lang) -> String {
    let count = hosts.len();
    let few: Vec<String> = hosts.take(FEW_NAMES).collect();
    let (colon, and) = if lang == Lang::Zh { ("：", "，") } else { (": ", ", ") };
    let more = if count > FEW_NAMES { " …" } else { "" };
    if count == 0 { "0".to_owned() } else { format!("{count}{colon}{}{more}", few.join(and)) }
}
