//! Reads fio's JSON (`fio --output-format=json`, or json+): reads, writes, trims and syncs of each job.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Count, Size};
use hostmark_model::{Message, Run, Text, Unit};
use hostmark_say::say;
use serde::Deserialize;

use super::bounded::{Amount, AtMost, NameMap, Plain, Short, bytes, shortened};
use super::foreign::{Axis, Foreign, Further, ImportedValue, axis_value, quantity, read_documents};
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "fio",
    tool: "fio",
    what: WHAT,
    nothing: term!("no job of this file did anything"),
    texts: crate::texts::fio::TEXTS,
    programs: &[
        quantity("fio.read", Unit::BytesPerSecond, AXES).with(TRANSFER),
        quantity("fio.write", Unit::BytesPerSecond, AXES).with(TRANSFER),
        quantity("fio.trim", Unit::BytesPerSecond, AXES).with(TRANSFER),
        quantity("fio.mixed", Unit::BytesPerSecond, AXES).with(TRANSFER),
        quantity("fio.sync", Unit::Nanoseconds, AXES).with(&[P50, P90, P99, P999]),
    ],
    read,
};

const WHAT: Text = term!("what fio 3 wrote with --output-format=json");

const AXES: &[Axis] =
    &[("job", Choice), ("number", Count), ("pattern", Choice), ("block", Size), ("depth", Count), ("direct", Count)];
const OPERATIONS: Further = Further("operations", Unit::OperationsPerSecond, term!("operations"));
const MEAN: Further = Further("mean", Unit::Nanoseconds, term!("mean"));
const P50: Further = Further("p50", Unit::Nanoseconds, term!("p50"));
const P90: Further = Further("p90", Unit::Nanoseconds, term!("p90"));
const P99: Further = Further("p99", Unit::Nanoseconds, term!("p99"));
const P999: Further = Further("p999", Unit::Nanoseconds, term!("p99.9"));
const PERCENTILES: [(&str, &str); 4] = [("p50", "50."), ("p90", "90."), ("p99", "99.0"), ("p999", "99.9")];

const TRANSFER: &[Further] = &[OPERATIONS, MEAN, P50, P90, P99, P999];

/// Most jobs of a file: more than anyone runs, and some hundred bytes each.
const MOST_JOBS: usize = 2000;
/// Options by another name that fio takes as well.
const ALIASES: [(&str, &str); 3] = [("readwrite", "rw"), ("blocksize", "bs"), ("blocksize_range", "bsrange")];
/// Options that are axes, or name the job and its outputs.
const NOT_ASKED: &str = "rw iodepth direct buffered bs bsrange bssplit name description write_bw_log write_lat_log \
    write_iops_log write_hist_log log_avg_msec log_hist_msec log_hist_coarseness log_max_value log_offset log_prio \
    log_unix_epoch log_compression log_store_compressed bwavgtime iopsavgtime";

#[derive(Deserialize)]
struct FioFile {
    #[serde(rename = "fio version")]
    version: Short,
    timestamp: Option<Amount>,
    time: Option<Short>,
    #[serde(default, rename = "global options")]
    options: NameMap<Plain>,
    #[serde(alias = "client_stats")]
    jobs: AtMost<Job, MOST_JOBS>,
}

#[derive(Deserialize)]
struct Job {
    jobname: Short,
    error: Option<i64>,
    #[serde(default, rename = "job options")]
    options: NameMap<Plain>,
    hostname: Option<Short>,
    read: Option<Transfer>,
    write: Option<Transfer>,
    trim: Option<Transfer>,
    mixed: Option<Transfer>,
    sync: Option<Transfer>,
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

    fn add(&self, value: ImportedValue) -> ImportedValue {
        PERCENTILES.iter().fold(value, |value, (name, start)| value.and(name, self.percentile(start)))
    }
}

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut is_read = false;
    read_documents(&FORMAT, input, |run, file: FioFile| match std::mem::replace(&mut is_read, true) {
        true => Err(say!("a second result begins here; import each alone")),
        false => keep(run, file),
    })
}

fn keep(run: &mut Foreign, file: FioFile) -> Result<(), Message> {
    let version = &file.version.0;
    if !version.starts_with("fio-3") && !version.starts_with("fio-4") {
        let version = shortened(version);
        return Err(say!("it is of {version}; files of fio 3 can be imported"));
    }
    run.version.clone_from(version);
    run.begun_at(file.timestamp);
    run.date_is(&file.time.unwrap_or_default().0);
    let mut numbers: HashMap<String, u32> = HashMap::new();
    for job in file.jobs.0 {
        let number = numbers.entry(axis_value(&job.jobname.0)).or_default();
        *number += 1;
        keep_job(run, &job, *number, &file.options.0)?;
    }
    Ok(())
}

fn keep_job(run: &mut Foreign, job: &Job, number: u32, global: &BTreeMap<String, Plain>) -> Result<(), Message> {
    let called = |name: &String| {
        ALIASES.iter().find(|(other, _)| other == name).map_or(name.clone(), |(_, name)| (*name).to_owned())
    };
    // One that stands alone is set.
    let told = |option: &Plain| if option.0.is_empty() { Plain("1".to_owned()) } else { option.clone() };
    let all = global.iter().chain(&job.options.0).map(|(name, option)| (called(name), told(option)));
    // A job's own come last.
    let options: BTreeMap<String, Plain> = all.collect();
    let option = |name: &str| options.get(name).map(|option| option.0.as_str());
    let error = job.error.filter(|error| *error != 0);
    // What fio takes where a job says nothing.
    let pattern = option("rw").unwrap_or("read");
    // buffered is the same asked the other way round.
    let buffered = option("buffered").map(|buffered| if buffered == "0" { "1" } else { "0" });
    let block_size = option("bssplit").map(|split| format!("split-{split}"));
    let block_size = block_size.or_else(|| Some(option("bsrange").or_else(|| option("bs"))?.to_owned()));
    let block_size = block_size.unwrap_or_else(|| "4k".into());
    let case = |probe: &'static str, samples: Vec<f64>| {
        let mut value = ImportedValue::new(probe, samples)
            .at("job", &job.jobname.0)
            .at("number", number)
            .at("pattern", pattern)
            .at("block", block(probe, &block_size))
            .at("depth", option("iodepth").unwrap_or("1"))
            .at("direct", option("direct").or(buffered).unwrap_or("0"))
            .note("job", &job.jobname.0)
            .note("host", job.hostname.as_ref().map_or("", |host| &host.0))
            // The other directions' blocks.
            .asked("bs", if block_size.contains(',') { &block_size } else { "" })
            .asked_but(NOT_ASKED, &options);
        value.failed = error.map(|error| say!("fio ended this job with error {error}"));
        value
    };
    let transfers =
        [("fio.read", &job.read), ("fio.write", &job.write), ("fio.trim", &job.trim), ("fio.mixed", &job.mixed)];
    let mut did = false;
    for (probe, transfer) in transfers.into_iter().filter_map(|(probe, transfer)| Some((probe, transfer.as_ref()?))) {
        if transfer.total_ios.0 == 0.0 {
            continue;
        }
        let rate = transfer.bw_bytes.or(transfer.bw.map(|kib| Amount(kib.0 * 1024.0)));
        let name = shortened(&job.jobname.0);
        let rate = rate.ok_or_else(|| say!("the job {name} tells no bandwidth; give {WHAT}"))?;
        let value = case(probe, vec![rate.0])
            .and("operations", transfer.iops.map(|rate| rate.0))
            .and("mean", transfer.clat_ns.mean.map(|ns| ns.0));
        run.keep(transfer.clat_ns.add(value))?;
        did = true;
    }
    if let Some(Transfer { lat_ns: latency @ Latency { mean: Some(mean), count, .. }, .. }) = &job.sync
        && count.0 > 0.0
    {
        run.keep(latency.add(case("fio.sync", vec![mean.0])))?;
        did = true;
    }
    if !did && error.is_some() {
        // It did nothing before it failed: its pattern tells what it was to do.
        let probe = if pattern.contains("write") { "fio.write" } else { "fio.read" };
        run.keep(case(probe, Vec::new()))?;
    }
    Ok(())
}

/// The size of a block, or what it is drawn from. Of several between commas reads, writes and trims each have their own; the
/// last stands for those that are left.
fn block(probe: &str, block_size: &str) -> String {
    let sizes: Vec<&str> = block_size.split(',').collect();
    let one = match probe {
        "fio.read" => sizes[0],
        "fio.write" => sizes[1.min(sizes.len() - 1)],
        "fio.trim" => sizes[2.min(sizes.len() - 1)],
        _ => block_size,
    };
    bytes(one).map_or(one.to_owned(), |bytes| bytes.to_string())
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
