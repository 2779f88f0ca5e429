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
use sys::lookup::{self, KernelPath};
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

/// A file as many directories below the scratch directory as the axis `depth` says; its filesystem is noted.
fn file_below(case: &mut Case) -> Result<KernelPath> {
    let depth: usize = case.param("depth")?;
    let scratch = case.scratch_dir()?;
    case.note("filesystem", lookup::filesystem(&scratch)?);
    let mut path = scratch;
    // The scratch directory is the first.
    path.extend(std::iter::repeat_n("d", depth.saturating_sub(1)));
    std::fs::create_dir_all(&path)?;
    path.push("file");
    std::fs::write(&path, "x")?;
    Ok(KernelPath::new(&path)?)
}
