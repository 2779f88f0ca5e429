//! Bandwidth over size: of each operation, then of each by kernel and by threads.

use hostmark_model::Unit;

use super::{Figure, FigureKind, title};
use crate::html::bilingual::each;
use crate::html::chart::scale::Kind;
use crate::html::chart::{Line, Series};
use crate::html::figures::generic::{Along, series_along};
use crate::html::gather::Runs;

const OPERATIONS: [&str; 4] = ["memory.read", "memory.write", "memory.copy", "memory.fill"];

pub(in crate::html) static KIND: FigureKind = FigureKind { id: "bandwidth_by_size", probes: &OPERATIONS, draw };

fn draw(runs: &Runs) -> Vec<Figure> {
    let mut all = Vec::new();
    let known: Vec<_> = OPERATIONS.iter().filter_map(|id| runs.probe(id)).collect();
    let mut together = Vec::new();
    for probe in &known {
        // One line a run: the probe's name is its label.
        let lines = series_along(runs, probe, &Along { axis: "size", least: 3, but: &["size"] });
        together.extend(lines.into_iter().map(|series| Series {
            label: each(|lang| {
                let (letter, name) = (series.label.get(lang), probe.title());
                format!("{letter} {}", name.get(lang)).trim_start().to_owned()
            }),
            ..series
        }));
    }
    let probes = known.iter().map(|probe| probe.id.to_owned()).collect();
    all.extend(figure(together, title("Memory bandwidth by size", "各大小的内存带宽"), probes));
    for probe in &known {
        let name = probe.title();
        for (axis, en, zh) in
            [("kernel", "by size and kernel", "各大小与内核"), ("threads", "by size and threads", "各大小与线程数")]
        {
            let lines = series_along(runs, probe, &Along { axis: "size", least: 2, but: &["size", axis] });
            if lines.len() > runs.all.len() {
                let title = title(&format!("{} {en}", name.en), &format!("{}：{zh}", name.zh));
                all.extend(figure(lines, title, vec![probe.id.to_owned()]));
            }
        }
    }
    all
}

fn figure(series: Vec<Series>, name: super::Words, probes: Vec<String>) -> Option<Figure> {
    let line = Line {
        x_title: title("size of the buffer", "缓冲区大小"),
        y_title: title("bandwidth", "带宽"),
        x: Kind::Size,
        y: Kind::Value(Unit::BytesPerSecond),
        series,
        borders: Vec::new(),
        beyond: None,
    };
    Some(Figure { title: name, note: None, chart: line.draw()?, probes })
}
