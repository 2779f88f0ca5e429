//! The figures of a report: which values a person wants to see as a picture, and over what.
//!
//! Some are of probes known by name ([`FIGURES`]); every other probe gets what its axes suggest ([`of_probe`]).

mod generic;

use std::collections::HashSet;

use generic::{Along, series_along};
use hostmark_analysis::escape::visible;
use hostmark_analysis::format::{amount, number};
use hostmark_analysis::groups::distinct;
use hostmark_analysis::levels::{HIERARCHY, LEVELS, Level, UNNAMED, bracket_of, bracket_text, unnamed};
use hostmark_analysis::references::ReferenceValue;
use hostmark_model::{AxisKind, CaseId, CpuFact, Estimate, Message, Params, Run, Text, Unit};
use hostmark_say::say;

use crate::chart::scale::{GIGA, ScaleKind};
use crate::chart::{Border, Chart, Heat, HeatCell, LineChart, LinePoint, Parts, Series};
use crate::runs::{Case, Probe, Runs, interval, reading, value_and_interval};
use crate::views::host::id_list;
use crate::words::COMMA;

pub(super) use generic::{MOST_SAMPLES, of_probe, of_samples};

/// A picture with its title.
pub(super) struct Figure {
    pub(super) title: Message,
    pub(super) note: Option<Message>,
    pub(super) chart: Chart,
    /// The probes whose values it shows.
    pub(super) probes: Vec<String>,
}

/// A kind of figure over probes that it knows by name.
#[derive(Debug)]
pub struct FigureKind {
    pub id: &'static str,
    /// The probes that it reads; the command line's tests hold them against the catalogue.
    pub probes: &'static [&'static str],
    /// Figures; none where the runs have not enough of these probes.
    pub(super) draw: fn(&Runs) -> Vec<Figure>,
}

/// Every kind, in the order of the page.
pub static FIGURES: &[FigureKind] = &[
    FigureKind { id: "topology", probes: &[HIERARCHY], draw: |runs| topology(runs).into_iter().collect() },
    FigureKind { id: "latency_by_size", probes: &[LATENCY, HIERARCHY], draw: latencies },
    FigureKind { id: "bandwidth_by_size", probes: &OPERATIONS, draw: bandwidths },
    FigureKind { id: "core_to_core", probes: &[CORE_TO_CORE], draw: pairs_of_cpus },
    FigureKind { id: "nodes", probes: &[NUMA_LATENCY, NUMA_BANDWIDTH], draw: pairs_of_nodes },
    FigureKind { id: "roofline", probes: &[FLOPS, HIERARCHY, STREAM], draw: rooflines },
    FigureKind { id: "loaded_latency", probes: &[LOADED], draw: |runs| loaded_latency(runs).into_iter().collect() },
    FigureKind { id: "threads", probes: &[SCALING, LOADED], draw: by_threads },
    FigureKind { id: "context_switch", probes: &[SWITCH], draw: context_switches },
];

pub(super) struct Figures {
    /// Figures beside the constants.
    pub(super) leading: Vec<Figure>,
    pub(super) all: Vec<Figure>,
    /// The probes that they show.
    pub(super) shown: HashSet<String>,
}

pub(super) fn figures(runs: &Runs) -> Figures {
    let leading: Vec<Figure> = leading_latency(runs).into_iter().chain(leading_bandwidth(runs)).collect();
    let mut all: Vec<Figure> = FIGURES.iter().flat_map(|kind| (kind.draw)(runs)).collect();
    let shown = leading.iter().chain(&all).flat_map(|figure| figure.probes.iter().cloned()).collect();
    all.extend(generic::percentile_figures(runs));
    Figures { leading, all, shown }
}

const LATENCY: &str = "memory.latency";
const MEASURED: Text = term!("measured");
const REPORTED: Text = term!("reported");

/// The default line over size, with the ranges of the caches and the nearest reference's line behind it.
fn leading_latency(runs: &Runs) -> Option<Figure> {
    let probe = runs.probe(LATENCY)?;
    let mut series = series_along(runs, probe, &Along { axis: "size", least: 3, but: &["size"] });
    let behind = reference_along_size(runs, probe);
    if let ([one], Some(_)) = (series.as_mut_slice(), &behind) {
        one.label = term!("this machine").into();
    }
    latency_figure(runs, series, behind)
}

/// All lines over size, where there are more than the leading ones.
fn latencies(runs: &Runs) -> Vec<Figure> {
    let Some(probe) = runs.probe(LATENCY) else { return Vec::new() };
    let along = |but| series_along(runs, probe, &Along { axis: "size", least: 3, but });
    let (every, leading) = (along(&[]), along(&["size"]));
    let is_more = every.len() > leading.len();
    let title = term!("Memory latency by size and pattern").into();
    is_more
        .then(|| latency_figure(runs, every, None))
        .flatten()
        .map(|figure| Figure { title, ..figure })
        .into_iter()
        .collect()
}

/// Borders of the memory hierarchy's levels, of one run or of several alike, and the name of the part behind the last.
fn borders_of(runs: &Runs) -> (Vec<Border>, Option<Message>) {
    match runs.all {
        [run] => borders(run),
        all => (reported_alike(all), None),
    }
}

/// Values of the nearest reference of a run alone for a probe over size; none under three points.
fn reference_along_size(runs: &Runs, probe: &Probe) -> Option<Series> {
    let reference = runs.reference?.reference;
    let point = |value: &ReferenceValue| {
        let id: CaseId = value.id.parse().ok().filter(|id: &CaseId| id.probe == probe.id)?;
        let is_meant =
            value.quantity.is_empty() && value.differs.is_none() && probe.is_default_but(&id.params, &["size"]);
        let x = id.params.get("size")?.parse().ok().filter(|_| is_meant)?;
        Some(LinePoint { x, y: value.value, interval: None, reading: "".into() })
    };
    let mut points: Vec<LinePoint> = reference.values.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    let name = probe.title();
    let label = Message::joined([visible(&reference.name).into(), name], " · ");
    (points.len() >= 3).then(|| Series::joining(label, points))
}

fn latency_figure(runs: &Runs, series: Vec<Series>, behind: Option<Series>) -> Option<Figure> {
    let (borders, beyond) = borders_of(runs);
    let note = (!borders.is_empty()).then(|| match runs.all {
        [_] => Message::from(term!(
            "Solid verticals: where a level ends as measured; dotted: where it ends by what the host reports."
        )),
        _ => term!("Dotted verticals: where a level ends by what all these hosts report.").into(),
    });
    let lines = LineChart::of(
        (term!("size of the buffer").into(), ScaleKind::Size),
        (term!("latency of a load").into(), ScaleKind::Value(Unit::Nanoseconds)),
        series,
    );
    let chart = LineChart { borders, beyond, behind, ..lines }.draw()?;
    let probes = vec![LATENCY.to_owned(), HIERARCHY.to_owned()];
    Some(Figure { title: term!("Memory latency by size").into(), note, chart, probes })
}

/// Packages, memory nodes, caches and cores over the CPUs of the host of a run alone.
fn topology(runs: &Runs) -> Option<Figure> {
    let [run] = runs.all else { return None };
    let first = |cpu: &CpuFact, level: u8| run.host.cache(cpu.id, level)?.shared_cpus.iter().min().copied();
    let core = |cpu: &CpuFact| cpu.siblings.iter().min().copied();
    let mut cpus: Vec<&CpuFact> = run.host.cpus.iter().filter(|cpu| cpu.online).collect();
    // What is shared lies side by side.
    cpus.sort_by_cached_key(|cpu| (cpu.package, cpu.node, first(cpu, 3), first(cpu, 2), core(cpu), cpu.id));
    let row = |name: Message, size: Message, part: &dyn Fn(&CpuFact) -> Option<usize>| {
        let mut end = 0;
        let parts = cpus.chunk_by(|one, other| part(one) == part(other)).filter_map(|shared| {
            end += shared.len();
            let ids = id_list(&shared.iter().map(|cpu| cpu.id).collect::<Vec<usize>>());
            part(shared[0]).map(|_| (end - shared.len()..end, reading(name.clone(), format!("CPU {ids}").into())))
        });
        let parts: Vec<_> = parts.collect();
        let count = format!("× {}", parts.len());
        let label = reading(Message::joined([name.clone(), count.into()], " "), size);
        (!parts.is_empty()).then_some((label, parts))
    };
    let none = Message::default;
    let nodes = run.host.nodes.iter().filter(|_| run.host.nodes.len() > 1);
    let nodes = nodes.map(|node| amount(node.memory_bytes as f64, Unit::Bytes));
    let levels = LEVELS.iter().rev().filter_map(|level| Some((level, level.cache?)));
    let caches = levels.map(|(level, number)| row(level.name.into(), ends(run, level), &|cpu| first(cpu, number)));
    let rows = [
        row(term!("package").into(), none(), &|cpu| cpu.package),
        row(term!("memory node").into(), Message::joined(nodes, COMMA), &|cpu| cpu.node),
    ];
    let last = [row(term!("core").into(), none(), &core), row(Text::name("CPU").into(), none(), &|cpu| Some(cpu.id))];
    let rows = rows.into_iter().chain(caches).chain(last).flatten().collect();
    let chart = Parts { columns: cpus.len(), rows }.draw()?;
    Some(Figure { title: term!("Topology").into(), note: None, chart, probes: Vec::new() })
}

/// The size of a level as measured and as the host reports it.
fn ends(run: &Run, level: &Level) -> Message {
    let measured = level.bracket(run).and_then(|bracket| bracket_text(&bracket)).map(|parts| (MEASURED, parts));
    let reported = level.reported(run).map(|cache| (REPORTED, amount(cache.size_bytes as f64, Unit::Bytes)));
    let all = measured.into_iter().chain(reported);
    Message::joined(all.map(|(word, size)| Message::joined([word.into(), size], " ")), COMMA)
}

/// Ends of levels that every host reports; none where one reports another size than the others.
fn reported_alike(runs: &[Run]) -> Vec<Border> {
    let alike = |level: &Level| -> Option<Border> {
        let mut sizes = runs.iter().map(|run| level.reported(run).map(|cache| cache.size_bytes));
        let bytes = sizes.next()??;
        let reading = reading(level.name, Message::joined([REPORTED.into(), amount(bytes as f64, Unit::Bytes)], " "));
        sizes.all(|size| size == Some(bytes)).then_some(Border { at: bytes as f64, name: None, reading })
    };
    LEVELS.iter().filter_map(alike).collect()
}

/// Ends of levels, ascending, and the name of the part behind the last one.
fn borders(run: &Run) -> (Vec<Border>, Option<Message>) {
    let mut all = Vec::new();
    for level in LEVELS.iter().filter(|level| level.cache.is_some()) {
        let reported = level.reported(run).map(|cache| cache.size_bytes as f64);
        // As reported where that is not contradicted: the bracket is as wide as the points are apart.
        let measured = level.bracket(run).and_then(|bracket| bracket.size(reported));
        let reading = reading(level.name, ends(run, level));
        if let Some(at) = measured {
            all.push(Border { at, name: Some(level.name.into()), reading: reading.clone() });
        }
        if let Some(at) = reported.filter(|_| measured != reported) {
            all.push(Border { at, name: None, reading });
        }
    }
    for case in unnamed(run) {
        let Some(bracket) = bracket_of(case).filter(|bracket| bracket.leaves.is_some()) else { continue };
        let (Some(at), Some(parts)) = (bracket.size(None), bracket_text(&bracket)) else { continue };
        let reading = reading(UNNAMED, Message::joined([MEASURED.into(), parts], " "));
        all.push(Border { at, name: Some("–".into()), reading });
    }
    all.sort_by(|one, other| one.at.total_cmp(&other.at));
    let last = LEVELS.last().filter(|level| level.case(run).and_then(|case| case.measured()).is_some());
    let has_names = all.iter().any(|border| border.name.is_some());
    (all, last.filter(|_| has_names).map(|level: &Level| level.name.into()))
}

const OPERATIONS: [&str; 4] = ["memory.read", "memory.write", "memory.copy", "memory.fill"];

fn bandwidth_line(series: Vec<Series>) -> LineChart {
    LineChart::of(
        (term!("size of the buffer").into(), ScaleKind::Size),
        (term!("bandwidth").into(), ScaleKind::Value(Unit::BytesPerSecond)),
        series,
    )
}

/// The operations over size, with the ranges of the caches and the reads of the nearest reference.
fn leading_bandwidth(runs: &Runs) -> Option<Figure> {
    let known: Vec<_> = OPERATIONS.iter().filter_map(|id| runs.probe(id)).collect();
    let (borders, beyond) = borders_of(runs);
    let behind =
        known.iter().find(|probe| probe.id == OPERATIONS[0]).and_then(|probe| reference_along_size(runs, probe));
    let line = LineChart { borders, beyond, behind, ..bandwidth_line(together(runs, &known)) };
    let probes = known.iter().map(|probe| probe.id.to_owned()).collect();
    let name = term!("Memory bandwidth by size").into();
    Some(Figure { title: name, note: None, chart: line.draw()?, probes })
}

/// The default line of each of these operations.
fn together(runs: &Runs, known: &[&Probe]) -> Vec<Series> {
    let mut together = Vec::new();
    for probe in known {
        // One line a run: the probe's name is its label.
        let lines = series_along(runs, probe, &Along { axis: "size", least: 3, but: &["size"] });
        let named = |series: Series| Series { label: Message::joined([series.label, probe.title()], " "), ..series };
        together.extend(lines.into_iter().map(named));
    }
    together
}

fn bandwidths(runs: &Runs) -> Vec<Figure> {
    let mut all = Vec::new();
    let known: Vec<_> = OPERATIONS.iter().filter_map(|id| runs.probe(id)).collect();
    for probe in &known {
        let name = probe.title();
        for (axis, by) in [("kernel", term!("by size and kernel")), ("threads", term!("by size and threads"))] {
            let lines = series_along(runs, probe, &Along { axis: "size", least: 2, but: &["size", axis] });
            if lines.len() > runs.all.len() {
                let title = say!("{probe} {by}", probe = name);
                let chart = bandwidth_line(lines).draw();
                let probes = vec![probe.id.to_owned()];
                all.extend(chart.map(|chart| Figure { title, note: None, chart, probes }));
            }
        }
    }
    all
}

const LOADED: &str = "memory.loaded_latency";

fn loaded_latency(runs: &Runs) -> Option<Figure> {
    let probe = runs.probe(LOADED)?;
    let mixes = distinct(probe.cases.iter().map(|case| case.params.get("mix").unwrap_or("")));
    let mut series = Vec::new();
    for run in 0..runs.all.len() {
        for mix in &mixes {
            let of_mix = probe.measured(run).filter(|(case, _)| case.params.get("mix").unwrap_or("") == *mix);
            let point = |(case, estimate): (&crate::runs::Case, &hostmark_model::Estimate)| {
                let injected = case.record(run)?.measured()?.also.get("injected")?.estimate.value();
                let shown = value_and_interval(estimate, probe.unit());
                let delay = case.params.get("delay").unwrap_or("");
                let beside = amount(injected, Unit::BytesPerSecond);
                let reading = say!("{beside}, delay {delay}: {shown}");
                Some(LinePoint { x: injected, y: estimate.value(), interval: interval(estimate), reading })
            };
            let mut points: Vec<LinePoint> = of_mix.filter_map(point).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            if !points.is_empty() {
                series.push(Series::joining(runs.of_run(run, Message::plain(*mix)), points));
            }
        }
    }
    let line = LineChart::of(
        (term!("traffic of the other CPUs").into(), ScaleKind::Value(Unit::BytesPerSecond)),
        (term!("latency of a load").into(), ScaleKind::Value(Unit::Nanoseconds)),
        series,
    );
    let title = term!("Memory latency by load").into();
    Some(Figure { title, note: None, chart: line.draw()?, probes: vec![LOADED.to_owned()] })
}

const SCALING: &str = "memory.scaling";
const SWITCH: &str = "sched.context_switch";

/// Figure of a probe along an axis of numbers, all other axes but these at their default.
fn along(
    runs: &Runs,
    id: &str,
    (axis, label): (&str, Text),
    (value, title): (Text, Text),
    but: &[&str],
) -> Option<Figure> {
    let probe = runs.probe(id)?;
    let series = series_along(runs, probe, &Along { axis, least: 2, but });
    let ends = ((label.into(), ScaleKind::Count), (value.into(), ScaleKind::Value(probe.unit())));
    let chart = LineChart::of(ends.0, ends.1, series).draw()?;
    Some(Figure { title: title.into(), note: None, chart, probes: vec![id.to_owned()] })
}

/// Bandwidth and latency of memory by how many CPUs use it.
fn by_threads(runs: &Runs) -> Vec<Figure> {
    let threads = ("threads", term!("CPUs that use memory, number"));
    let bandwidth = (term!("bandwidth of all"), term!("Memory bandwidth by CPUs"));
    let latency = (term!("latency of a load"), term!("Memory latency by CPUs"));
    let bandwidth = along(runs, SCALING, threads, bandwidth, &["threads", "order", "mix"]);
    bandwidth.into_iter().chain(along(runs, LOADED, threads, latency, &["threads"])).collect()
}

fn context_switches(runs: &Runs) -> Vec<Figure> {
    let processes = ("processes", term!("processes in the ring, number"));
    let name = (term!("context switch"), term!("Context switch by processes and footprint"));
    along(runs, SWITCH, processes, name, &["processes", "footprint"]).into_iter().collect()
}

const FLOPS: &str = "cpu.flops";
const STREAM: &str = "memory.stream";
/// The ends of the drawing, operations a byte: a sum of numbers read once has 1/8, a large product of matrices over ten.
const LEAST_INTENSITY: f64 = 1.0 / 32.0;
const MOST_INTENSITY: f64 = 64.0;

fn rooflines(runs: &Runs) -> Vec<Figure> {
    (0..runs.all.len()).filter_map(|run| roofline(runs, run)).collect()
}

/// The roofline of a run: one core over each level, and all threads over memory. None without a peak and a bandwidth.
fn roofline(runs: &Runs, run: usize) -> Option<Figure> {
    let flops = runs.probe(FLOPS)?;
    let of_threads = |probe: &Probe, threads: Option<&str>| -> Option<(f64, f64)> {
        let at = |params: &Params| -> f64 { params.get("threads").and_then(|at| at.parse().ok()).unwrap_or(1.0) };
        let cases = probe.measured(run).filter(|(case, _)| probe.is_default_but(case.params, &["threads"]));
        let wanted = cases.filter(|(case, _)| threads.is_none_or(|one| case.params.get("threads") == Some(one)));
        wanted.map(|(case, estimate)| (at(case.params), estimate.value())).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let (_, peak) = of_threads(flops, Some("1"))?;
    let mut series: Vec<Series> = Vec::new();
    for level in LEVELS {
        let Some(read) = level.also(&runs.all[run], "read").map(Estimate::value) else { continue };
        series.extend(roof(say!("one core, {level}", level = level.name), peak, read));
    }
    let stream = runs.probe(STREAM).and_then(|stream| {
        let triad = stream.cases.iter().filter(|case| case.params.get("kernel") == Some("triad"));
        triad.filter_map(|case| case.estimate(run)).map(Estimate::value).reduce(f64::max)
    });
    if let (Some((threads, all)), Some(stream)) = (of_threads(flops, None), stream)
        && threads > 1.0
    {
        let label = say!("{threads} threads, STREAM triad");
        series.extend(roof(label, all, stream));
    }
    let line = LineChart::of(
        (term!("operations for each byte (flop/B)").into(), ScaleKind::Intensity),
        (term!("f64 arithmetic, GFLOP/s").into(), ScaleKind::Flops),
        series,
    );
    let name = runs.of_run(run, term!("Roofline").into());
    let note = Message::from(term!(
        "A program with so few operations a byte is bound by the level's bandwidth on the slope, and by arithmetic on the flat part."
    ));
    Some(Figure { title: name, note: Some(note), chart: line.draw()?, probes: Vec::new() })
}

/// The slope of a bandwidth up to the peak.
fn roof(label: Message, peak: f64, bandwidth: f64) -> Option<Series> {
    let ridge = peak / bandwidth;
    if !(ridge.is_finite() && peak > 0.0 && bandwidth > 0.0) {
        return None;
    }
    let from = amount(bandwidth, Unit::BytesPerSecond);
    let point = |x: f64| {
        let y = (bandwidth * x).min(peak);
        let bound = if y < peak { from.clone() } else { term!("peak of arithmetic").into() };
        let reading = say!("{x:.3} flop/B: {rate} GFLOP/s ({bound})", rate = number(y / GIGA));
        LinePoint { x, y, interval: None, reading }
    };
    let mut at = vec![LEAST_INTENSITY, MOST_INTENSITY];
    at.extend(Some(ridge).filter(|at| (LEAST_INTENSITY..MOST_INTENSITY).contains(at)));
    at.sort_by(f64::total_cmp);
    Some(Series::joining(label, at.into_iter().map(point).collect()))
}

const CORE_TO_CORE: &str = "cpu.core_to_core";
const NUMA_LATENCY: &str = "memory.numa_latency";
const NUMA_BANDWIDTH: &str = "memory.numa_bandwidth";

fn pairs_of_cpus(runs: &Runs) -> Vec<Figure> {
    let name = term!("Core to core").into();
    of_pairs(runs, (CORE_TO_CORE, "cpus"), &name, ["CPU", "CPU"].map(Message::plain), LEAST_CPUS)
}

fn pairs_of_nodes(runs: &Runs) -> Vec<Figure> {
    let sides = [term!("node of the memory"), Text { en: "CPUs", zh: "CPU" }].map(Message::from);
    let names = [
        (NUMA_LATENCY, term!("Latency between nodes").into()),
        (NUMA_BANDWIDTH, term!("Bandwidth between nodes").into()),
    ];
    names.iter().flat_map(|(id, name)| of_pairs(runs, (id, "nodes"), name, sides.clone(), 2)).collect()
}

/// CPUs from which on a map of their pairs says more than the table.
const LEAST_CPUS: usize = 4;

/// A map for each run with so many names at least. Pairs of CPUs have no direction.
fn of_pairs(
    runs: &Runs,
    (id, axis): (&str, &str),
    name: &Message,
    [columns, rows]: [Message; 2],
    least: usize,
) -> Vec<Figure> {
    let mirrored = axis == "cpus";
    let Some(probe) = runs.probe(id) else { return Vec::new() };
    let mut all = Vec::new();
    for run in 0..runs.all.len() {
        let pairs: Vec<(usize, usize, &Case)> = (probe.cases.iter())
            .filter(|case| case.estimate(run).is_some() && probe.is_default_but(case.params, &[axis]))
            .filter_map(|case| pair(case.params.get(axis)?).map(|(one, other)| (one, other, case)))
            .collect();
        let mut names: Vec<usize> = pairs.iter().flat_map(|(one, other, _)| [*one, *other]).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() < least {
            continue;
        }
        let at = |name: usize| names.binary_search(&name).unwrap_or(0);
        let mut cells = Vec::new();
        for (one, other, case) in &pairs {
            cells.extend(cell(probe, case, axis, run, (at(*one), at(*other))));
            if mirrored {
                cells.extend(cell(probe, case, axis, run, (at(*other), at(*one))));
            }
        }
        // The keyboard goes through cells as one reads.
        cells.sort_by_key(|cell| (cell.row, cell.column));
        let short: fn(f64) -> Message = match probe.unit() {
            Unit::BytesPerSecond => |at| amount(at, Unit::BytesPerSecond),
            _ => |at| amount(at, Unit::Nanoseconds),
        };
        let heat = Heat { columns: columns.clone(), rows: rows.clone(), names, cells, short };
        let Some(chart) = heat.draw() else { continue };
        let title = runs.of_run(run, name.clone());
        all.push(Figure { title, note: None, chart, probes: vec![id.to_owned()] });
    }
    all
}

fn cell(probe: &Probe, case: &Case, axis: &str, run: usize, (row, column): (usize, usize)) -> Option<HeatCell> {
    let estimate = case.estimate(run)?;
    let point = case.params.get(axis)?;
    let before = match probe.labels.kind(axis) {
        AxisKind::Nodes => say!("nodes {point}"),
        _ => format!("CPU {point}").into(),
    };
    let reading = reading(before, value_and_interval(estimate, probe.unit()));
    Some(HeatCell { row, column, value: estimate.value(), reading })
}

/// `3-17` as a pair of numbers.
fn pair(point: &str) -> Option<(usize, usize)> {
    let (one, other) = point.split_once('-')?;
    Some((one.parse().ok()?, other.parse().ok()?))
}
