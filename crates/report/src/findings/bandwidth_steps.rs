//! Bandwidth that falls in steps, each where the buffer outgrows a level of the memory hierarchy.

use hostmark_model::{Lang, Run, Text, Unit, size_text};

use super::{Conclusion, Rule};
use crate::curve::{Point, curve};
use crate::format::{number, value};
use crate::levels::{HIERARCHY, LEVELS, Level, sizes_differ};

/// By what factor a level must be faster than the next: less is within what alignment and prefetchers do.
const STEP: f64 = 1.15;

pub(super) static RULE: Rule = Rule {
    id: "memory.bandwidth_steps",
    probes: &["memory.read", "memory.write", "memory.copy", HIERARCHY],
    cure: None,
    draw,
};

/// A curve, what it is called, and how many buffers of its size a pass goes through.
struct Operation {
    probe: &'static str,
    name: Text,
    buffers: f64,
    /// What a reader must know to find the steps.
    remark: Text,
}

static OPERATIONS: [Operation; 3] = [
    Operation {
        probe: "memory.read",
        name: Text { en: "Read", zh: "读" },
        buffers: 1.0,
        remark: Text { en: "", zh: "" },
    },
    Operation {
        probe: "memory.write",
        name: Text { en: "Write", zh: "写" },
        buffers: 1.0,
        remark: Text { en: "", zh: "" },
    },
    Operation {
        probe: "memory.copy",
        name: Text { en: "Copy", zh: "复制" },
        buffers: 2.0,
        remark: Text {
            en: " Source and destination share the cache, so that its steps stand at half of the sizes.",
            zh: "源与目的共用缓存，因此台阶位于一半的容量处。",
        },
    },
];

fn draw(run: &Run) -> Vec<Conclusion> {
    OPERATIONS.iter().filter_map(|operation| conclusion(run, operation)).collect()
}

fn conclusion(run: &Run, operation: &Operation) -> Option<Conclusion> {
    let points = curve(run, operation.probe, "size", &[]);
    let mut levels = LEVELS.iter().skip_while(|level| plateau(run, level, &points, operation.buffers).is_none());
    let first = levels.next()?;
    let begin = plateau(run, first, &points, operation.buffers)?;
    let (mut en, mut zh, mut cases) = (Vec::new(), Vec::new(), vec![begin.case.id.clone()]);
    let (mut last, mut passed) = (begin, Vec::new());
    for level in levels {
        // A level that is not proven slower is passed over: the next one is held against the same.
        let point = plateau(run, level, &points, operation.buffers).filter(|point| last.is_above(point, STEP));
        let Some(point) = point else {
            passed.push(level.name);
            continue;
        };
        let [to, factor] = [rate(&point), number(last.estimate.median / point.estimate.median)];
        let place = placed(run, level);
        let where_to = bend_text(&points, &last, &point, &passed);
        en.push(format!("to {to} in {} (÷{factor}{})", place.en, where_to.en));
        zh.push(format!("{}为 {to}（降为 1/{factor}{}）", place.zh, where_to.zh));
        cases.push(point.case.id.clone());
        last = point;
        passed.clear();
    }
    if en.is_empty() {
        return None;
    }
    let (from, place) = (rate(&begin), placed(run, first));
    let text = Text {
        en: format!(
            "{} bandwidth falls in steps, each where the buffer outgrows a cache: from {from} in {} {}.{}",
            operation.name.en,
            place.en,
            en.join(", "),
            operation.remark.en
        ),
        zh: format!(
            "{}带宽在数据块超出各级缓存处逐级下降：{}为 {from}，{}。{}",
            operation.name.zh,
            place.zh,
            zh.join("，"),
            operation.remark.zh
        ),
    };
    Some(Conclusion { text, cases, cost: 0.0 })
}

/// The point that stands for a level: of those well inside it, over the level before, the one in the middle; in memory
/// the largest.
fn plateau<'a>(run: &Run, level: &Level, points: &[Point<'a>], buffers: f64) -> Option<Point<'a>> {
    let sizes = |level: &Level| {
        let measured = level.measured_size(run).map(|size| size.median);
        [measured, level.reported(run).map(|cache| cache.size_bytes as f64)].into_iter().flatten().collect::<Vec<f64>>()
    };
    let before = LEVELS.iter().take_while(|other| other.key != level.key);
    // What is reported and not measured may be there as well.
    let least = before.flat_map(sizes).fold(0.0, f64::max);
    let inside = |most: f64| {
        let footprint = |point: &Point| point.at as f64 * buffers;
        let inside = points.iter().filter(|point| footprint(point) > least && footprint(point) <= most);
        inside.copied().collect::<Vec<Point>>()
    };
    match level.cache {
        Some(_) => {
            // As measured; a cache that others use up has room for no point, and is looked for where it is reported.
            let found = sizes(level).into_iter().map(|size| inside(size / 2.0)).find(|found| !found.is_empty())?;
            found.get(found.len() / 2).copied()
        }
        // Without a cache to compare with, no size is known to lie in memory.
        None if least > 0.0 => inside(f64::INFINITY).pop(),
        None => None,
    }
}

/// Between which sizes the curve passes the middle of two plateaus; or which levels are in between, where some are.
fn bend_text(points: &[Point], high: &Point, low: &Point, passed: &[&str]) -> Text<String> {
    if !passed.is_empty() {
        let names = passed.join(", ");
        return Text { en: format!(", {names} not told apart"), zh: format!("，其间的 {names} 未能分辨") };
    }
    let middle = (high.estimate.median * low.estimate.median).sqrt();
    let between: Vec<&Point> = points.iter().filter(|point| (high.at..=low.at).contains(&point.at)).collect();
    let is_crossing = |pair: &&[&Point]| pair[0].estimate.median >= middle && pair[1].estimate.median < middle;
    let Some(pair) = between.windows(2).find(is_crossing) else { return Text::default() };
    let [inside, outside] = [pair[0], pair[1]].map(|point| size_text(point.at));
    Text { en: format!(", between {inside} and {outside}"), zh: format!("，转折在 {inside} 与 {outside} 之间") }
}

/// A level with what it holds: as measured where it was, and what the host says where that is another size.
fn placed(run: &Run, level: &Level) -> Text<String> {
    let name = level.name;
    let Some(size) = level.size(run).filter(|_| level.cache.is_some()) else {
        return Text { en: name.to_owned(), zh: name.to_owned() };
    };
    let reported = level.reported(run).map(|cache| cache.size_bytes as f64);
    let bytes = |bytes: f64| value(bytes, Unit::Bytes, Lang::En);
    match reported {
        Some(reported) if sizes_differ(size, reported) => Text {
            en: format!("{name} ({} of the {} reported)", bytes(size), bytes(reported)),
            zh: format!("{name}（实测 {}，标称 {}）", bytes(size), bytes(reported)),
        },
        _ => {
            let size = bytes(reported.unwrap_or(size));
            Text { en: format!("{name} ({size})"), zh: format!("{name}（{size}）") }
        }
    }
}

fn rate(point: &Point) -> String {
    value(point.estimate.median, Unit::BytesPerSecond, Lang::En)
}
