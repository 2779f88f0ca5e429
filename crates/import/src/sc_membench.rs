//! Reads the table of sc-membench: bandwidth and latency of memory by size, operation and threads.

use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Text, Unit};

use super::foreign::{Foreign, ForeignQuantity, ImportedValue, Source, no_result, t};
use super::lines::{amount, each_line};
use super::{ImportError, ImportFormat};

/// sc-membench's table.
pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "sc-membench",
    description: Text { en: "the CSV of sc-membench", zh: "sc-membench 的 CSV" },
    read,
};

const AXES: &[(&str, AxisKind)] =
    &[("operation", AxisKind::Choice), ("size", AxisKind::Size), ("threads", AxisKind::Count)];

static SOURCE: Source = Source {
    format: "sc-membench",
    tool: "sc-membench",
    section: t("Measured by sc-membench", "sc-membench 测得"),
    reading: t(
        "The best of several tries. Its versions count the size for each thread, or for all: the file does not tell which.",
        "多次尝试中的最佳值。不同版本的大小指每个线程或全部线程，文件没有说明。",
    ),
    programs: &[
        ForeignQuantity {
            id: "sc_membench.bandwidth",
            title: t("sc-membench: bandwidth", "sc-membench：带宽"),
            unit: Unit::BytesPerSecond,
            axes: AXES,
            also: &[],
            what: t(
                "Bytes of all threads per second; a copied byte counts once.",
                "全部线程每秒的字节数；复制的字节计一次。",
            ),
        },
        ForeignQuantity {
            id: "sc_membench.latency",
            title: t("sc-membench: latency", "sc-membench：延迟"),
            unit: Unit::Nanoseconds,
            axes: AXES,
            also: &[],
            what: t("The time of a load that needs the one before.", "依赖前一次结果的一次加载所需时间。"),
        },
    ],
};

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let what = "the CSV that sc-membench prints";
    let mut run = Foreign::of(&SOURCE);
    let mut names: Vec<String> = Vec::new();
    let lines = each_line(input, what, |line, text| {
        let cells: Vec<&str> = text.split(',').collect();
        if cells.contains(&"bandwidth_mb_s") {
            names = cells.iter().map(|name| (*name).to_owned()).collect();
        } else if !names.is_empty() && text.starts_with(|c: char| c.is_ascii_digit()) {
            row(&mut run, &names, &cells).map_err(|what| ImportError { line, what })?;
        }
        Ok(())
    })?;
    run.finish(lines, || no_result(what))
}

fn row(run: &mut Foreign, names: &[String], cells: &[&str]) -> Result<(), String> {
    let cell = |name: &str| names.iter().position(|known| known == name).and_then(|at| cells.get(at));
    let number = |name: &str| amount(cell(name).copied().unwrap_or_default(), name);
    let size = if cell("size_kb").is_some() { number("size_kb")? * 1024.0 } else { number("size_bytes")? };
    let operation = cell("operation").copied().unwrap_or_default();
    let (probe, value) = match operation {
        "latency" => ("sc_membench.latency", number("latency_ns")?),
        _ => ("sc_membench.bandwidth", number("bandwidth_mb_s")? * f64::from(1 << 20)),
    };
    let value = ImportedValue::new(probe, vec![value]).at("operation", operation).at("size", size);
    run.keep(value.at("threads", number("threads")?).note("seconds", number("elapsed_s")?))
}
