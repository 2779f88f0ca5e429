//! Which rows of processes are measured, and on how many CPUs.

use hostmark_engine::prelude::*;

/// The rows that are measured: those of `dd` and `nc` as they are, the same with larger blocks and `pv`, the parts of which they are made, and those that copy less.
pub const PATHS: Points = Points::Listed {
    quick: &["zero_pipe_poll_socket_poll_null", "zero_pipe_socket_null", "memory_socket_memory", "file_socket_null"],
    standard: &[
        "zero_null",
        "file_null",
        "memory_pipe_memory",
        "memory_socket_memory_close",
        "memory_socket_memory_behind",
        "cold_file_null",
        "cold_file_socket_null",
        "file_poll_socket_poll_null",
        "zero_pipe_socket_pipe_null",
        "zero_pipe_socket_pipe_pipe_null",
        "file_pipe_socket_null",
        "memory_socket_pipe_memory",
        "zero_pipe_splice_socket_null",
        "zero_pipe_socket_splice_null",
        "file_splice_socket_null",
        "file_sendfile_socket_null",
        "memory_zero_copy_socket_memory",
    ],
    thorough: &[],
};

/// On how many CPUs: one, and where a run has the time two and all.
pub fn cpus(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = (host.usable_cpus().len() as u64).max(1);
    let most = if profile == Profile::Quick { 1 } else { all };
    let mut numbers: Vec<u64> = [1, 2, all].into_iter().filter(|&cpus| cpus <= most).collect();
    numbers.dedup();
    numbers
}
