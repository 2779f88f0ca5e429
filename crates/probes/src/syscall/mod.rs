//! Group syscall: what it costs to enter the kernel for one small thing.

mod parallel;
mod path;

crate::group!("syscall", shares_worker true:
    null = NULL getpid = GETPID byte = BYTE stat = path::STAT getdents = path::GETDENTS
    open_close = path::OPEN_CLOSE readiness = parallel::READINESS io_uring = IO_URING futex = FUTEX
    seccomp = SECCOMP bpf = BPF parallel = parallel::PARALLEL kernel_null = KERNEL_NULL
);

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, PoisonError, RwLock};

use hostmark_engine::prelude::sys::waits;
use hostmark_engine::prelude::*;
use sys::call_filter::{LooksAt, allow_all_after};

use crate::workloads::machine::bpf::{Program, Work};
use crate::workloads::machine::kernel_module::KernelOperation;
use crate::workloads::storage::files;
use crate::workloads::storage::path_ops::KernelPath;
use crate::workloads::storage::uring::Nops;
use crate::{in_kernel, workloads};

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processes and system calls");

/// Axis depth: components of the path that the kernel walks from the working directory, the file's name among them, wherever the scratch
/// directory lies. The default is that of lmbench's own file.
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

/// Probe syscall.null: into the kernel and back with next to nothing done there.
pub static NULL: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::copies(Profile::Quick)],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_null),
    ..crate::texts::syscall::NULL
};

fn measure_null(case: &mut Case) -> Result<()> {
    by(case, workloads::getppid)
}

/// Probe syscall.getpid: the process id, from the kernel by a function or by the bare instruction, and from the C library.
pub static GETPID: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice("way", "syscall", Points::quick(&["syscall", "bare", "libc"]))],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_getpid),
    ..crate::texts::syscall::GETPID
};

fn measure_getpid(case: &mut Case) -> Result<()> {
    match case.param::<String>("way")?.as_str() {
        "libc" => by(case, || std::process::id().into()),
        "bare" => by(case, workloads::bare_getpid),
        _ => by(case, workloads::getpid),
    }
}

/// The time of `ask`, unrolled.
#[inline(always)]
fn by(case: &mut Case, ask: impl Fn() -> u64) -> Result<()> {
    case.loops(|n| {
        for _ in 0..n {
            std::hint::black_box(ask());
        }
    })
    .time()
}

/// Probe syscall.byte: one byte through the virtual file system, with next to no device behind it.
pub static BYTE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::ways("call", "read", Points::quick(&["read", "write"]))],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_byte),
    ..crate::texts::syscall::BYTE
};

fn measure_byte(case: &mut Case) -> Result<()> {
    if case.param::<String>("call")? == "write" {
        let file = files::open(Path::new("/dev/null"), true).or_lacking(|| say!("/dev/null cannot be opened"))?;
        return case.calls(|| files::write_byte(&file)).time();
    }
    let file = files::open(Path::new("/dev/zero"), false).or_lacking(|| say!("/dev/zero cannot be opened"))?;
    case.calls(|| files::read_byte(&file)).time()
}

/// Probe syscall.io_uring: an operation that does nothing through io_uring, by batch, called and polled.
pub static IO_URING: Probe = Probe {
    revision: 2,
    axes: &[
        Axis::count("batch", "1", Points::quick(&["1"]).standard(&["4", "32"]).thorough(&["2", "8", "16"])),
        crate::submission::SUBMISSION,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["batch", "submission"] }],
    limit: Limit::CyclesPerOp,
    core_bound: crate::submission::CORE_BOUND,
    measure: Measure::Run(measure_io_uring),
    ..crate::texts::syscall::IO_URING
};

fn measure_io_uring(case: &mut Case) -> Result<()> {
    let batch: u32 = case.param("batch")?;
    let poller = crate::submission::poller(case, true)?;
    let mut nops = Nops::new(batch, poller).or_lacking(|| say!("io_uring is not available"))?;
    case.calls(|| nops.submit_and_complete()).each(u64::from(batch)).time()
}

/// Probe syscall.futex: what a lock costs while nobody contends for it, and a wake-up that wakes nobody.
pub static FUTEX: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice(
        "way",
        "wake",
        Points::quick(&["wake"]).standard(&["wake_shared", "wait", "lock", "read_lock", "write_lock"]),
    )],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_futex),
    ..crate::texts::syscall::FUTEX
};

fn measure_futex(case: &mut Case) -> Result<()> {
    let word = AtomicU32::new(1);
    let nobody = |result: std::io::Result<usize>| match result {
        Ok(0) => Ok(()),
        Ok(_) => Err(RoundError::wrong(say!("somebody waited on a word that only this thread knows"))),
        Err(error) => Err(RoundError::lacking(say!("futex is not available"), &error)),
    };
    nobody(waits::futex_wake(&word, true))?;
    match case.param::<String>("way")?.as_str() {
        // A lock that is poisoned is locked none the less.
        "lock" => {
            let mutex = Mutex::new(0_u64);
            locked(case, || *black_box(&mutex).lock().unwrap_or_else(PoisonError::into_inner) += 1)
        }
        "read_lock" => {
            let lock = RwLock::new(0_u64);
            locked(case, || {
                black_box(*black_box(&lock).read().unwrap_or_else(PoisonError::into_inner));
            })
        }
        "write_lock" => {
            let lock = RwLock::new(0_u64);
            locked(case, || *black_box(&lock).write().unwrap_or_else(PoisonError::into_inner) += 1)
        }
        "wait" => case
            .calls(|| match waits::futex_wait(&word, 2, true) {
                Ok(false) => Ok(()),
                Ok(true) => Err(RoundError::wrong(say!("the word has a value that nobody gave it"))),
                Err(error) => Err(RoundError::from(error)),
            })
            .time(),
        way => {
            let is_private = way == "wake";
            case.calls(|| nobody(waits::futex_wake(&word, is_private))).time()
        }
    }
}

/// The time of `once`, which locks, touches what is guarded, and unlocks.
fn locked(case: &mut Case, once: impl Fn()) -> Result<()> {
    case.loops(|n| (0..n).for_each(|_| once())).time()
}

/// Probe syscall.seccomp: a null call behind a filter of system calls, by the filter's length and by what it looks at.
pub static SECCOMP: Probe = Probe {
    axes: &[
        Axis::choice("filter", "argument", Points::quick(&["argument", "number", "none"])),
        Axis::count("instructions", "64", Points::quick(&["64"]).standard(&["2", "512"]).thorough(&["4096"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["filter", "instructions"] }],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure_seccomp),
    ..crate::texts::syscall::SECCOMP
};

fn measure_seccomp(case: &mut Case) -> Result<()> {
    let looks_at = match case.param::<String>("filter")?.as_str() {
        "number" => Some(LooksAt::Number),
        "argument" => Some(LooksAt::Argument),
        _ => None,
    };
    let instructions = case.param::<u16>("instructions")?;
    let cpus = case.thread_cpus();
    case.workers(&cpus, |_| {
        // The filter is this thread's alone, which ends with the round.
        if let Some(at) = looks_at {
            allow_all_after(instructions, at).or_lacking(|| say!("cannot install a seccomp filter"))?;
        }
        Ok(|calls: u64| {
            for _ in 0..calls {
                std::hint::black_box(workloads::getppid());
            }
        })
    })
    .time()
}

/// Duration of a run as the kernel reports it.
const KERNEL: Quantity = Quantity::given("kernel", Unit::Nanoseconds, Better::Lower, term!("as the kernel timed it"));

/// Probe syscall.bpf: how long an eBPF program takes inside the kernel, by what it does.
pub static BPF: Probe = Probe {
    also: &[Quantity::CORE_CYCLES, Quantity::REFERENCE_CYCLES, Quantity::BATCH_CYCLES, KERNEL],
    axes: &[Axis::choice("program", "empty", Points::quick(&["empty", "add", "time", "array", "hash"]))],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure_bpf),
    ..crate::texts::syscall::BPF
};

/// Number of calls in a row that signals end from which on it is no chance.
const INTERRUPTED: usize = 100;

fn measure_bpf(case: &mut Case) -> Result<()> {
    let work: Work = case.param("program")?;
    let mut program = Program::load(work).or_lacking(|| say!("cannot load a BPF program"))?;
    let mut kernel_ns = Vec::new();
    let batches = case.timed_batches(|clock, runs, _| {
        let times = u32::try_from(runs)?;
        for _ in 0..INTERRUPTED {
            let start = clock.start();
            match program.run(times) {
                Ok(took_ns) => {
                    let took = clock.end().since(start);
                    kernel_ns.push(f64::from(took_ns));
                    return Ok((took, runs));
                }
                // Any signal to this process ends the call, and the kernel says nothing of the runs until then.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => program.resume()?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(RoundError::wrong(say!("signals ended every run of the BPF program")))
    });
    batches.time()?;
    program.check()?;
    case.also(KERNEL.name, kernel_ns)
}

/// Probe syscall.kernel_null: an indirect call of an empty function inside the kernel.
pub static KERNEL_NULL: Probe = Probe {
    also: Quantity::OF_BATCHES,
    axes: &[Axis::bind_elsewhere(), in_kernel::IRQ],
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(|case| in_kernel::measure(case, 16, KernelOperation::NullCall)),
    ..crate::texts::syscall::KERNEL_NULL
};

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
