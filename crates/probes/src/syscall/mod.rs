//! Group syscall: what it costs to enter the kernel for one small thing.

mod bpf;
mod epoll;
mod fstat;
mod futex;
mod getdents;
mod getpid;
mod io_uring;
mod kernel_null;
mod null;
mod open_close;
mod parallel;
mod poll;
mod read_zero;
mod seccomp;
mod select;
mod stat;
mod write_null;

crate::group!("syscall", shares_worker true: null getpid read_zero write_null stat fstat getdents open_close select poll epoll io_uring futex seccomp bpf parallel kernel_null);

use std::path::PathBuf;

use crate::workloads::network::readiness::{self, Descriptors};
use crate::workloads::storage::files;
use crate::workloads::storage::path_ops::KernelPath;
use hostmark_engine::prelude::*;

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
    let many = |error| RoundError::lacking(say!("cannot open {count} descriptors"), &error);
    match case.param::<String>("kind")?.as_str() {
        "file" => {
            let path = case.memory_dir()?.join("file");
            files::write(&path, b"", 0o600)?;
            Descriptors::of_file(&files::open(&path, true)?, count).map_err(many)
        }
        "pipe" => {
            let (ready, _) = readiness::ready_pipe()?;
            Descriptors::of_file(&ready, count).map_err(many)
        }
        _ => Descriptors::of_connection(count).map_err(many),
    }
}

/// Axis depth: components of the path that the kernel walks, the file's name among them. It begins at the working directory,
/// so that neither where the scratch directory lies nor a mount on the way there is part of the value. The default is as
/// many as lmbench's own file has.
const DEPTH: Axis =
    Axis::count("depth", "4", Points::Listed { quick: &["4"], standard: &["1", "16"], thorough: &["64"] });

/// Name of each directory on the way: of a usual length, since the kernel hashes every letter.
const DIRECTORY: &str = "section";

/// Files of one byte, and the round's directory as the working directory as long as they are needed.
struct Files {
    paths: Vec<KernelPath>,
    /// Where the worker was before: what cleans up may go by a relative path.
    home: PathBuf,
}

impl Files {
    /// `count` files at the case's place, by paths of as many components as the axis `depth` says.
    fn below(case: &mut Case, count: usize) -> Result<Files> {
        let depth: usize = case.param("depth")?;
        let directory = crate::place::directory(case)?;
        let mut files = Files { paths: Vec::with_capacity(count), home: std::env::current_dir().call("getcwd")? };
        std::env::set_current_dir(&directory).call("chdir")?;
        for number in 0..count {
            let path = path(depth, number);
            if let Some(directories) = path.parent() {
                std::fs::create_dir_all(directories).call("mkdir")?;
            }
            files::write(&path, b"x", 0o600)?;
            files.paths.push(KernelPath::new(&path)?);
        }
        Ok(files)
    }

    /// One of them, to be walked to over and over.
    fn first(&self) -> Result<&KernelPath> {
        self.paths
            .first()
            .ok_or_else(|| RoundError::failed(ReasonCode::Internal, say!("one file was asked for, and none made")))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Where that directory is gone there is nothing to go back to.
        let _ = std::env::set_current_dir(&self.home);
    }
}

/// The path of file `number` from the working directory, of `depth` components.
fn path(depth: usize, number: usize) -> PathBuf {
    let mut path: PathBuf = std::iter::repeat_n(DIRECTORY, depth.saturating_sub(1)).collect();
    path.push(format!("file{number}"));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_walked_has_as_many_components_as_its_axis_says() {
        for depth in [1, 4, 16, 64] {
            let path = path(depth, 7);
            assert!(path.is_relative() && path.components().count() == depth, "{depth}: {}", path.display());
        }
        // /usr/include/sys/types.h
        assert_eq!(DEPTH.default, "4");
    }
}
