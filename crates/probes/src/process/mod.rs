//! Group process: making processes and ending them.

crate::group!("process": fork_exit = FORK_EXIT exec = EXEC fork_resident = FORK_RESIDENT spawn = SPAWN thread = THREAD);

use std::path::{Path, PathBuf};

use hostmark_engine::prelude::*;

use crate::workloads;
use crate::workloads::processes::small_parent::{self, LeftOut};
use crate::workloads::processes::{ChildStack, PreparedProgram};

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processes and system calls");

/// The smallest program there is, in the scratch directory.
fn static_program(case: &mut Case) -> Result<PathBuf> {
    let path = case.scratch_dir()?.join("exit");
    workloads::storage::files::write(&path, &workloads::processes::smallest_elf(), 0o755)?;
    Ok(path)
}

/// Times starting a program in some way; one that ends badly at its first run is the host's lack, not a cost.
fn by_way(case: &mut Case, mut run: impl FnMut() -> std::io::Result<()>) -> Result<()> {
    let _left_out = small_parent(case);
    run().or_lacking(|| say!("the program cannot be executed here"))?;
    case.calls(run).time()
}

/// Makes this process cheaper to fork, as a small C program is, for children that do nothing but system calls, while the result lives.
fn small_parent(case: &mut Case) -> Option<LeftOut> {
    share_relocated(case);
    noted(case, LeftOut::libraries())
}

/// The same for children that need all libraries.
fn share_relocated(case: &mut Case) {
    noted(case, small_parent::share_relocated());
}

/// Notes the error where something forbids it.
fn noted<T>(case: &mut Case, made: std::io::Result<T>) -> Option<T> {
    made.inspect_err(|error| case.note("parent_not_small", error)).ok()
}

/// Probe process.fork_exit: a child is made, ends at once, and is waited for.
pub static FORK_EXIT: Probe = Probe {
    revision: 2,
    axes: &[Axis::choice("way", "syscall", Points::quick(&["syscall", "libc"])), Axis::copies(Profile::Standard)],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure_fork_exit),
    ..crate::texts::process::FORK_EXIT
};

fn measure_fork_exit(case: &mut Case) -> Result<()> {
    if let Some(bytes) = sys::process::resident_bytes() {
        case.note("parent_resident_bytes", bytes);
    }
    match case.param::<String>("way")?.as_str() {
        "libc" => {
            sys::process::only_one_thread()?;
            share_relocated(case);
            case.calls(workloads::processes::fork_exit_by_libc).time()
        }
        _ => {
            let _left_out = small_parent(case);
            case.calls(workloads::processes::fork_exit).time()
        }
    }
}

/// Probe process.exec: a child is made, becomes another program, by itself or through the shell, and is waited for.
pub static EXEC: Probe = Probe {
    revision: 2,
    axes: &[
        Axis::ways("way", "fork", Points::quick(&["fork", "shell"])),
        Axis::choice("child", "static", Points::quick(&["static", "dynamic"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["way", "child"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure_exec),
    ..crate::texts::process::EXEC
};

/// The dynamically linked program: every system has it, and it does nothing.
const DYNAMIC: &str = "/bin/true";

fn measure_exec(case: &mut Case) -> Result<()> {
    let path = match case.param::<String>("child")?.as_str() {
        "dynamic" => DYNAMIC.into(),
        _ => static_program(case)?,
    };
    case.note("program", path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()));
    let program = match case.param::<String>("way")?.as_str() {
        "shell" => {
            if let Ok(shell) = std::fs::canonicalize("/bin/sh") {
                case.note("shell", shell.display());
            }
            PreparedProgram::new(Path::new("/bin/sh"), &["-c", &path.display().to_string()])?
        }
        _ => PreparedProgram::new(&path, &[])?,
    };
    by_way(case, || program.run())
}

/// Probe process.fork_resident: what a fork costs by the memory that the parent has resident.
pub static FORK_RESIDENT: Probe = Probe {
    revision: 2,
    also: &[STANDSTILL],
    axes: &[
        Axis::size(
            "resident",
            "67108864",
            Points::quick(&["67108864"])
                .standard(&["4096", "4194304", "16777216", "268435456", "1073741824"])
                .thorough(&["1048576", "134217728", "536870912"]),
        ),
        Axis::choice("page", "base", Points::quick(&["base"]).standard(&["pmd"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["resident", "page"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure_fork_resident),
    ..crate::texts::process::FORK_RESIDENT
};

const STANDSTILL: Quantity =
    Quantity::given("call", Unit::Nanoseconds, Better::Lower, term!("fork() blocks the parent"));

fn measure_fork_resident(case: &mut Case) -> Result<()> {
    let pages = match case.param::<String>("page")?.as_str() {
        "pmd" => case.may_have_huge_pages().map(|()| Pages::Pmd)?,
        _ => Pages::Base,
    };
    let resident = case.param("resident")?;
    let _resident = case.buffer(resident, pages, None)?;
    let _left_out = small_parent(case);
    let mut calls_ns = Vec::new();
    case.timed(|clock| {
        let start = clock.start();
        let child = workloads::processes::forked()?;
        let made = clock.end();
        child.wait()?;
        let ended = clock.end();
        calls_ns.push(clock.ns(made.since(start)));
        Ok(ended.since(start))
    })
    .time()?;
    // The first was thrown away with its sample.
    case.also(STANDSTILL.name, calls_ns.into_iter().skip(1))
}

/// Probe process.spawn: a program is started without copying the parent, and waited for.
pub static SPAWN: Probe = Probe {
    revision: 2,
    axes: &[
        Axis::choice("way", "posix_spawn", Points::quick(&["posix_spawn"]).standard(&["vfork", "clone3"])),
        Axis::size("resident", "0", Points::quick(&["0"]).standard(&["268435456"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["way", "resident"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure_spawn),
    ..crate::texts::process::SPAWN
};

fn measure_spawn(case: &mut Case) -> Result<()> {
    let resident: u64 = case.param("resident")?;
    let path = static_program(case)?;
    let program = PreparedProgram::new(&path, &[])?;
    let _resident = if resident > 0 { Some(case.buffer(resident, Pages::Base, None)?) } else { None };
    match case.param::<String>("way")?.as_str() {
        "vfork" => {
            let mut stack = ChildStack::new()?;
            by_way(case, || program.run_by_vfork(&mut stack))
        }
        "clone3" => by_way(case, || program.run_by_clone3()),
        _ => by_way(case, || program.run_by_posix_spawn()),
    }
}

/// Probe process.thread: a thread is made, ends at once, and is joined.
pub static THREAD: Probe = Probe {
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(|case| case.calls(workloads::processes::create_and_join).time()),
    ..crate::texts::process::THREAD
};
