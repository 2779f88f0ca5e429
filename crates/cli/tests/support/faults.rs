//! What came of system calls that failed, counted.

use std::collections::{BTreeMap, BTreeSet};

use nix::libc;
use nix::libc::c_long;

use crate::tracer::Seen;

/// What came of a process in which a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Came {
    /// All was done: the program can do without.
    Done,
    /// It says that it cannot be measured here.
    Skipped,
    Failed,
    /// It had no say: the loader or the language's start failed, memory ran out, or it waited for ever.
    Died,
}

const ALL: [Came; 4] = [Came::Done, Came::Skipped, Came::Failed, Came::Died];

/// Why a reason need not name the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// The loader or the language's start made it: the program had not begun.
    Early,
    /// Another program made it, which says by its status alone that something went wrong.
    Foreign,
    /// What came of it is what comes without it: the failure did not matter.
    AsWithout,
    /// It is of a kind whose failure nobody is told of; see [`SILENT`].
    Silent,
    /// The library does not outlive it; see [`FATAL`].
    Fatal,
}

const EXCUSES: [Excuse; 5] = [Excuse::Early, Excuse::Foreign, Excuse::AsWithout, Excuse::Silent, Excuse::Fatal];

/// Calls whose failure has no one to tell: a descriptor that stays open in a library or in a child that ends, so that
/// somebody waits for an end that does not come; and a wait of the language's own locks and joins, which have no error.
const SILENT: [&str; 2] = ["close", "futex"];

/// Cases, and calls in them. The GNU library's swapcontext has lost a register by the time its change of the mask fails, which
/// no kernel makes it do.
const FATAL: [(&str, &str); 1] = [("sched.ucontext@way=libc", "rt_sigprocmask")];

/// Counts of all that was tried.
#[derive(Default)]
pub struct Report {
    /// Failures that came to pass.
    pub faults: usize,
    came: BTreeMap<(&'static str, Came), usize>,
    excused: BTreeMap<Excuse, usize>,
    /// Reasons without the call's name: how often, and where first.
    unnamed: BTreeMap<(&'static str, String), (usize, String)>,
    pub harm: Vec<String>,
}

/// A reason without its numbers, so that like ones are counted together.
fn generalized(reason: &str) -> String {
    let mut text = String::new();
    for character in reason.chars() {
        match character.is_ascii_digit() {
            true if text.ends_with('#') => {}
            true => text.push('#'),
            false => text.push(character),
        }
    }
    text
}

impl Report {
    /// A failed call, where it was, what came of it, and the reason given.
    pub fn add(&mut self, call: &'static Call, at: &str, came: Came, reason: &str, excuse: Option<Excuse>) {
        self.faults += 1;
        *self.came.entry((call.name, came)).or_default() += 1;
        let is_unnamed = came != Came::Done && !call.is_named_in(reason);
        let is_silent = came == Came::Died || call.name == "close";
        let excuse = excuse.or((SILENT.contains(&call.name) && is_silent).then_some(Excuse::Silent));
        let is_fatal = FATAL.iter().any(|(case, name)| at.starts_with(case) && call.name == *name);
        let excuse = excuse.or((is_fatal && came == Came::Died).then_some(Excuse::Fatal));
        if is_unnamed && let Some(excuse) = excuse {
            *self.excused.entry(excuse).or_default() += 1;
        } else if is_unnamed {
            self.harmed(at, &format!("the reason does not name the call: {came:?}: {reason}"));
            let entry = self.unnamed.entry((call.name, format!("{came:?}: {}", generalized(reason))));
            entry.or_insert_with(|| (0, at.to_owned())).0 += 1;
        }
        // What returns at once since it failed, or since another party did, is no measurement.
        if reason.contains("panicked") || reason.starts_with("the operation takes no time") {
            self.harmed(at, reason);
        }
    }

    /// Whether a reason is the same but for numbers.
    pub fn is_like(one: &str, other: &str) -> bool {
        generalized(one) == generalized(other)
    }

    /// What a tree of processes did to others, and left.
    pub fn look_at(&mut self, at: &str, seen: &Seen) {
        for process in &seen.left {
            self.harmed(at, &format!("left alive: {process}"));
        }
        for stray in &seen.strays {
            self.harmed(at, stray);
        }
    }

    /// Something that must not be.
    pub fn harmed(&mut self, at: &str, what: &str) {
        let harm = format!("{at}: {what}");
        crate::injected::report_line(&format!("HARM {harm}"));
        self.harm.push(harm);
    }

    pub fn text(&self) -> String {
        let calls: BTreeSet<&str> = self.came.keys().map(|(call, _)| *call).collect();
        let count = |name: Option<&str>, came: Came| -> usize {
            let of = |(call, which): &(&str, Came)| name.is_none_or(|name| name == *call) && *which == came;
            self.came.iter().filter(|(key, _)| of(key)).map(|(_, count)| count).sum()
        };
        let row = |title: &str, name: Option<&str>| {
            let [done, skipped, failed, died] = ALL.map(|came| count(name, came));
            format!("{title:<20} done {done:>5}  skipped {skipped:>5}  failed {failed:>5}  died {died:>5}\n")
        };
        let mut text: String = calls.iter().map(|name| row(name, Some(name))).collect();
        for ((name, reason), (count, at)) in &self.unnamed {
            text += &format!("unnamed {name} ×{count}: {reason}   first: {at}\n");
        }
        for excuse in EXCUSES {
            text += &format!("unnamed, {excuse:?}: {}\n", self.excused.get(&excuse).copied().unwrap_or_default());
        }
        text + &row("in all", None) + &format!("{} faults, {} harms\n", self.faults, self.harm.len())
    }
}

/// A system call, and how it fails here.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub number: c_long,
    pub name: &'static str,
    /// What it answers when it fails: lack of a resource where that is possible.
    pub error: i32,
    /// Words by which a reason may name it instead, as the library function does that makes the call.
    pub also: &'static [&'static str],
}

macro_rules! calls {
    ($($number:ident $name:literal $error:ident [$($also:literal)*];)*) => {
        &[$(Call { number: libc::$number, name: $name, error: libc::$error, also: &[$($also),*] },)*]
    };
}

/// Every call that the program makes and that can fail.
pub const CALLS: &[Call] = calls! {
    SYS_accept "accept" EMFILE [];
    SYS_accept4 "accept4" EMFILE ["accept"];
    SYS_access "access" EIO [];
    SYS_bind "bind" EADDRINUSE [];
    SYS_bpf "bpf" EPERM [];
    SYS_capget "capget" EPERM [];
    SYS_chdir "chdir" EIO [];
    SYS_chmod "chmod" EPERM [];
    SYS_clock_getres "clock_getres" EINVAL ["clock_getcpuclockid"];
    SYS_clock_gettime "clock_gettime" EINVAL [];
    SYS_clock_nanosleep "clock_nanosleep" EINTR ["nanosleep"];
    SYS_clone "clone" EAGAIN ["fork"];
    SYS_clone3 "clone3" EAGAIN ["clone" "fork" "posix_spawn" "pthread_create"];
    SYS_close "close" EINTR [];
    SYS_connect "connect" ECONNREFUSED [];
    SYS_copy_file_range "copy_file_range" EIO [];
    SYS_dup "dup" EMFILE [];
    SYS_dup2 "dup2" EMFILE ["dup"];
    SYS_dup3 "dup3" EMFILE ["dup"];
    SYS_epoll_create1 "epoll_create1" EMFILE ["epoll_create"];
    SYS_epoll_ctl "epoll_ctl" ENOSPC [];
    SYS_epoll_pwait "epoll_pwait" EINVAL ["epoll_wait"];
    SYS_epoll_wait "epoll_wait" EINVAL [];
    SYS_eventfd2 "eventfd2" EMFILE ["eventfd"];
    SYS_execve "execve" ENOMEM ["posix_spawn"];
    SYS_execveat "execveat" ENOMEM ["exec"];
    SYS_faccessat "faccessat" EIO ["access"];
    SYS_faccessat2 "faccessat2" EIO ["access"];
    SYS_fadvise64 "fadvise64" EINVAL ["fadvise"];
    SYS_fallocate "fallocate" ENOSPC [];
    SYS_fchdir "fchdir" EIO [];
    SYS_fchmod "fchmod" EPERM [];
    SYS_fchmodat "fchmodat" EPERM [];
    SYS_fchown "fchown" EPERM [];
    SYS_fcntl "fcntl" EMFILE [];
    SYS_fdatasync "fdatasync" EIO [];
    SYS_flock "flock" ENOLCK [];
    SYS_fork "fork" EAGAIN ["clone"];
    SYS_fstat "fstat" EIO ["stat"];
    SYS_fstatfs "fstatfs" EIO ["statfs"];
    SYS_fsync "fsync" EIO [];
    SYS_ftruncate "ftruncate" ENOSPC ["truncate"];
    SYS_futex "futex" ENOMEM [];
    SYS_getcwd "getcwd" ENOENT [];
    SYS_getdents64 "getdents64" EIO ["getdents"];
    SYS_getpeername "getpeername" ENOBUFS [];
    SYS_getpriority "getpriority" EACCES [];
    SYS_getrlimit "getrlimit" EPERM [];
    SYS_getrusage "getrusage" EINVAL [];
    SYS_getsockname "getsockname" ENOBUFS [];
    SYS_getsockopt "getsockopt" ENOBUFS [];
    SYS_io_uring_enter "io_uring_enter" EAGAIN ["io_uring"];
    SYS_io_uring_register "io_uring_register" ENOMEM ["io_uring"];
    SYS_io_uring_setup "io_uring_setup" ENOMEM ["io_uring"];
    SYS_ioctl "ioctl" ENOTTY [];
    SYS_ioprio_set "ioprio_set" EPERM [];
    SYS_kill "kill" EPERM [];
    SYS_link "link" EMLINK [];
    SYS_linkat "linkat" EMLINK ["link"];
    SYS_listen "listen" EADDRINUSE [];
    SYS_lseek "lseek" EINVAL ["seek"];
    SYS_madvise "madvise" ENOMEM [];
    SYS_mbind "mbind" EPERM [];
    SYS_membarrier "membarrier" EPERM [];
    SYS_memfd_create "memfd_create" EMFILE [];
    SYS_mincore "mincore" EAGAIN [];
    SYS_mkdir "mkdir" ENOSPC ["scratch directory"];
    SYS_mkdirat "mkdirat" ENOSPC ["mkdir" "scratch directory"];
    SYS_mknod "mknod" ENOSPC [];
    SYS_mknodat "mknodat" ENOSPC ["mknod" "mkfifo"];
    SYS_mlock "mlock" ENOMEM [];
    SYS_mlock2 "mlock2" ENOMEM ["mlock"];
    SYS_mmap "mmap" ENOMEM ["memory allocation" "posix_spawn" "pthread_create"];
    SYS_move_pages "move_pages" EPERM [];
    SYS_mprotect "mprotect" ENOMEM ["memory allocation" "pthread_create"];
    SYS_mq_getsetattr "mq_getsetattr" EBADF ["mq_"];
    SYS_mq_open "mq_open" EMFILE [];
    SYS_mq_timedreceive "mq_timedreceive" EMSGSIZE ["mq_receive"];
    SYS_mq_timedsend "mq_timedsend" EMSGSIZE ["mq_send"];
    SYS_mq_unlink "mq_unlink" EACCES [];
    SYS_mremap "mremap" ENOMEM ["memory allocation"];
    SYS_msgctl "msgctl" EPERM [];
    SYS_msgget "msgget" ENOSPC [];
    SYS_msgrcv "msgrcv" EIDRM [];
    SYS_msgsnd "msgsnd" EIDRM [];
    SYS_munlock "munlock" ENOMEM [];
    SYS_munmap "munmap" ENOMEM [];
    SYS_nanosleep "nanosleep" EINTR [];
    SYS_newfstatat "newfstatat" EIO ["stat"];
    SYS_open "open" EMFILE [];
    SYS_openat "openat" EMFILE ["open"];
    SYS_openat2 "openat2" EMFILE ["open"];
    SYS_perf_event_open "perf_event_open" EACCES [];
    SYS_pidfd_getfd "pidfd_getfd" EPERM [];
    SYS_pidfd_open "pidfd_open" EMFILE [];
    SYS_pidfd_send_signal "pidfd_send_signal" EPERM ["pidfd"];
    SYS_pipe "pipe" EMFILE [];
    SYS_pipe2 "pipe2" EMFILE ["pipe"];
    SYS_poll "poll" ENOMEM [];
    SYS_ppoll "ppoll" ENOMEM ["poll"];
    SYS_prctl "prctl" EPERM [];
    SYS_pread64 "pread64" EIO ["pread"];
    SYS_preadv "preadv" EIO [];
    SYS_prlimit64 "prlimit64" EPERM ["rlimit"];
    SYS_process_madvise "process_madvise" EPERM [];
    SYS_pselect6 "pselect6" ENOMEM ["select"];
    SYS_pwrite64 "pwrite64" ENOSPC ["pwrite"];
    SYS_read "read" EIO [];
    SYS_readlink "readlink" EIO [];
    SYS_readlinkat "readlinkat" EIO ["readlink"];
    SYS_readv "readv" EIO ["read"];
    SYS_recvfrom "recvfrom" ENOMEM ["recv"];
    SYS_recvmsg "recvmsg" ENOMEM ["recv"];
    SYS_rename "rename" ENOSPC [];
    SYS_renameat "renameat" ENOSPC ["rename"];
    SYS_renameat2 "renameat2" ENOSPC ["rename"];
    SYS_rmdir "rmdir" EBUSY [];
    SYS_rt_sigaction "rt_sigaction" EINVAL ["sigaction"];
    SYS_rt_sigprocmask "rt_sigprocmask" EINVAL ["sigprocmask" "getcontext"];
    SYS_rt_sigqueueinfo "rt_sigqueueinfo" EAGAIN ["sigqueue"];
    SYS_rt_sigtimedwait "rt_sigtimedwait" EAGAIN ["sigwait" "sigtimedwait"];
    SYS_sched_getaffinity "sched_getaffinity" EINVAL ["affinity" "CPUs"];
    SYS_sched_getparam "sched_getparam" EINVAL [];
    SYS_sched_getscheduler "sched_getscheduler" EPERM [];
    SYS_sched_setaffinity "sched_setaffinity" EINVAL ["affinity"];
    SYS_sched_setattr "sched_setattr" EPERM [];
    SYS_sched_setscheduler "sched_setscheduler" EPERM [];
    SYS_select "select" ENOMEM [];
    SYS_semctl "semctl" EPERM [];
    SYS_semget "semget" ENOSPC [];
    SYS_semop "semop" ENOMEM [];
    SYS_semtimedop "semtimedop" ENOMEM ["semop"];
    SYS_sendfile "sendfile" EIO [];
    SYS_sendmsg "sendmsg" ENOBUFS ["send"];
    SYS_sendto "sendto" ENOBUFS ["send"];
    SYS_setpgid "setpgid" EPERM [];
    SYS_setpriority "setpriority" EACCES [];
    SYS_setsid "setsid" EPERM [];
    SYS_setsockopt "setsockopt" ENOMEM [];
    SYS_shmat "shmat" ENOMEM [];
    SYS_shmctl "shmctl" EPERM [];
    SYS_shmget "shmget" ENOSPC [];
    SYS_shutdown "shutdown" ENOTCONN [];
    SYS_sigaltstack "sigaltstack" ENOMEM [];
    SYS_signalfd4 "signalfd4" EMFILE ["signalfd"];
    SYS_socket "socket" EMFILE [];
    SYS_socketpair "socketpair" EMFILE [];
    SYS_splice "splice" ENOMEM [];
    SYS_stat "stat" EIO [];
    SYS_statfs "statfs" EIO [];
    SYS_statx "statx" EIO ["stat"];
    SYS_symlink "symlink" ENOSPC [];
    SYS_symlinkat "symlinkat" ENOSPC ["symlink"];
    SYS_sync_file_range "sync_file_range" EIO [];
    SYS_syncfs "syncfs" EIO [];
    SYS_sysinfo "sysinfo" EFAULT [];
    SYS_tgkill "tgkill" EAGAIN ["kill"];
    SYS_timer_create "timer_create" EAGAIN [];
    SYS_timer_settime "timer_settime" EINVAL [];
    SYS_timerfd_create "timerfd_create" EMFILE ["timerfd"];
    SYS_timerfd_settime "timerfd_settime" EINVAL ["timerfd"];
    SYS_tkill "tkill" EAGAIN ["kill"];
    SYS_uname "uname" EFAULT [];
    SYS_unlink "unlink" EBUSY [];
    SYS_unlinkat "unlinkat" EBUSY ["unlink"];
    SYS_unshare "unshare" EPERM [];
    SYS_userfaultfd "userfaultfd" EPERM [];
    SYS_utimensat "utimensat" EPERM [];
    SYS_vfork "vfork" EAGAIN ["fork" "clone"];
    SYS_wait4 "wait4" ECHILD ["wait"];
    SYS_waitid "waitid" ECHILD ["wait"];
    SYS_write "write" ENOSPC [];
    SYS_writev "writev" ENOSPC ["write"];
};

macro_rules! numbers {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// Calls that have no error, or none that a program of this kind can meet. SYS_brk answers with the break as it is, never with an error,
/// which the library would take for an address.
pub const NEVER_FAIL: &[c_long] = numbers! {
    SYS_alarm SYS_arch_prctl SYS_brk SYS_exit SYS_exit_group SYS_getcpu SYS_getegid SYS_geteuid SYS_getgid SYS_getitimer SYS_getpgid
    SYS_getpgrp SYS_getpid SYS_getppid SYS_getrandom SYS_getsid SYS_gettid SYS_getuid SYS_gettimeofday SYS_pause SYS_restart_syscall
    SYS_rseq SYS_rt_sigreturn SYS_rt_sigsuspend SYS_sched_yield SYS_set_robust_list SYS_set_tid_address SYS_time SYS_umask
};

/// The call with this number.
pub fn call(number: c_long) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.number == number)
}

impl Call {
    /// Whether a reason names it.
    pub fn is_named_in(&self, reason: &str) -> bool {
        let has = |word: &str| {
            let is_part = |character: char| character.is_alphanumeric() || character == '_';
            reason
                .match_indices(word)
                .any(|(at, _)| !reason[..at].ends_with(is_part) && !reason[at + word.len()..].starts_with(is_part))
        };
        has(self.name) || self.also.iter().any(|word| has(word))
    }
}
