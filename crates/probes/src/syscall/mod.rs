//! Group syscall: what it costs to enter the kernel for one small thing.

mod bpf;
mod byte;
mod futex;
mod getdents;
mod getpid;
mod io_uring;
mod kernel_null;
mod null;
mod open_close;
mod parallel;
mod readiness;
mod seccomp;
mod stat;

crate::group!("syscall", shares_worker true: null getpid byte stat getdents open_close readiness io_uring futex seccomp bpf parallel kernel_null);

use std::path::PathBuf;

use crate::workloads::storage::files;
use crate::workloads::storage::path_ops::KernelPath;
use hostmark_engine::prelude::*;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processes and system calls");

/// Axis depth: components of the path that the kernel walks, the file's name among them. It begins at the working directory,
/// so that neither where the scratch directory lies nor a mount on the way there is part of the value. The default is as
/// many as lmbench's own file has.
const DEPTH: Axis = Axis::count("depth", "4", Points::quick(&["4"]).standard(&["1", "16"]).thorough(&["64"]));

/// Name of each directory on the way: of a usual length, since the kernel hashes every letter.
const DIRECTORY: &str = "section";

/// Files of one byte, and the round's directory as the working directory as long as they are needed.
struct Files {
    paths: Vec<KernelPath>,
    /// Working directory before: what cleans up may go by a relative path.
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

    /// Returns one of them, to be walked to over and over.
    fn first(&self) -> Result<&KernelPath> {
        self.paths.first().ok_or_else(|| RoundError::internal(say!("one file was asked for, and none made")))
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
