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

/// A level with the point that stands for it.
type Plateau<'a> = (&'static Level, Point<'a>);

fn conclusion(run: &Run, operation: &Operation) -> Option<Conclusion> {
    let points = curve(run, operation.probe, "size", &[]);
    let mut plateaus = LEVELS.iter().filter_map(|level| plateau(run, level, &points, operation.buffers));
    let (first, begin): Plateau = plateaus.next()?;
    let (mut en, mut zh, mut cases) = (Vec::new(), Vec::new(), vec![begin.case.id.clone()]);
    let mut last = begin;
    // A level that is not proven slower is passed over: the next one is held against the same.
    for (level, point) in plateaus {
        if !last.is_above(&point, STEP) {
            continue;
        }
        let Some((inside, outside)) = bend(&points, &last, &point) else { continue };
        let [to, factor] = [rate(&point), number(last.estimate.median / point.estimate.median)];
        let [inside, outside] = [inside, outside].map(|point| size_text(point.at));
        let place = placed(run, level);
        en.push(format!("to {to} in {} (÷{factor}, between {inside} and {outside})", place.en));
        zh.push(format!("{}为 {to}（降为 1/{factor}，转折在 {inside} 与 {outside} 之间）", place.zh));
        cases.push(point.case.id.clone());
        last = point;
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
    Some(Conclusion { text, cases })
}

/// The point that stands for a level: the largest that lies well inside it, over the level before; in memory the largest.
fn plateau<'a>(run: &Run, level: &'static Level, points: &[Point<'a>], buffers: f64) -> Option<Plateau<'a>> {
    let before = LEVELS.iter().take_while(|other| other.key != level.key);
    // What is reported and not measured may be there as well.
    let ends = |level: &Level| {
        let reported = level.reported(run).map(|cache| cache.size_bytes as f64);
        let measured = level.measured_size(run).map(|size| size.median);
        measured.into_iter().chain(reported).fold(0.0, f64::max)
    };
    let least = before.map(ends).fold(0.0, f64::max);
    let most = match level.cache {
        Some(_) => level.size(run)? / 2.0,
        // Without a cache to compare with, no size is known to lie in memory.
        None if least > 0.0 => f64::INFINITY,
        None => return None,
    };
    let footprint = |point: &&Point| point.at as f64 * buffers;
    let inside = points.iter().filter(|point| footprint(point) > least && footprint(point) <= most);
    Some((level, *inside.max_by_key(|point| point.at)?))
}

/// The neighbours between which the curve passes the middle of two plateaus.
fn bend<'a>(points: &[Point<'a>], high: &Point, low: &Point) -> Option<(Point<'a>, Point<'a>)> {
    let middle = (high.estimate.median * low.estimate.median).sqrt();
    let between: Vec<&Point> = points.iter().filter(|point| (high.at..=low.at).contains(&point.at)).collect();
    let crossing =
        between.windows(2).find(|pair| pair[0].estimate.median >= middle && pair[1].estimate.median < middle)?;
    Some((*crossing[0], *crossing[1]))
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
