//! The cost of an access to a file, taken apart: inside the kernel, from user space, and both in a guest, each over the
//! plain access inside the kernel of the first environment, which is as fast as the hardware goes.

use hostmark_model::{CaseRecord, Params, Text, Unit};

use super::value::{Value, middle};
use super::{Environment, Row, Table, both, cell_over};
use crate::format::{number, percent};

/// Where an operation is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Kernel,
    User,
}

/// An operation, with the probe of each side.
struct Operation {
    name: Text,
    kernel: &'static str,
    user: &'static str,
}

impl Operation {
    fn probe(&self, side: Side) -> &'static str {
        match side {
            Side::Kernel => self.kernel,
            Side::User => self.user,
        }
    }
}

static READ: Operation =
    Operation { name: Text { en: "READ", zh: "读" }, kernel: "file.kernel_read", user: "file.read_start" };
static WRITE: Operation =
    Operation { name: Text { en: "WRITE", zh: "写" }, kernel: "file.kernel_write", user: "file.overwrite" };
static OPERATIONS: [&Operation; 2] = [&READ, &WRITE];

/// Whether `probe` is one of those that are taken apart here.
pub(super) fn is_part(probe: &str) -> bool {
    OPERATIONS.iter().any(|operation| operation.kernel == probe || operation.user == probe)
}

/// The points at which the operations of a side were measured anywhere, in the order of the runs.
fn points(environments: &[Environment], side: Side) -> Vec<Params> {
    let is_of_side = |case: &&CaseRecord| OPERATIONS.iter().any(|operation| operation.probe(side) == case.probe);
    let mut points: Vec<Params> = Vec::new();
    let cases = environments.iter().flat_map(|environment| &environment.runs).flat_map(|run| &run.cases);
    for case in cases.filter(is_of_side) {
        if !points.contains(&case.params) {
            points.push(case.params.clone());
        }
    }
    points
}

fn id(probe: &str, point: &Params) -> String {
    hostmark_model::CaseId { probe: probe.to_owned(), params: point.clone() }.to_string()
}

/// Side and point that all is held against: those of the case that was named, else the first of the kernel, else the first
/// there is.
fn base_point(first: &Environment, named: Option<&CaseRecord>) -> Option<(Side, Params)> {
    if let Some(case) = named {
        let side =
            if OPERATIONS.iter().any(|operation| operation.user == case.probe) { Side::User } else { Side::Kernel };
        return Some((side, case.params.clone()));
    }
    let alone = std::slice::from_ref(first);
    [Side::Kernel, Side::User].into_iter().find_map(|side| Some((side, points(alone, side).into_iter().next()?)))
}

/// All tables; none where no run has such a case.
pub(super) fn tables(environments: &[Environment], named: Option<&CaseRecord>, all: bool) -> Vec<Table> {
    let Some(first) = environments.first() else { return Vec::new() };
    let Some((side, point)) = base_point(first, named) else { return Vec::new() };
    let bases = OPERATIONS.map(|operation| Value::of(first, &id(operation.probe(side), &point)));
    let mut tables = Vec::new();
    for environment in environments {
        for side in [Side::Kernel, Side::User] {
            tables.extend(values(environments, environment, side));
        }
    }
    for (index, environment) in environments.iter().enumerate() {
        for measured in [Side::Kernel, Side::User] {
            let title = title(index == 0, measured, environment, &base_name(first, side, &point));
            tables.extend(percentages(environments, environment, measured, &bases, title, all));
        }
    }
    tables.extend(ratio(environments));
    tables.extend(deviation(environments));
    tables
}

fn base_name(first: &Environment, side: Side, point: &Params) -> Text<String> {
    let (place, at) = (place(side), at(point));
    Text {
        en: format!("{}, {}, {}", first.name, place.en, at.en),
        zh: format!("{}，{}，{}", first.name, place.zh, at.zh),
    }
}

fn place(side: Side) -> Text {
    match side {
        Side::Kernel => Text { en: "inside the kernel", zh: "内核态" },
        Side::User => Text { en: "in user space", zh: "用户态" },
    }
}

/// A point as it is written in a head of a column.
fn at(point: &Params) -> Text<String> {
    let points: Vec<String> = point.0.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    match points.is_empty() {
        true => Text { en: "plain".into(), zh: "默认".into() },
        false => both(points.join(" ")),
    }
}

fn title(is_first: bool, side: Side, environment: &Environment, base: &Text<String>) -> Text<String> {
    let name: Text = match (is_first, side) {
        (true, Side::Kernel) => Text { en: "Kernel overhead", zh: "内核开销" },
        (true, Side::User) => Text { en: "OS overhead", zh: "操作系统开销" },
        (false, Side::Kernel) => {
            Text { en: "Hypervisor + kernel overhead", zh: "虚拟机监控程序与内核的开销" }
        }
        (false, Side::User) => {
            Text { en: "Hypervisor + guest OS overhead", zh: "虚拟机监控程序与客户机操作系统的开销" }
        }
    };
    let (environment, place) = (environment.name, place(side));
    Text {
        en: format!("{}: {environment}, {}, over {}", name.en, place.en, base.en),
        zh: format!("{}：{environment}，{}，基准为 {}", name.zh, place.zh, base.zh),
    }
}

/// A table with a row for each operation and a column for each point of a side; none where the environment has no value of
/// that side.
fn table(
    environments: &[Environment],
    environment: &Environment,
    side: Side,
    title: Text<String>,
    cell: impl Fn(usize, Result<Value, Text<String>>) -> Text<String>,
) -> Option<Table> {
    let points = points(environments, side);
    let value = |operation: &Operation, point: &Params| Value::of(environment, &id(operation.probe(side), point));
    let is_measured = OPERATIONS.iter().any(|operation| points.iter().any(|point| value(operation, point).is_ok()));
    let row = |(index, operation): (usize, &&Operation)| Row {
        label: operation.name.to_owned_text(),
        cells: points.iter().map(|point| cell(index, value(operation, point))).collect(),
    };
    is_measured.then(|| Table {
        title,
        columns: points.iter().map(at).collect(),
        rows: OPERATIONS.iter().enumerate().map(row).collect(),
    })
}

fn values(environments: &[Environment], environment: &Environment, side: Side) -> Option<Table> {
    let place = place(side);
    let (name, runs) = (environment.name, environment.runs.len());
    let title = Text {
        en: format!("{name}, {}: median of {runs} {}", place.en, if runs == 1 { "run" } else { "runs" }),
        zh: format!("{name}，{}：{runs} 次运行的中位数", place.zh),
    };
    table(environments, environment, side, title, |_, value| value.map_or_else(|why| why, |value| value.text()))
}

fn percentages(
    environments: &[Environment],
    environment: &Environment,
    side: Side,
    bases: &[Result<Value, Text<String>>; 2],
    title: Text<String>,
    all: bool,
) -> Option<Table> {
    table(environments, environment, side, title, |operation, value| match &bases[operation] {
        Ok(base) => cell_over(&value, base, all),
        Err(why) => Text { en: format!("no base: {}", why.en), zh: format!("没有基准：{}", why.zh) },
    })
}

/// How many times as long a write takes as a read, by environment and side; and the mean over these.
fn ratio(environments: &[Environment]) -> Option<Table> {
    let mut rows = Vec::new();
    let mut means = Vec::new();
    for environment in environments {
        for side in [Side::Kernel, Side::User] {
            let of =
                |operation: &Operation, point: &Params| Value::of(environment, &id(operation.probe(side), point)).ok();
            let ratios: Vec<(Text<String>, f64)> = points(environments, side)
                .iter()
                .filter_map(|point| {
                    let (read, write) = (of(&READ, point)?, of(&WRITE, point)?);
                    let is_alike = read.unit == write.unit && read.median > 0.0;
                    is_alike.then(|| (at(point), times(&write, &read)))
                })
                .collect();
            if ratios.is_empty() {
                continue;
            }
            let mean = ratios.iter().map(|(_, ratio)| ratio).sum::<f64>() / ratios.len() as f64;
            means.push(mean);
            let list = |lang: fn(&Text<String>) -> &str| {
                let parts: Vec<String> =
                    ratios.iter().map(|(at, ratio)| format!("{} {}", lang(at), two_digits(*ratio))).collect();
                parts.join("  ")
            };
            let place = place(side);
            let label = Text {
                en: format!("{}, {}", environment.name, place.en),
                zh: format!("{}，{}", environment.name, place.zh),
            };
            let cells = vec![both(two_digits(mean)), Text { en: list(|at| &at.en), zh: list(|at| &at.zh) }];
            rows.push(Row { label, cells });
        }
    }
    let mean = (means.len() > 1).then(|| means.iter().sum::<f64>() / means.len() as f64);
    rows.extend(mean.map(|mean| Row {
        label: Text { en: "mean of these".into(), zh: "以上的平均".into() },
        cells: vec![both(two_digits(mean)), both("–")],
    }));
    (!rows.is_empty()).then(|| Table {
        title: Text {
            en: "Write/read ratio: what a write takes, in times of a read".into(),
            zh: "写/读比：写所需为读的倍数".into(),
        },
        columns: vec![Text { en: "mean".into(), zh: "平均".into() }, Text { en: "each".into(), zh: "各项".into() }],
        rows,
    })
}

/// What one takes in times of the other, also where they are rates.
fn times(one: &Value, other: &Value) -> f64 {
    match one.unit {
        Some(Unit::BytesPerSecond | Unit::OperationsPerSecond) => other.median / one.median,
        _ => one.median / other.median,
    }
}

fn two_digits(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2}") } else { number(ratio) }
}

/// Standard deviation over mean, by environment, side and operation: the least, the middle and the greatest of the points.
fn deviation(environments: &[Environment]) -> Option<Table> {
    let mut rows = Vec::new();
    for environment in environments {
        for side in [Side::Kernel, Side::User] {
            for operation in OPERATIONS {
                let at_point =
                    |point: &Params| Value::of(environment, &id(operation.probe(side), point)).ok()?.deviation;
                let mut all: Vec<f64> = points(environments, side).iter().filter_map(at_point).collect();
                all.sort_by(f64::total_cmp);
                let (Some(least), Some(most), Some(middle)) = (all.first(), all.last(), middle(all.iter().copied()))
                else {
                    continue;
                };
                let (name, place) = (environment.name, place(side));
                let label = Text {
                    en: format!("{name}, {}, {}", place.en, operation.name.en),
                    zh: format!("{name}，{}，{}", place.zh, operation.name.zh),
                };
                rows.push(Row { label, cells: [*least, middle, *most].map(|part| both(percent(part))).into() });
            }
        }
    }
    let head = |en: &str, zh: &str| Text { en: en.to_owned(), zh: zh.to_owned() };
    (!rows.is_empty()).then(|| Table {
        title: head("Deviation/mean of all samples, over the columns above", "全部样本的标准差/平均值，取自以上各列"),
        columns: vec![head("least", "最小"), head("middle", "中间"), head("greatest", "最大")],
        rows,
    })
}
