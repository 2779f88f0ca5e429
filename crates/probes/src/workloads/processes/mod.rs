//! Programs and threads: started, waited for, ended.

pub mod command;
pub mod hog;
pub mod small_parent;

use std::ffi::{CString, c_char, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitStatus;

use hostmark_engine::prelude::{ReasonCode, say};

use crate::workloads::call::{fault, named};
use crate::workloads::checked;
use crate::workloads::child::ChildId;
use crate::workloads::machine::arch;
use crate::workloads::memory::{Buffer, Pages};

/// First status by which a child says that its exec failed: the rest is the error's number.
const EXEC_FAILED: i32 = 0x80;
/// The same of an error whose number has no room there.
const EXEC_FAILED_SOMEHOW: i32 = 0xff;

/// A program with its arguments, made ready before anything is timed.
#[derive(Debug)]
pub struct PreparedProgram {
    /// Keeps what `arguments` points to.
    _words: Vec<CString>,
    arguments: Vec<*const c_char>,
}

impl PreparedProgram {
    /// `path` with its arguments, the program's own name first.
    pub fn new(path: &Path, arguments: &[&str]) -> io::Result<PreparedProgram> {
        let first = CString::new(path.as_os_str().as_bytes());
        let words: Result<Vec<CString>, _> =
            std::iter::once(first).chain(arguments.iter().map(|&word| CString::new(word))).collect();
        let words = words?;
        let ends = std::iter::once(std::ptr::null());
        let arguments = words.iter().map(|word| word.as_ptr()).chain(ends).collect();
        Ok(PreparedProgram { _words: words, arguments })
    }

    /// Forks by clone(2), executes the program with an empty environment and waits. Fails unless it ended with status 0.
    #[inline]
    pub fn run(&self) -> io::Result<()> {
        // SAFETY: as in `fork::fork_exit`: the child goes on on its copy of this stack, and does nothing but execve and
        // exit_group, which are safe whatever other threads held when it was made.
        let child = unsafe { arch::call(libc::SYS_clone, [libc::SIGCHLD as usize, 0, 0, 0, 0, 0]) };
        if child == 0 {
            self.become_it();
        }
        // SAFETY: what the call has just returned.
        let child = unsafe { ChildId::started("clone", checked("clone", child)? as i64) }?;
        child.wait_status().and_then(ended_well)
    }

    /// Forks by vfork(2): the child has the parent's memory and a stack of its own; the parent stands still until the execve.
    #[inline]
    pub fn run_by_vfork(&self, stack: &mut ChildStack) -> io::Result<()> {
        extern "C" fn execute(program: *mut libc::c_void) -> libc::c_int {
            // SAFETY: the parent stands still inside `run_by_vfork`, with `self` borrowed.
            unsafe { &*program.cast::<PreparedProgram>() }.become_it()
        }
        let top = stack.0.bytes_mut().as_mut_ptr_range().end;
        let program = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the stack is the child's alone and its end is aligned to a page; the parent does not run before the child
        // has left this memory by execve or exit_group. The child calls nothing else, and so changes nothing of the parent's.
        let child =
            unsafe { libc::clone(execute, top.cast(), libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, program) };
        // SAFETY: what the call has just returned.
        unsafe { ChildId::started("clone", child) }?.wait_status().and_then(ended_well)
    }

    /// The same by the C library's posix_spawn(3), with no attributes.
    #[inline]
    pub fn run_by_posix_spawn(&self) -> io::Result<()> {
        let mut child: libc::pid_t = 0;
        let environment = [std::ptr::null_mut::<c_char>()];
        let arguments = self.arguments.as_ptr().cast::<*mut c_char>();
        // SAFETY: the arguments are strings that end in 0 and live as long as self, both lists end in a null pointer, and no
        // file actions or attributes are given.
        let result = unsafe {
            libc::posix_spawn(
                &raw mut child,
                self.arguments[0],
                std::ptr::null(),
                std::ptr::null(),
                arguments,
                environment.as_ptr(),
            )
        };
        if result != 0 {
            return Err(named("posix_spawn", io::Error::from_raw_os_error(result)));
        }
        // SAFETY: what the call has just returned.
        unsafe { ChildId::started("posix_spawn", child) }?.wait()
    }

    /// Forks by clone3(2), which copies the page tables as fork does and gives a pidfd, by which the child is waited for.
    #[inline]
    pub fn run_by_clone3(&self) -> io::Result<()> {
        let mut descriptor: libc::c_int = -1;
        // SAFETY: a structure of integers, for which zero means "not asked for".
        let mut asked: libc::clone_args = unsafe { std::mem::zeroed() };
        asked.flags = libc::CLONE_PIDFD as u64;
        asked.pidfd = (&raw mut descriptor) as u64;
        asked.exit_signal = libc::SIGCHLD as u64;
        // SAFETY: as in `run`; the structure has the size given, and the kernel writes one descriptor.
        let child = unsafe { libc::syscall(libc::SYS_clone3, &raw const asked, size_of::<libc::clone_args>()) };
        // SAFETY: what the call has just returned.
        match unsafe { ChildId::forked("clone3", child) }? {
            Some(child) if descriptor < 0 => {
                child.wait()?;
                Err(named("clone3", io::Error::other(say!("the kernel gave no descriptor of the child"))))
            }
            Some(child) => {
                // SAFETY: the kernel made this descriptor for us, and nobody else knows it.
                let _descriptor = unsafe { <rustix::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(descriptor) };
                reap_by_descriptor(child, descriptor)
            }
            None => self.become_it(),
        }
    }

    fn become_it(&self) -> ! {
        let environment = [std::ptr::null::<c_char>()];
        // SAFETY: the arguments are strings that end in 0 and live as long as self, and both lists end in a null pointer.
        let arguments =
            [self.arguments[0] as usize, self.arguments.as_ptr() as usize, environment.as_ptr() as usize, 0, 0, 0];
        // SAFETY: as said. By the instruction: errno is the parent's too where the child has its memory.
        let error = unsafe { arch::call(libc::SYS_execve, arguments) };
        let errno = i32::try_from(-error).ok().filter(|error| (1..EXEC_FAILED - 1).contains(error));
        let status = errno.map_or(EXEC_FAILED_SOMEHOW, |error| EXEC_FAILED | error);
        loop {
            // SAFETY: ends the child.
            unsafe { libc::syscall(libc::SYS_exit_group, status) };
        }
    }
}

/// The stack on which a child of [`Program::run_by_vfork`] runs until it executes its program.
#[derive(Debug)]
pub struct ChildStack(Buffer);

impl ChildStack {
    /// Maps it: more than a call and two system calls need.
    pub fn new() -> io::Result<ChildStack> {
        let page = Pages::Base.bytes();
        Buffer::map((64_usize << 10).next_multiple_of(page), Pages::Base, None).map(ChildStack)
    }
}

/// Waits for a child by its descriptor; an error when it ended in any way but with status 0.
fn reap_by_descriptor(_: ChildId, descriptor: libc::c_int) -> io::Result<()> {
    // SAFETY: a structure of integers.
    let mut ended: libc::siginfo_t = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: the kernel writes one siginfo.
        let result = unsafe { libc::waitid(libc::P_PIDFD, descriptor as libc::id_t, &raw mut ended, libc::WEXITED) };
        let error = io::Error::last_os_error();
        if result == 0 {
            break;
        }
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(named("waitid", error));
        }
    }
    // SAFETY: waitid fills in the fields of SIGCHLD.
    let (how, status) = (ended.si_code, unsafe { ended.si_status() });
    match (how, status) {
        (libc::CLD_EXITED, 0) => Ok(()),
        (libc::CLD_EXITED, status) => Err(ended_badly(status)),
        _ => Err(fault(ReasonCode::ProcessDied, say!("the child was ended by signal {status}"))),
    }
}

/// An error unless a child ended with status 0.
#[inline]
fn ended_well(status: ExitStatus) -> io::Result<()> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(ended_badly(code)),
        None => Err(fault(ReasonCode::ProcessDied, say!("the child ended by {status}"))),
    }
}

/// Returns the error of a child that should have executed a program, from its status.
#[cold]
fn ended_badly(code: i32) -> io::Error {
    match code {
        EXEC_FAILED_SOMEHOW => {
            named("execve", fault(ReasonCode::MissingProgram, say!("the program cannot be executed")))
        }
        EXEC_FAILED.. => {
            let error = io::Error::from_raw_os_error(code & (EXEC_FAILED - 1));
            let errno = say!("{error}, or the program itself ended with status {code}");
            named("execve", io::Error::new(error.kind(), errno))
        }
        code => fault(ReasonCode::ProcessDied, say!("the child ended with status {code}")),
    }
}

/// The smallest program there is: an ELF file of one segment whose only instructions are exit(0).
pub fn smallest_elf() -> Vec<u8> {
    #[cfg(target_arch = "x86_64")]
    // xor edi, edi; mov eax, 60; syscall
    const MACHINE_AND_CODE: (u16, &[u8]) = (62, &[0x31, 0xff, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05]);
    #[cfg(target_arch = "aarch64")]
    // mov x0, #0; mov x8, #93; svc #0
    const MACHINE_AND_CODE: (u16, &[u8]) =
        (183, &[0x00, 0x00, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4]);
    const HEADERS: u64 = 64 + 56;
    const ADDRESS: u64 = 0x40_0000;
    let (machine, code) = MACHINE_AND_CODE;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
    file.resize(16, 0);
    let size = HEADERS + code.len() as u64;
    // ELF header (System V ABI, "Object Files"): executable, machine, version, entry, program headers behind it.
    file.extend(2_u16.to_le_bytes());
    file.extend(machine.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    for word in [ADDRESS + HEADERS, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    // One segment: load, readable and executable, the whole file.
    file.extend(1_u32.to_le_bytes());
    file.extend(5_u32.to_le_bytes());
    for word in [0, ADDRESS, ADDRESS, size, size, 0x1_0000] {
        file.extend(word.to_le_bytes());
    }
    file.extend(code);
    file
}

/// Least memory of a forked process, for its page tables, its stacks and what it writes to: about, bytes.
pub const LEAST_BYTES: u64 = 256 << 10;

/// Forks by clone(2) with nothing shared; the child ends at once, the parent waits. Fails when refused, or ended otherwise.
#[inline]
pub fn fork_exit() -> io::Result<()> {
    forked()?.wait()
}

/// The first half of [`fork_exit`]: returns when the child is made, for so long the parent stands still. It must be waited for.
#[inline]
pub fn forked() -> io::Result<ChildId> {
    // SAFETY: without CLONE_VM and with no new stack the child goes on on its copy of this one, as after fork(2). It does
    // nothing but exit_group, which is safe whatever other threads held when it was made.
    let child = unsafe { arch::call(libc::SYS_clone, [libc::SIGCHLD as usize, 0, 0, 0, 0, 0]) };
    if child == 0 {
        leave();
    }
    // SAFETY: what the call has just returned.
    unsafe { ChildId::started("clone", checked("clone", child)? as i64) }
}

/// Ends the child where it is: each page of code that it reads, as of a library, is given to it by a page fault.
#[inline(always)]
fn leave() -> ! {
    loop {
        // SAFETY: ends this process, a child that has done nothing.
        unsafe { arch::call(libc::SYS_exit_group, [0; 6]) };
    }
}

/// The same through the C library, as programs do it: fork(3), and exit(3) in the child, which runs what was registered
/// for the end. Only for a process with one thread, see [`crate::workloads::process::only_one_thread`].
#[inline]
pub fn fork_exit_by_libc() -> io::Result<()> {
    // SAFETY: the caller has made sure of one thread, so that no lock is held by another; the child goes straight to its end.
    match unsafe { ChildId::forked("fork", libc::fork()) }? {
        Some(child) => child.wait(),
        // SAFETY: ends the child; the handlers registered are those of a worker, which hold nothing of its parent's.
        None => unsafe { libc::exit(0) },
    }
}

/// pthread_create(3) with default attributes and a start routine that returns at once, and pthread_join(3). std::thread would add
/// its own work, which is half as much again or more: a stack for signals, a name, what it keeps of every thread.
#[inline]
pub fn create_and_join() -> io::Result<()> {
    extern "C" fn nothing(_: *mut c_void) -> *mut c_void {
        std::ptr::null_mut()
    }
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: the thread's identifier goes to where there is room for one; no attributes and no argument are given, and the routine
    // looks at nothing.
    let created = unsafe { libc::pthread_create(thread.as_mut_ptr(), std::ptr::null(), nothing, std::ptr::null_mut()) };
    done("pthread_create", created)?;
    // SAFETY: the call has written the identifier; the thread can be joined, and nobody else knows it.
    done("pthread_join", unsafe { libc::pthread_join(thread.assume_init(), std::ptr::null_mut()) })
}

/// Checks the result of such a call, which does not set errno.
fn done(call: &'static str, error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(named(call, io::Error::from_raw_os_error(error))) }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use super::*;
    use crate::skip::skipped;
    use crate::workloads::call::errno;
    use crate::workloads::clock::monotonic_ns;
    use crate::workloads::memory::{Buffer, Pages};
    use crate::workloads::process::{in_a_child, resident_bytes};

    #[test]
    fn a_program_that_ends_well_is_fine_and_every_other_is_an_error_by_every_way() {
        let mut stack = ChildStack::new().unwrap();
        type Way<'a> = &'a mut dyn FnMut(&PreparedProgram) -> io::Result<()>;
        let ways: [(&str, Way); 4] = [
            ("fork", &mut PreparedProgram::run),
            ("vfork", &mut |program| program.run_by_vfork(&mut stack)),
            ("posix_spawn", &mut PreparedProgram::run_by_posix_spawn),
            ("clone3", &mut PreparedProgram::run_by_clone3),
        ];
        for (name, run) in ways {
            let mut run =
                |path: &str, arguments: &[&str]| run(&PreparedProgram::new(Path::new(path), arguments).unwrap());
            match run("/bin/true", &[]) {
                // An emulator or a filter of system calls may not know it.
                Err(error) if name == "clone3" && errno(&error) == Some(libc::ENOSYS) => continue,
                result => result.unwrap(),
            }
            assert!(run("/bin/false", &[]).is_err(), "{name}");
            assert!(run("/nonexistent", &[]).is_err(), "{name}");
            assert!(run("/bin/sh", &["-c", "exit 3"]).is_err(), "{name}");
            assert!(run("/bin/sh", &["-c", "kill -9 $$"]).is_err(), "{name}");
        }
    }

    /// Tells whether an emulator executes this test: the test names itself as the program, and the kernel names the emulator.
    fn is_emulated() -> bool {
        let executed = std::fs::read_link(format!("/proc/self/task/{}/exe", std::process::id())).ok();
        executed.is_some() && executed != std::env::current_exe().ok()
    }

    #[test]
    fn the_smallest_elf_runs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("smallest");
        std::fs::write(&path, smallest_elf()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        // Another test's thread may have forked while the file was open for writing: then it is busy for a moment.
        let program = PreparedProgram::new(&path, &[]).unwrap();
        let ran = (0..100).any(|_| {
            let ok = program.run().is_ok();
            if !ok {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            ok
        });
        // An emulator executes the test, but not what the test starts, unless the kernel knows it.
        assert!(ran || is_emulated());
    }

    /// Tells the kernel's word: nothing is left to wait for.
    pub(in crate::workloads) fn assert_no_child() {
        // SAFETY: no pointer is given.
        let left = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
        assert_eq!((left, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::ECHILD)));
    }

    #[test]
    fn a_child_that_ends_well_is_reaped() {
        // In a process of its own: here other tests have children too.
        in_a_child(|| fork_exit().map(|()| assert_no_child()));
    }

    #[test]
    fn a_fork_copies_the_page_tables_of_what_is_resident() {
        in_a_child(|| {
            let fastest_ns = || -> io::Result<u64> {
                let one = || {
                    let start = monotonic_ns();
                    fork_exit().map(|()| monotonic_ns() - start)
                };
                (0..20).map(|_| one()).try_fold(u64::MAX, |least, ns| Ok(least.min(ns?)))
            };
            // What other tests held when this child was forked is in both.
            let others = resident_bytes().unwrap_or(u64::MAX) >> 20;
            if others > 128 {
                skipped(&format!("other tests hold {others} MiB"));
                return Ok(());
            }
            let without = fastest_ns()?;
            // 65 536 pages of 4 KiB, each an entry to be copied and taken away again.
            let buffer = Buffer::map(256 << 20, Pages::Base, None)?;
            let with = fastest_ns()?;
            drop(buffer);
            assert!(2 * with > 3 * without, "{without} ns, with 256 MiB {with} ns");
            Ok(())
        });
    }

    #[test]
    fn no_thread_is_left() {
        in_a_child(|| {
            (0..1000).try_for_each(|_| create_and_join())?;
            // One that was joined is listed until its last moment is over.
            let is_alone = || std::fs::read_dir("/proc/self/task").unwrap().count() == 1;
            let looks = (0..1000).map(|_| std::thread::sleep(Duration::from_millis(10)));
            assert!(looks.into_iter().any(|()| is_alone()));
            Ok(())
        });
    }

    #[test]
    fn it_makes_none_of_the_calls_of_another_library() {
        in_a_child(|| {
            let does = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 1, k };
            // Who asks for a stack for signals, as std::thread does, is ended; everything else is allowed.
            let mut filter = [
                does(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
                does(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_sigaltstack as u32),
                does(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_KILL_PROCESS),
                does(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
            ];
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            // SAFETY: neither call takes a pointer but the second, which reads the program and its four instructions.
            let is_filtered = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
            };
            // An emulator has no filters.
            if is_filtered { create_and_join() } else { Ok(()) }
        });
    }
}
