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
    ($($error:ident: $($number:ident $([$($also:literal)*])?)*;)*) => {
        &[$($(Call {
            number: libc::$number,
            name: stringify!($number).split_at("SYS_".len()).1,
            error: libc::$error,
            also: &[$($($also),*)?],
        },)*)*]
    };
}

/// Every call that the program makes and that can fail, by the error with which it does.
pub const CALLS: &[Call] = calls! {
    EMFILE: SYS_accept SYS_accept4 ["accept"] SYS_dup SYS_dup2 ["dup"] SYS_dup3 ["dup"]
        SYS_epoll_create1 ["epoll_create"] SYS_eventfd2 ["eventfd"] SYS_fcntl SYS_memfd_create SYS_mq_open SYS_open
        SYS_openat ["open"] SYS_openat2 ["open"] SYS_pidfd_open SYS_pipe SYS_pipe2 ["pipe"] SYS_signalfd4 ["signalfd"]
        SYS_socket SYS_socketpair SYS_timerfd_create ["timerfd"];
    EIO: SYS_access SYS_chdir SYS_copy_file_range SYS_faccessat ["access"] SYS_faccessat2 ["access"] SYS_fchdir
        SYS_fdatasync SYS_fstat ["stat"] SYS_fstatfs ["statfs"] SYS_fsync SYS_getdents64 ["getdents"]
        SYS_newfstatat ["stat"] SYS_pread64 ["pread"] SYS_preadv SYS_read SYS_readlink SYS_readlinkat ["readlink"]
        SYS_readv ["read"] SYS_sendfile SYS_stat SYS_statfs SYS_statx ["stat"] SYS_sync_file_range SYS_syncfs;
    EADDRINUSE: SYS_bind SYS_listen;
    EPERM: SYS_bpf SYS_capget SYS_chmod SYS_fchmod SYS_fchmodat SYS_fchown SYS_getrlimit SYS_ioprio_set SYS_kill
        SYS_mbind SYS_membarrier SYS_move_pages SYS_msgctl SYS_pidfd_getfd SYS_pidfd_send_signal ["pidfd"] SYS_prctl
        SYS_prlimit64 ["rlimit"] SYS_process_madvise SYS_sched_getscheduler SYS_sched_setattr SYS_sched_setscheduler
        SYS_semctl SYS_setpgid SYS_setsid SYS_shmctl SYS_unshare SYS_userfaultfd SYS_utimensat;
    EINVAL: SYS_clock_getres ["clock_getcpuclockid"] SYS_clock_gettime SYS_epoll_pwait ["epoll_wait"] SYS_epoll_wait
        SYS_fadvise64 ["fadvise"] SYS_getrusage SYS_lseek ["seek"] SYS_rt_sigaction ["sigaction"]
        SYS_rt_sigprocmask ["sigprocmask" "getcontext"] SYS_sched_getaffinity ["affinity" "CPUs"] SYS_sched_getparam
        SYS_sched_setaffinity ["affinity"] SYS_timer_settime SYS_timerfd_settime ["timerfd"];
    EINTR: SYS_clock_nanosleep ["nanosleep"] SYS_close SYS_nanosleep;
    EAGAIN: SYS_clone ["fork"] SYS_clone3 ["clone" "fork" "posix_spawn" "pthread_create"] SYS_fork ["clone"]
        SYS_io_uring_enter ["io_uring"] SYS_mincore SYS_rt_sigqueueinfo ["sigqueue"]
        SYS_rt_sigtimedwait ["sigwait" "sigtimedwait"] SYS_tgkill ["kill"] SYS_timer_create SYS_tkill ["kill"]
        SYS_vfork ["fork" "clone"];
    ECONNREFUSED: SYS_connect;
    ENOSPC: SYS_epoll_ctl SYS_fallocate SYS_ftruncate ["truncate"] SYS_mkdir ["scratch directory"]
        SYS_mkdirat ["mkdir" "scratch directory"] SYS_mknod SYS_mknodat ["mknod" "mkfifo"] SYS_msgget
        SYS_pwrite64 ["pwrite"] SYS_rename SYS_renameat ["rename"] SYS_renameat2 ["rename"] SYS_semget SYS_shmget
        SYS_symlink SYS_symlinkat ["symlink"] SYS_write SYS_writev ["write"];
    ENOMEM: SYS_execve ["posix_spawn"] SYS_execveat ["exec"] SYS_futex SYS_io_uring_register ["io_uring"]
        SYS_io_uring_setup ["io_uring"] SYS_madvise SYS_mlock SYS_mlock2 ["mlock"]
        SYS_mmap ["memory allocation" "posix_spawn" "pthread_create"]
        SYS_mprotect ["memory allocation" "pthread_create"] SYS_mremap ["memory allocation"] SYS_munlock SYS_munmap
        SYS_poll SYS_ppoll ["poll"] SYS_pselect6 ["select"] SYS_recvfrom ["recv"] SYS_recvmsg ["recv"] SYS_select
        SYS_semop SYS_semtimedop ["semop"] SYS_setsockopt SYS_shmat SYS_sigaltstack SYS_splice;
    ENOLCK: SYS_flock;
    ENOENT: SYS_getcwd;
    ENOBUFS: SYS_getpeername SYS_getsockname SYS_getsockopt SYS_sendmsg ["send"] SYS_sendto ["send"];
    EACCES: SYS_getpriority SYS_mq_unlink SYS_perf_event_open SYS_setpriority;
    ENOTTY: SYS_ioctl;
    EMLINK: SYS_link SYS_linkat ["link"];
    EBADF: SYS_mq_getsetattr ["mq_"];
    EMSGSIZE: SYS_mq_timedreceive ["mq_receive"] SYS_mq_timedsend ["mq_send"];
    EIDRM: SYS_msgrcv SYS_msgsnd;
    EBUSY: SYS_rmdir SYS_unlink SYS_unlinkat ["unlink"];
    ENOTCONN: SYS_shutdown;
    EFAULT: SYS_sysinfo SYS_uname;
    ECHILD: SYS_wait4 ["wait"] SYS_waitid ["wait"];
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

pub fn call(number: c_long) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.number == number)
}

impl Call {
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
