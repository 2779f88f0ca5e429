//! Group syscall: what it costs to enter the kernel for one small thing.

mod epoll;
mod fstat;
mod futex;
mod getpid;
mod io_uring;
mod null;
mod open_close;
mod poll;
mod read_zero;
mod select;
mod stat;
mod write_null;

crate::group!("syscall": null getpid read_zero write_null stat fstat open_close select poll epoll io_uring futex);

use hostmark_engine::prelude::*;
use sys::lookup::KernelPath;
use sys::readiness::{self, Descriptors};

/// Axis descriptors: how many are asked about at once.
const DESCRIPTORS: Axis = Axis::count(
    "descriptors",
    "100",
    Points::Listed { quick: &["100"], standard: &["10", "250", "500"], thorough: &[] },
);
/// Axis kind: what they are descriptors of.
const KIND: Axis =
    Axis::choice("kind", "tcp", Points::Listed { quick: &["tcp"], standard: &["file", "pipe"], thorough: &[] });

/// The descriptors that the case's axes name.
fn descriptors(case: &mut Case) -> Result<Descriptors> {
    let count: usize = case.param("descriptors")?;
    let many = |error| Stop::skipped(format!("{count} descriptors cannot be had: {error}"));
    match case.param::<String>("kind")?.as_str() {
        "file" => {
            let path = case.memory_dir()?.join("file");
            Descriptors::of_file(&std::fs::File::create(path)?.into(), count).map_err(many)
        }
        "pipe" => {
            let (ready, _) = readiness::ready_pipe()?;
            Descriptors::of_file(&ready, count).map_err(many)
        }
        _ => Descriptors::of_connection(count).map_err(many),
    }
}

/// Axis depth: directories on the way, of which the round's own is the first.
const DEPTH: Axis =
    Axis::count("depth", "1", Points::Listed { quick: &["1"], standard: &["4", "16"], thorough: &["64"] });

/// Files of one byte at the case's place, as many directories below it as the axis `depth` says.
fn files_below(case: &mut Case, count: usize) -> Result<Vec<KernelPath>> {
    let depth: usize = case.param("depth")?;
    let mut directory = crate::place::directory(case)?;
    directory.extend(std::iter::repeat_n("d", depth.saturating_sub(1)));
    std::fs::create_dir_all(&directory)?;
    let made = |number: usize| {
        let path = directory.join(format!("file{number}"));
        std::fs::write(&path, "x")?;
        Ok(KernelPath::new(&path)?)
    };
    (0..count).map(made).collect()
}

/// One of them.
fn file_below(case: &mut Case) -> Result<KernelPath> {
    files_below(case, 1)?.pop().ok_or_else(|| Stop::failed("one file was asked for, and none made"))
}
