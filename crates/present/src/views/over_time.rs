//! A series over time: how steady the machine was, when it was slower and with what, and a heat map of the hours.

use hostmark_analysis::bilingual::{Words, each, fixed, joined, same};
use hostmark_analysis::format::{number, percent, value};
use hostmark_analysis::over_time::{
    Burst, Cause, ChangedFacts, Episode, Gap, LastingChange, Nightly, OverTime, Steadiness, Subject, SubjectOverTime,
    Together,
};
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Lang, Text, Unit, counted};

use super::changes::{moved, reported};
use super::fleet::change;
use crate::document::{Align, Block, Cell, Column, Document, Remark, Row, Style, Table};

/// Subjects of an episode, episodes and facts that are told unless everything is asked for.
const FEW_SUBJECTS: usize = 4;
const FEW_EPISODES: usize = 10;
const FEW_FACTS: usize = 6;
/// Columns of a name before the heat map.
const NAME: usize = 24;
const HOURS: usize = 24;

/// How much half of an hour's turns lose beside the best, and the shades that stand for it.
const SHADES: [(f64, char, char); 5] =
    [(0.05, '·', '.'), (0.1, '░', '-'), (0.25, '▒', '+'), (0.5, '▓', '*'), (f64::INFINITY, '█', '#')];

const COMMA: Text = Text { en: ", ", zh: "，" };
const METHOD: Text = Text {
    en: "Best: what a value reaches in one of twenty turns. An episode is two turns or more at a level at least 5 % slower than usual, so \
         clear that outliers make one in a hundred series; a change for good holds for an eighth of the series. Levels are those of least \
         cost (a change of level costs 22 squared deviations, an outlier at most 25). In 100 simulated quiet weeks at most 5 have an \
         episode. What came together with an episode was more than in nine of ten other turns: that is no proof of a cause.",
    zh: "最佳：二十次测量中有一次达到的数值。时段指连续两次或更多次测量处于比平常至少慢 5% 的水平，其显著程度仅在一百个序列中有一个会由离群值造成；持久变化须持续序列的八分之一。水平按最小代价划分（改变一次水平代价为 22 个偏差平方，离群值至多 25）。在 100 个模拟的平静周里至多 5 周出现时段。“同时”指该量高于其他十分之九的测量，并不证明因果。",
};

/// Which characters stand for shades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shades {
    Unicode,
    Ascii,
}

/// The whole series.
pub(crate) fn over_time(all: &OverTime, shades: Shades) -> Document {
    let mut document = vec![
        Block::Title(same("hostmark over time")),
        Block::Sentence(first_line(all), Style::Heading),
        Block::Sentence(about(all), Style::Plain),
    ];
    part(&mut document, Text { en: "CHANGES FOR GOOD", zh: "持久变化" }, all.changes.iter().map(lasting).collect());
    part(&mut document, Text { en: "FAST AT FIRST", zh: "先快后慢" }, all.bursts.iter().map(burst).collect());
    part(&mut document, Text { en: "EPISODES", zh: "变慢的时段" }, episodes(all));
    part(&mut document, Text { en: "FACTS THAT CHANGED BESIDES", zh: "其他变化的事实" }, facts(&all.facts));
    part(&mut document, Text { en: "GAPS", zh: "没有测量的时段" }, gaps(&all.gaps));
    document.push(table(&all.subjects));
    let title = match all.course {
        Some(_) => Text { en: "TIME OF DAY (UTC)", zh: "时刻（UTC）" },
        None => Text { en: "HOURS OF THE DAY (UTC)", zh: "一天中的各小时（UTC）" },
    };
    document.push(Block::Part(fixed(title)));
    document.push(Block::Drawn(heat_map(all, shades)));
    if all.course.is_none() {
        document.push(Block::Folded(
            fixed(Text { en: "Percentiles by hour", zh: "各小时的百分位数" }),
            vec![by_hour(&all.subjects)],
        ));
    }
    document.push(Block::Sentence(fixed(METHOD), Style::Dim));
    document
}

/// Remarks under a title, each with the lines below it.
fn part(document: &mut Document, title: Text, all: Vec<Vec<Remark>>) {
    if !all.is_empty() {
        document.push(Block::Part(fixed(title)));
        document.push(Block::Remarks(all.into_iter().flatten().collect()));
    }
}

/// How steady is this machine?
fn first_line(all: &OverTime) -> Words {
    let word = fixed(match all.steadiness {
        Steadiness::Steady => Text { en: "steady", zh: "稳定" },
        Steadiness::MostlySteady => Text { en: "mostly steady", zh: "大体稳定" },
        Steadiness::Unsteady => Text { en: "unsteady", zh: "不稳定" },
    });
    let near = percent(all.near_best);
    let mut parts = vec![each(|lang| match lang {
        Lang::En => format!("{}: within 10 % of its best {near} of the time", word.en),
        Lang::Zh => format!("{}：{near} 的时间与最佳相差不超过 10%", word.zh),
    })];
    parts.extend(all.worst.as_ref().map(|(subject, share)| {
        each(|lang| match lang {
            Lang::En => format!("worst {} {}", subject.name.en, percent(*share)),
            Lang::Zh => format!("最差为{} {}", subject.name.zh, percent(*share)),
        })
    }));
    if !all.bursts.is_empty() {
        parts.push(fixed(Text { en: "fast at first and slow for the rest", zh: "先快后慢" }));
    }
    let slow_s: f64 = all.episodes.iter().map(|episode| episode.seconds).sum();
    if !all.episodes.is_empty() {
        let count = all.episodes.len();
        parts.push(each(|lang| match lang {
            Lang::En => format!("{} of {} together", counted(count, "slow episode"), time(slow_s, lang)),
            Lang::Zh => format!("{count} 个变慢的时段，共 {}", time(slow_s, lang)),
        }));
    }
    if !all.changes.is_empty() {
        let count = all.changes.len();
        parts.push(Words { en: counted(count, "lasting change"), zh: format!("{count} 处持久变化") });
    }
    joined(&parts, Text { en: "; ", zh: "；" })
}

fn about(all: &OverTime) -> Words {
    let OverTime { host, turns, first, last, every_s, .. } = all;
    let named = all.series.as_ref().map_or_else(|| host.clone(), |series| format!("{series} · {host}"));
    each(|lang| match lang {
        Lang::En => format!("{named}: {turns} turns from {first} to {last}, every {}", time(*every_s, lang)),
        Lang::Zh => format!("{named}：{first} 至 {last} 共 {turns} 次测量，间隔 {}", time(*every_s, lang)),
    })
}

/// A length of time in the unit in which people say it.
fn time(seconds: f64, lang: Lang) -> String {
    let (count, [en, zh]) = match seconds {
        seconds if seconds < 120.0 => (seconds, ["s", "秒"]),
        seconds if seconds < 7200.0 => (seconds / 60.0, ["min", "分钟"]),
        seconds if seconds < 172_800.0 => (seconds / 3600.0, ["h", "小时"]),
        seconds => (seconds / 86_400.0, ["d", "天"]),
    };
    let rounded = (count * 10.0).round() / 10.0;
    format!("{rounded} {}", if lang == Lang::Zh { zh } else { en })
}

fn slower(times: f64) -> String {
    format!("{times:.2}x")
}

fn first_few<'a>(all: impl ExactSizeIterator<Item = (&'a Subject, String)>) -> Words {
    let more = all.len().saturating_sub(FEW_SUBJECTS);
    let named: Vec<(&Subject, String)> = all.take(FEW_SUBJECTS).collect();
    let mut parts: Vec<Words> =
        named.into_iter().map(|(subject, text)| each(|lang| format!("{} {text}", subject.name.get(lang)))).collect();
    if more > 0 {
        parts.push(Words { en: format!("{more} more"), zh: format!("另 {more} 项") });
    }
    joined(&parts, COMMA)
}

fn lasting(one: &LastingChange) -> Vec<Remark> {
    let subjects = first_few(one.subjects.iter().map(|of| (&of.subject, change(of.times - 1.0))));
    let text = each(|lang| match lang {
        Lang::En => format!("since {}: {}", one.since, subjects.en),
        Lang::Zh => format!("自 {}：{}", one.since, subjects.zh),
    });
    let style = if one.is_slower() { Style::Warning } else { Style::Plain };
    let mut facts: Vec<Remark> = one.facts.iter().map(|fact| below(reported(fact))).collect();
    facts.iter_mut().skip(FEW_FACTS).for_each(|fact| fact.is_detail = true);
    facts.extend(company(&one.together, if one.is_slower() { When::Since } else { When::Before }));
    if facts.is_empty() {
        facts.push(below(fixed(Text {
            en: "nothing that is recorded changed with it",
            zh: "没有记录在案的内容同时改变",
        })));
    }
    std::iter::once(Remark::new(text, style)).chain(facts).collect()
}

/// A line below another.
fn below(text: Words) -> Remark {
    Remark::new(each(|lang| format!("  {}", text.get(lang))), Style::Dim)
}

fn burst(one: &Burst) -> Vec<Remark> {
    let subjects = first_few(one.subjects.iter().map(|(subject, times)| (subject, slower(*times))));
    let (share, count, first) = (percent(one.share), one.began.len(), one.began.first().cloned().unwrap_or_default());
    let text = each(|lang| {
        let fast = time(one.fast_s, lang);
        match (lang, count) {
            (Lang::En, 1) => {
                format!("faster for {fast} from {first}, slow for the rest ({share} of the time fast): {}", subjects.en)
            }
            (Lang::En, _) => format!(
                "{count} times faster for {fast}, slow for the rest ({share} of the time fast): {}",
                subjects.en
            ),
            (Lang::Zh, 1) => format!("自 {first} 起 {fast}内较快，其余时间慢（快的时间占 {share}）：{}", subjects.zh),
            (Lang::Zh, _) => format!("{count} 次、每次 {fast} 较快，其余时间慢（快的时间占 {share}）：{}", subjects.zh),
        }
    });
    let advice = fixed(Text {
        en: "as when CPU credits or a burst allowance are used up: count on the slow value",
        zh: "与 CPU 积分或突发额度耗尽相符：请按慢的数值规划",
    });
    std::iter::once(Remark::new(text, Style::Warning))
        .chain(company(&one.together, When::Then))
        .chain([below(advice)])
        .collect()
}

fn episodes(all: &OverTime) -> Vec<Vec<Remark>> {
    let is_told = |index: usize| all.nightly.iter().any(|one| one.episodes.contains(&index));
    let mut parts: Vec<Vec<Remark>> = all.nightly.iter().map(|one| nightly(one, &all.episodes)).collect();
    let mut others = 0;
    for (index, episode) in all.episodes.iter().enumerate() {
        let mut remarks = of_episode(episode, &all.recorded);
        others += usize::from(!is_told(index));
        if is_told(index) || others > FEW_EPISODES {
            remarks.iter_mut().for_each(|remark| remark.is_detail = true);
        }
        parts.push(remarks);
    }
    if others > FEW_EPISODES {
        parts.push(vec![more_with_verbose(others - FEW_EPISODES)]);
    }
    parts
}

/// What changed with no value, in the order of time.
fn facts(all: &[ChangedFacts]) -> Vec<Vec<Remark>> {
    one_line_each(all.iter().map(|one| {
        let named = joined(&one.facts.iter().map(moved).collect::<Vec<_>>(), COMMA);
        Words { en: format!("{}: {}", one.since, named.en), zh: format!("{}：{}", one.since, named.zh) }
    }))
}

/// Times of which nothing is known, the longest first.
fn gaps(all: &[Gap]) -> Vec<Vec<Remark>> {
    let mut all: Vec<&Gap> = all.iter().collect();
    all.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    one_line_each(all.into_iter().map(|Gap { from, to, seconds, restarted }| {
        each(|lang| match lang {
            Lang::En => {
                let why = if *restarted == Some(true) { ": the machine was restarted" } else { "" };
                format!("no turn between {from} and {to}, {} overdue{why}", time(*seconds, lang))
            }
            Lang::Zh => {
                let why = if *restarted == Some(true) { "：机器重启过" } else { "" };
                format!("{from} 与 {to} 之间没有测量，晚了 {}{why}", time(*seconds, lang))
            }
        })
    }))
}

/// The first of these lines, and how many more there are.
fn one_line_each(all: impl ExactSizeIterator<Item = Words>) -> Vec<Vec<Remark>> {
    let more = all.len().saturating_sub(FEW_EPISODES);
    let of = |(index, text)| {
        let mut remark = Remark::new(text, Style::Plain);
        remark.is_detail = index >= FEW_EPISODES;
        vec![remark]
    };
    all.enumerate().map(of).chain((more > 0).then(|| vec![more_with_verbose(more)])).collect()
}

fn more_with_verbose(more: usize) -> Remark {
    let text =
        Words { en: format!("{more} more with --verbose"), zh: format!("另有 {more} 个，加 --verbose 显示") };
    Remark::new(text, Style::Dim)
}

fn nightly(one: &Nightly, episodes: &[Episode]) -> Vec<Remark> {
    let (hour, minute) = ((one.begins_s / 3600.0) as u32, (one.begins_s / 60.0) as u32 % 60);
    let days = one.days;
    let first = one.episodes.first().map(|index| &episodes[*index]);
    let subjects = first.map(|episode| first_few(episode.subjects.iter().map(|of| (&of.subject, slower(of.times)))));
    let subjects = subjects.unwrap_or_default();
    let text = each(|lang| {
        let long = time(one.seconds, lang);
        match lang {
            Lang::En => {
                format!("on {days} days from about {hour:02}:{minute:02} UTC for {long}: {} slower", subjects.en)
            }
            Lang::Zh => format!("{days} 天里约 {hour:02}:{minute:02}（UTC）起持续 {long}，变慢：{}", subjects.zh),
        }
    });
    let together = first.map(|episode| company(&episode.together, When::Then)).unwrap_or_default();
    std::iter::once(Remark::new(text, Style::Warning)).chain(together).collect()
}

fn of_episode(one: &Episode, recorded: &[Cause]) -> Vec<Remark> {
    let subjects = first_few(one.subjects.iter().map(|of| (&of.subject, slower(of.times))));
    let Episode { from, to, .. } = one;
    let text = each(|lang| {
        let long = time(one.seconds, lang);
        match (lang, one.goes_on) {
            (Lang::En, true) => format!("since {from}, {long} so far: {} slower", subjects.en),
            (Lang::En, false) => format!("{from} … {to} ({long}): {} slower", subjects.en),
            (Lang::Zh, true) => format!("自 {from}，至今 {long}，变慢：{}", subjects.zh),
            (Lang::Zh, false) => format!("{from} … {to}（{long}）变慢：{}", subjects.zh),
        }
    });
    let mut below_it = company(&one.together, When::Then);
    below_it.extend(one.facts.iter().take(FEW_FACTS).map(|fact| below(reported(fact))));
    if below_it.is_empty() {
        let recorded = recorded.iter().filter(|cause| **cause != Cause::Waited);
        let recorded: Vec<Words> = recorded.map(|cause| fixed(name(*cause))).collect();
        let recorded = joined(&recorded, Text { en: ", ", zh: "、" });
        below_it.push(below(each(|lang| match lang {
            Lang::En => format!("nothing that was recorded changed with it: {}", recorded.en),
            Lang::Zh => format!("记录的各项都没有同时变化：{}", recorded.zh),
        })));
    }
    std::iter::once(Remark::new(text, Style::Warning)).chain(below_it).collect()
}

/// What others took, as people call it.
fn name(cause: Cause) -> Text {
    match cause {
        Cause::Steal => Text { en: "CPU steal", zh: "CPU steal" },
        Cause::Throttling => Text { en: "a CPU quota's pauses", zh: "CPU 配额造成的暂停" },
        Cause::Others => Text { en: "other programs' CPU use", zh: "其他程序的 CPU 占用" },
        Cause::CoreShared => Text { en: "another thread on the same core", zh: "同一核心上的其他线程" },
        Cause::LastCache => Text { en: "slower loads from the last cache", zh: "末级缓存访问变慢" },
        Cause::Temperature => Text { en: "hotter processors", zh: "处理器温度升高" },
        Cause::Waited => Text {
            en: "waiting for a CPU that nobody used, as under a quota that cannot be seen here",
            zh: "等待无人占用的 CPU（与此处看不到的配额相符）",
        },
    }
}

/// On which side of a time others took something of the machine.
#[derive(Clone, Copy)]
enum When {
    Then,
    Since,
    Before,
}

/// What came together with it, a line each.
fn company(all: &[Together], when: When) -> Vec<Remark> {
    let of = |one: &Together| {
        let name = name(one.cause);
        let shown = |number: f64, lang| match one.cause {
            Cause::LastCache => value(number, Unit::Nanoseconds, lang),
            Cause::Temperature => format!("{number:.0} °C"),
            _ => percent(number),
        };
        below(each(|lang| {
            let [then, usual] = [one.then, one.otherwise].map(|number| shown(number, lang));
            match (lang, when) {
                (Lang::En, When::Then) => format!("together with {}: {then}, else {usual}", name.en),
                (Lang::Zh, When::Then) => format!("同时：{} {then}，其余时间 {usual}", name.zh),
                (Lang::En, When::Since) => format!("with it {}: {then}, before {usual}", name.en),
                (Lang::Zh, When::Since) => format!("同时：{} {then}，此前 {usual}", name.zh),
                (Lang::En, When::Before) => format!("until then {}: {then}, since {usual}", name.en),
                (Lang::Zh, When::Before) => format!("此前：{} {then}，此后 {usual}", name.zh),
            }
        }))
    };
    all.iter().map(of).collect()
}

/// The subjects: best, usual, the slowest tenth, and the time near the best.
fn table(all: &[SubjectOverTime]) -> Block {
    let columns = vec![
        Column::named("", "", Align::Left),
        Column::named("best", "最佳", Align::Point),
        Column::named("median", "中位数", Align::Point),
        Column::named("slowest tenth", "最慢十分之一", Align::Point),
        Column::named("within 10 % of best", "近最佳的时间", Align::Right),
    ];
    let row = |one: &SubjectOverTime| {
        let shown = |number: f64| Cell::from(each(|lang| value(number, one.subject.unit, lang)));
        let [slow, middle, _] = one.percentiles;
        let near = Cell::from(same(percent(one.near_best)));
        let cells = vec![Cell::from(one.subject.name.clone()), shown(one.best), shown(middle), shown(slow), near];
        Row { id: one.subject.key.clone(), cells, ..Row::default() }
    };
    Block::Table(Table { columns, rows: all.iter().map(row).collect(), ..Table::default() })
}

/// A line for each subject, a column for each hour, or for each part of a course: the darker, the more half of its turns lose.
fn heat_map(all: &OverTime, shades: Shades) -> Vec<Words> {
    use unicode_width::UnicodeWidthStr;
    let padded = |name: &str| {
        let cut: String = name.chars().take(NAME).collect();
        format!("{cut}{}", " ".repeat(NAME.saturating_sub(cut.width())))
    };
    let of = |shade: &(f64, char, char)| if shades == Shades::Ascii { shade.2 } else { shade.1 };
    let columns = |one: &SubjectOverTime| -> Vec<Option<f64>> {
        let of_hour = |hour: u8| one.hours.iter().find(|of| of.hour == hour).map(|of| of.lost);
        if all.course.is_some() { one.course.clone() } else { (0..24).map(of_hour).collect() }
    };
    let width = if all.course.is_some_and(|course| course.parts > HOURS) { 1 } else { 2 };
    let line = |one: &SubjectOverTime| {
        let cell = |lost: Option<f64>| {
            let sign = lost.and_then(|lost| SHADES.iter().find(|(least, ..)| lost <= *least).map(of)).unwrap_or(' ');
            String::from_iter(std::iter::repeat_n(sign, width))
        };
        let cells: String = columns(one).into_iter().map(cell).collect();
        each(|lang| format!("{}{}", padded(one.subject.name.get(lang)), cells.trim_end()))
    };
    let legend = each(|lang| {
        let names = SHADES.iter().map(|shade| match shade.0.is_finite() {
            true => format!("{} ≤ {}", of(shade), percent(shade.0)),
            false => format!("{} {}", of(shade), if lang == Lang::Zh { "更多" } else { "more" }),
        });
        let names = names.collect::<Vec<_>>().join("  ");
        match lang {
            Lang::En => format!("below its best: {names}  blank: no turn"),
            Lang::Zh => format!("低于最佳：{names}  空白：无测量"),
        }
    });
    let head = same(format!("{}{}", " ".repeat(NAME), head(all, width).trim_end()));
    std::iter::once(head).chain(all.subjects.iter().map(line)).chain([legend]).collect()
}

/// What stands above the columns of a heat map: every third hour, or the time at which a part of the course begins.
fn head(all: &OverTime, width: usize) -> String {
    let Some(course) = all.course else { return (0..HOURS).step_by(3).map(|hour| format!("{hour:<6}")).collect() };
    let first = Timestamp::parse(&all.first).unwrap_or_default().seconds();
    let time = |part: usize| {
        let minutes = (first + (part as f64 * course.part_s) as i64).rem_euclid(86_400) / 60;
        format!("{:<12}", format!("{:02}:{:02}", minutes / 60, minutes % 60))
    };
    (0..course.parts).step_by(12 / width).map(time).collect()
}

fn by_hour(all: &[SubjectOverTime]) -> Block {
    let columns = vec![
        Column::named("", "", Align::Left),
        Column::named("hour", "小时", Align::Right),
        Column::named("turns", "次数", Align::Right),
        Column::named("slowest tenth", "最慢十分之一", Align::Point),
        Column::named("median", "中位数", Align::Point),
        Column::named("fastest tenth", "最快十分之一", Align::Point),
    ];
    let mut rows = Vec::new();
    for one in all {
        for hour in &one.hours {
            let shown = |number: f64| Cell::from(each(|lang| value(number, one.subject.unit, lang)));
            let mut cells = vec![
                Cell::from(one.subject.name.clone()),
                Cell::from(same(format!("{:02}", hour.hour))),
                Cell::from(same(number(hour.turns as f64))),
            ];
            cells.extend(hour.percentiles.map(shown));
            rows.push(Row { id: one.subject.key.clone(), cells, ..Row::default() });
        }
    }
    Block::Table(Table { columns, rows, ..Table::default() })
}
