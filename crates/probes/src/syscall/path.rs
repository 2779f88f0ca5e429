//! Probes of calls that find a file by its path.

use std::io;

use hostmark_engine::prelude::*;

use crate::workloads::storage::files;
use crate::workloads::storage::path_ops::{self, BENEATH, Directory, KernelPath};

/// Probe syscall.stat: the status of a file, by its path or open.
pub static STAT: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::ways("call", "stat", Points::quick(&["stat", "fstat"]).standard(&["statx"])),
        super::DEPTH,
        crate::place::PLACE,
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["call", "place"] }],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_stat),
    ..crate::texts::syscall::STAT
};

fn measure_stat(case: &mut Case) -> Result<()> {
    let call: String = case.param("call")?;
    if call == "fstat" {
        let path = crate::place::directory(case)?.join("file");
        files::write(&path, b"x", 0o600)?;
        let file = files::open(&path, false)?;
        return case.calls(|| path_ops::fstat(&file)).time();
    }
    let files = super::Files::below(case, 1)?;
    let path = files.first()?;
    match call.as_str() {
        "statx" => {
            path.statx().or_lacking(|| say!("this call is not available"))?;
            case.calls(|| path.statx()).time()
        }
        _ => case.calls(|| path.stat()).time(),
    }
}

/// Probe syscall.getdents: a directory is read from its beginning to its end, by the number of its entries.
pub static GETDENTS: Probe = Probe {
    axes: &[
        Axis::count("entries", "100", Points::quick(&["100"]).standard(&["1", "1000"]).thorough(&["10000"])),
        crate::place::PLACE,
    ],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure_getdents),
    ..crate::texts::syscall::GETDENTS
};

fn measure_getdents(case: &mut Case) -> Result<()> {
    let entries: usize = case.param("entries")?;
    let path = crate::place::directory(case)?.join("entries");
    std::fs::create_dir(&path).call("mkdir")?;
    for number in 0..entries {
        files::write(&path.join(format!("{number:08}")), b"", 0o600)?;
    }
    let mut directory = Directory::open(&path)?;
    let (names, bytes) = directory.count()?;
    if names != entries {
        let text = say!("{names} of {entries} names were read");
        return Err(RoundError::wrong(text));
    }
    case.calls(|| directory.read_all(bytes)).time()
}

/// Probe syscall.open_close: a file is found by its path, opened and closed.
pub static OPEN_CLOSE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("call", "openat", Points::quick(&["openat"]).standard(&["openat2", "openat2_beneath"])),
        super::DEPTH,
        Axis::choice("place", "tmpfs", Points::quick(&["tmpfs"]).standard(&["scratch", "scratch_cold"])),
    ],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Within(|params| (params.get("place") != Some("scratch_cold")).then_some(0.0)),
    measure: Measure::Run(measure_open_close),
    ..crate::texts::syscall::OPEN_CLOSE
};

/// Files of a cold pass: it is long against reading the clock, and no file stays in a core's own cache till then.
const FILES: usize = 200;
/// A pass over forgotten files takes at least so many times one over the same files right after it, if they were forgotten.
const COLDER: f64 = 1.5;

fn measure_open_close(case: &mut Case) -> Result<()> {
    match case.param::<String>("call")?.as_str() {
        "openat2" => by(case, |path| path.open2_close(0)),
        "openat2_beneath" => by(case, |path| path.open2_close(BENEATH)),
        _ => by(case, KernelPath::open_close),
    }
}

fn by(case: &mut Case, open_close: impl Fn(&KernelPath) -> io::Result<()>) -> Result<()> {
    if case.param::<String>("place")? == "scratch_cold" {
        return cold(case, open_close);
    }
    let files = super::Files::below(case, 1)?;
    let path = files.first()?;
    open_close(path).or_lacking(|| say!("this call is not available"))?;
    case.calls(|| open_close(path)).time()
}

fn cold(case: &mut Case, open_close: impl Fn(&KernelPath) -> io::Result<()>) -> Result<()> {
    let files = super::Files::below(case, FILES)?;
    let paths = &files.paths;
    let (mut colds_ns, mut warms_ns) = (Vec::new(), Vec::new());
    case.timed(|clock| {
        for path in paths {
            path.forget().or_unable(ReasonCode::Filesystem, || say!("this filesystem forgets no single file"))?;
        }
        let pass = || {
            let start = clock.start();
            paths.iter().try_for_each(&open_close)?;
            Ok::<_, RoundError>(clock.end().since(start))
        };
        let (took, again) = (pass()?, pass()?);
        colds_ns.push(clock.ns(took));
        warms_ns.push(clock.ns(again));
        Ok((took, FILES as u64))
    })
    .time()?;
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    match least(&colds_ns) < COLDER * least(&warms_ns) {
        true => Err(RoundError::skipped(
            ReasonCode::Filesystem,
            say!("the filesystem keeps files in its cache, though made to forget them"),
        )),
        false => Ok(()),
    }
}
