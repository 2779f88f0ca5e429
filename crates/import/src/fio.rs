//! Reads fio's JSON (`fio --output-format=json`, or json+): reads, writes, trims and syncs of each job.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Text, Unit};
use serde::Deserialize;

use super::bounded::{Amount, AtMost, NameMap, Short, each_document, or_default};
use super::foreign::{Foreign, ForeignQuantity, Further, ImportedValue, Source, axis_value};
use super::{ImportError, ImportFormat};
use crate::texts::fio as texts;

/// fio's JSON.
pub(super) const FORMAT: ImportFormat = ImportFormat { name: "fio", description: texts::DESCRIPTION, read };

const WHAT: &str = "what fio 3 wrote with --output-format=json";

const AXES: &[(&str, AxisKind)] = &[
    ("job", AxisKind::Choice),
    ("number", AxisKind::Count),
    ("pattern", AxisKind::Choice),
    ("block", AxisKind::Size),
    ("depth", AxisKind::Count),
    ("direct", AxisKind::Count),
];
const OPERATIONS: Further = Further("operations", Unit::OperationsPerSecond, term!("operations"));
const MEAN: Further = Further("mean", Unit::Nanoseconds, term!("mean"));
const P50: Further = Further("p50", Unit::Nanoseconds, term!("p50"));
const P90: Further = Further("p90", Unit::Nanoseconds, term!("p90"));
const P99: Further = Further("p99", Unit::Nanoseconds, term!("p99"));
const P999: Further = Further("p999", Unit::Nanoseconds, term!("p99.9"));
const PERCENTILES: [(&str, &str); 4] = [("p50", "50."), ("p90", "90."), ("p99", "99.0"), ("p999", "99.9")];

const fn transfer(id: &'static str, title: Text, what: Text) -> ForeignQuantity {
    let also = &[OPERATIONS, MEAN, P50, P90, P99, P999];
    ForeignQuantity { id, title, unit: Unit::BytesPerSecond, axes: AXES, also, what }
}

static SOURCE: Source = Source {
    format: "fio",
    tool: "fio",
    section: texts::SECTION,
    reading: texts::READING,
    programs: &[
        transfer("fio.read", texts::READ_TITLE, texts::READ),
        transfer("fio.write", texts::WRITE_TITLE, texts::WRITE),
        transfer("fio.trim", texts::TRIM_TITLE, texts::TRIM),
        transfer("fio.mixed", texts::MIXED_TITLE, texts::MIXED),
        ForeignQuantity {
            id: "fio.sync",
            title: texts::SYNC_TITLE,
            unit: Unit::Nanoseconds,
            axes: AXES,
            also: &[P50, P90, P99, P999],
            what: texts::SYNC,
        },
    ],
};

/// Most jobs of a file: more than anyone runs, and some hundred bytes each.
const MOST_JOBS: usize = 2000;
/// Options of a job that are worth keeping.
const KEPT: [(&str, &[&str]); 7] = [
    ("engine", &["ioengine"]),
    ("size", &["size", "filesize"]),
    ("runtime", &["runtime"]),
    ("jobs", &["numjobs"]),
    ("fsync", &["fsync"]),
    ("fdatasync", &["fdatasync"]),
    ("rate", &["rate", "rate_iops"]),
];

#[derive(Deserialize)]
struct FioFile {
    #[serde(rename = "fio version")]
    version: Short,
    #[serde(default, deserialize_with = "or_default")]
    timestamp: Amount,
    #[serde(default, deserialize_with = "or_default")]
    time: Short,
    #[serde(rename = "global options", default, deserialize_with = "or_default")]
    options: NameMap<Short>,
    #[serde(alias = "client_stats")]
    jobs: AtMost<Job, MOST_JOBS>,
}

#[derive(Deserialize)]
struct Job {
    jobname: Short,
    #[serde(default, deserialize_with = "or_default")]
    error: i64,
    #[serde(rename = "job options", default, deserialize_with = "or_default")]
    options: NameMap<Short>,
    #[serde(default, deserialize_with = "or_default")]
    hostname: Short,
    #[serde(default, deserialize_with = "or_default")]
    read: Transfer,
    #[serde(default, deserialize_with = "or_default")]
    write: Transfer,
    #[serde(default, deserialize_with = "or_default")]
    trim: Transfer,
    #[serde(default, deserialize_with = "or_default")]
    mixed: Transfer,
    #[serde(default, deserialize_with = "or_default")]
    sync: Sync,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Transfer {
    total_ios: Amount,
    bw_bytes: Option<Amount>,
    /// KiB a second.
    bw: Option<Amount>,
    iops: Option<Amount>,
    clat_ns: Latency,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Sync {
    lat_ns: Latency,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Latency {
    #[serde(rename = "N")]
    count: Amount,
    mean: Option<Amount>,
    percentile: NameMap<Amount>,
}

impl Latency {
    fn percentile(&self, start: &str) -> Option<f64> {
        // 50.000000, 99.900000: 99.0 and 99.9 begin differently, 99.90 and 99.95 not.
        let is_it = |name: &&String| name.starts_with(start) && name[start.len()..].bytes().all(|byte| byte == b'0');
        let name = self.percentile.0.keys().find(is_it)?;
        self.percentile.0.get(name).map(|ns| ns.0)
    }

    fn add(&self, mut value: ImportedValue) -> ImportedValue {
        for (name, start) in PERCENTILES {
            value = value.and(name, self.percentile(start));
        }
        value
    }
}

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut run = Foreign::of(&SOURCE);
    let mut is_read = false;
    let (line, rest) = each_document(input, WHAT, |file: FioFile| {
        if std::mem::replace(&mut is_read, true) {
            return Err("a second result begins here; import each alone".into());
        }
        keep(&mut run, file)
    })?;
    run.rest = rest;
    run.finish(line, || format!("no job of this file did anything; give {WHAT}"))
}

fn keep(run: &mut Foreign, file: FioFile) -> Result<(), String> {
    let version = &file.version.0;
    if !version.starts_with("fio-3") && !version.starts_with("fio-4") {
        return Err(format!("it is of {version}; files of fio 3 can be imported"));
    }
    run.version.clone_from(version);
    if file.timestamp.0 > 0.0 {
        run.begun_at(file.timestamp.0);
    }
    run.date = Some(file.time.0).filter(|time| !time.is_empty());
    let mut numbers: HashMap<String, u32> = HashMap::new();
    for job in file.jobs.0 {
        let number = numbers.entry(axis_value(&job.jobname.0)).or_default();
        *number += 1;
        keep_job(run, &job, *number, &file.options.0)?;
    }
    Ok(())
}

fn keep_job(run: &mut Foreign, job: &Job, number: u32, global: &BTreeMap<String, Short>) -> Result<(), String> {
    let option = |names: &[&str]| {
        let of =
            |options: &BTreeMap<String, Short>| names.iter().find_map(|name| options.get(*name)).map(|o| o.0.clone());
        of(&job.options.0).or_else(|| of(global))
    };
    // What fio takes where a job says nothing.
    let pattern = option(&["rw", "readwrite"]).unwrap_or_else(|| "read".into());
    let depth = option(&["iodepth"]).unwrap_or_else(|| "1".into());
    // buffered is the same asked the other way round.
    let buffered = option(&["buffered"]).map(|buffered| u8::from(buffered == "0").to_string());
    let direct = option(&["direct"]).or(buffered).unwrap_or_else(|| "0".into());
    let case = |probe: &'static str, samples: Vec<f64>| {
        let mut value = ImportedValue::new(probe, samples)
            .at("job", &job.jobname.0)
            .at("number", number)
            .at("pattern", &pattern)
            .at("block", block(probe, &option))
            .at("depth", &depth)
            .at("direct", &direct)
            .note("job", &job.jobname.0)
            .note("host", &job.hostname.0);
        for (key, names) in KEPT {
            value = value.note(key, option(names).unwrap_or_default());
        }
        value.failed = (job.error != 0).then(|| format!("fio ended this job with error {}", job.error));
        value
    };
    let transfers =
        [("fio.read", &job.read), ("fio.write", &job.write), ("fio.trim", &job.trim), ("fio.mixed", &job.mixed)];
    let mut did = false;
    for (probe, transfer) in transfers.into_iter().filter(|(_, transfer)| transfer.total_ios.0 > 0.0) {
        let rate = transfer.bw_bytes.or(transfer.bw.map(|kib| Amount(kib.0 * 1024.0)));
        let rate = rate.ok_or_else(|| format!("the job {} tells no bandwidth; give {WHAT}", job.jobname.0))?;
        let value = case(probe, vec![rate.0])
            .and("operations", transfer.iops.map(|rate| rate.0))
            .and("mean", transfer.clat_ns.mean.map(|ns| ns.0));
        run.keep(transfer.clat_ns.add(value))?;
        did = true;
    }
    if let (true, Some(mean)) = (job.sync.lat_ns.count.0 > 0.0, job.sync.lat_ns.mean) {
        run.keep(job.sync.lat_ns.add(case("fio.sync", vec![mean.0])))?;
        did = true;
    }
    if !did && job.error != 0 {
        // It did nothing before it failed: its pattern tells what it was to do.
        let probe = if pattern.contains("write") { "fio.write" } else { "fio.read" };
        run.keep(case(probe, Vec::new()))?;
    }
    Ok(())
}

/// The size of a block, or what it is drawn from. Of several between commas reads, writes and trims each have their own; the
/// last stands for those that are left.
fn block(probe: &str, option: &dyn Fn(&[&str]) -> Option<String>) -> String {
    let split = option(&["bssplit"]).map(|split| format!("split-{split}"));
    let block_size = split.or_else(|| option(&["bsrange", "blocksize_range"])).or_else(|| option(&["bs", "blocksize"]));
    let block_size = block_size.unwrap_or_else(|| "4k".into());
    let sizes: Vec<&str> = block_size.split(',').collect();
    let one = match probe {
        "fio.read" => sizes[0],
        "fio.write" => sizes[1.min(sizes.len() - 1)],
        "fio.trim" => sizes[2.min(sizes.len() - 1)],
        _ => &block_size,
    };
    bytes(one).map_or(one.to_owned(), |bytes| bytes.to_string())
}

/// `16k` as bytes; fio's k is 1024 unless told otherwise.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" | "b" => 0,
        "k" | "kb" | "ki" | "kib" => 10,
        "m" | "mb" | "mi" | "mib" => 20,
        "g" | "gb" | "gi" | "gib" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_and_what_is_no_size_is_none() {
        for (text, wanted) in
            [("4k", Some(4096)), ("512", Some(512)), ("1MiB", Some(1 << 20)), ("4k,8k", None), ("k", None)]
        {
            assert_eq!(bytes(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_percentile_is_found_by_its_number_and_not_by_another_that_begins_alike() {
        let percentile = ["50.000000", "99.000000", "99.900000", "99.950000", "99.990000"].into_iter().zip(1..);
        let percentile = NameMap(percentile.map(|(name, ns)| (name.to_owned(), Amount(f64::from(ns)))).collect());
        let latency = Latency { percentile, ..Latency::default() };
        let found = PERCENTILES.map(|(_, start)| latency.percentile(start));
        assert_eq!(found, [Some(1.0), None, Some(2.0), Some(3.0)]);
    }
}
