//! A filter of system calls as container runtimes set it: an allow-list, and everything else is refused.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter, sock_filter,
};

use super::process::only_one_thread;

/// The flags of clone(2) that make namespaces: mount, cgroup, UTS, IPC, user, PID and network.
const NEW_NAMESPACES: u64 = 0x7e02_0000;
/// Allowed arguments of personality(2): Linux, Linux of 32 bits, each also without random addresses, and nothing new.
const PERSONALITIES: [u64; 5] = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];
/// The socket family that reaches the hypervisor past every network namespace.
const VSOCK: u64 = 40;

/// Restricts this process, which must have one thread, and all that it starts to the calls that a container runtime allows by default; any
/// other fails with EPERM. Programs executed later gain no privileges. There is no way back.
pub fn enter() -> io::Result<()> {
    only_one_thread()?;
    programs().map_err(io::Error::other)?.iter().try_for_each(apply)
}

/// Data that a filter looks at before it allows a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LooksAt {
    /// The call's number alone: since Linux 5.11 the kernel notes once which numbers are allowed in any case.
    Number,
    /// First argument too, so that it has to run at every call.
    Argument,
}

/// Puts a filter of so many instructions, 2 at least, before every call of the calling thread and of what that thread
/// starts; it allows all of them. It ends with the thread, which gets no privileges any more by executing a program.
pub fn allow_all_after(instructions: u16, at: LooksAt) -> io::Result<()> {
    apply(&allows_all(instructions, at))
}

/// A load, comparisons that lead on in any case, and the permission.
fn allows_all(instructions: u16, at: LooksAt) -> BpfProgram {
    // struct seccomp_data: the number, the architecture, the address, and from byte 16 on the arguments.
    let offset = if at == LooksAt::Number { 0 } else { 16 };
    let load = sock_filter { code: BPF_LOAD, jt: 0, jf: 0, k: offset };
    let compare = sock_filter { code: BPF_IF_EQUAL, jt: 0, jf: 0, k: u32::MAX };
    let allow = sock_filter { code: BPF_RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let compares = std::iter::repeat_n(compare, usize::from(instructions.max(2)) - 2);
    std::iter::once(load).chain(compares).chain([allow]).collect()
}

/// BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, and BPF_RET | BPF_K.
const BPF_LOAD: u16 = 0x20;
const BPF_IF_EQUAL: u16 = 0x15;
const BPF_RETURN: u16 = 0x06;

fn apply(program: &BpfProgram) -> io::Result<()> {
    apply_filter(program).map_err(|error| match error {
        seccompiler::Error::Prctl(error) => super::call::named("prctl", error),
        seccompiler::Error::Seccomp(error) => super::call::named("seccomp", error),
        other => io::Error::other(other),
    })
}

/// Two filters, since one has a single answer for what it refuses; the stricter answer of the two counts.
fn programs() -> Result<[BpfProgram; 2], seccompiler::Error> {
    let filter = |rules, otherwise, then| -> Result<BpfProgram, seccompiler::Error> {
        let here = std::env::consts::ARCH.try_into()?;
        Ok(SeccompFilter::new(rules, otherwise, then, here)?.try_into()?)
    };
    let refused = |error: i32| SeccompAction::Errno(error.unsigned_abs());
    // Its flags are in memory, where no filter can look. A C library that is told that there is no such call takes clone.
    let lacking = filter(BTreeMap::from([(libc::SYS_clone3, vec![])]), SeccompAction::Allow, refused(libc::ENOSYS))?;
    Ok([lacking, filter(rules()?, refused(libc::EPERM), SeccompAction::Allow)?])
}

/// The calls that are allowed with any arguments.
fn allowed() -> impl Iterator<Item = c_long> {
    ALLOWED.iter().chain(ALLOWED_LATE).chain(ALLOWED_HERE).copied()
}

/// The calls that are allowed, and with which arguments.
fn rules() -> Result<BTreeMap<c_long, Vec<SeccompRule>>, seccompiler::BackendError> {
    let on_first = |how, value| -> Result<SeccompRule, seccompiler::BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, how, value)?])
    };
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = allowed().map(|call| (call, Vec::new())).collect();
    // Answered by the first filter.
    rules.insert(libc::SYS_clone3, Vec::new());
    rules.insert(libc::SYS_clone, vec![on_first(SeccompCmpOp::MaskedEq(NEW_NAMESPACES), 0)?]);
    rules.insert(libc::SYS_socket, vec![on_first(SeccompCmpOp::Ne, VSOCK)?]);
    let personalities = PERSONALITIES.map(|persona| on_first(SeccompCmpOp::Eq, persona));
    rules.insert(libc::SYS_personality, personalities.into_iter().collect::<Result<_, _>>()?);
    Ok(rules)
}

macro_rules! calls {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

const ALLOWED: &[c_long] = calls! {
    // Files: names and attributes.
    SYS_chdir SYS_faccessat SYS_faccessat2 SYS_fchdir SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat
    SYS_fgetxattr SYS_flistxattr SYS_fremovexattr SYS_fsetxattr SYS_fstat SYS_fstatfs SYS_getcwd SYS_getdents64
    SYS_getxattr SYS_lgetxattr SYS_linkat SYS_listxattr SYS_llistxattr SYS_lremovexattr SYS_lsetxattr SYS_mkdirat
    SYS_mknodat SYS_newfstatat SYS_readlinkat SYS_removexattr SYS_renameat SYS_renameat2 SYS_setxattr SYS_statfs
    SYS_statx SYS_symlinkat SYS_umask SYS_unlinkat SYS_utimensat
    // Files: content.
    SYS_close SYS_close_range SYS_copy_file_range SYS_dup SYS_dup3 SYS_fadvise64 SYS_fallocate SYS_fcntl
    SYS_fdatasync SYS_flock SYS_fsync SYS_ftruncate SYS_ioctl SYS_lseek SYS_openat SYS_openat2 SYS_pread64 SYS_preadv
    SYS_preadv2 SYS_pwrite64 SYS_pwritev SYS_pwritev2 SYS_read SYS_readahead SYS_readv SYS_sendfile SYS_splice SYS_sync
    SYS_sync_file_range SYS_syncfs SYS_tee SYS_truncate SYS_vmsplice SYS_write SYS_writev
    SYS_io_cancel SYS_io_destroy SYS_io_getevents SYS_io_setup SYS_io_submit
    // Events.
    SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2 SYS_fanotify_mark
    SYS_inotify_add_watch SYS_inotify_init1 SYS_inotify_rm_watch SYS_pipe2 SYS_ppoll SYS_pselect6 SYS_signalfd4
    SYS_timerfd_create SYS_timerfd_gettime SYS_timerfd_settime
    // Memory.
    SYS_brk SYS_madvise SYS_membarrier SYS_memfd_create SYS_mincore SYS_mlock SYS_mlock2 SYS_mlockall SYS_mmap
    SYS_mprotect SYS_mremap SYS_mseal SYS_msync SYS_munlock SYS_munlockall SYS_munmap SYS_pkey_alloc SYS_pkey_free
    SYS_pkey_mprotect SYS_process_mrelease SYS_remap_file_pages
    // Processes and threads.
    SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_futex SYS_futex_waitv SYS_get_robust_list SYS_getpgid SYS_getpid
    SYS_getppid SYS_getsid SYS_gettid SYS_kill SYS_pidfd_open SYS_pidfd_send_signal SYS_prctl SYS_process_vm_readv
    SYS_process_vm_writev SYS_ptrace SYS_restart_syscall SYS_rseq SYS_set_robust_list SYS_set_tid_address SYS_setpgid
    SYS_setsid SYS_tgkill SYS_tkill SYS_wait4 SYS_waitid
    // Who a process is, and what it may use.
    SYS_capget SYS_capset SYS_getegid SYS_geteuid SYS_getgid SYS_getgroups SYS_getpriority SYS_getresgid SYS_getresuid
    SYS_getrlimit SYS_getrusage SYS_getuid SYS_ioprio_get SYS_ioprio_set SYS_landlock_add_rule
    SYS_landlock_create_ruleset SYS_landlock_restrict_self SYS_prlimit64 SYS_seccomp SYS_setfsgid SYS_setfsuid
    SYS_setgid SYS_setgroups SYS_setpriority SYS_setregid SYS_setresgid SYS_setresuid SYS_setreuid SYS_setrlimit
    SYS_setuid SYS_sysinfo SYS_times SYS_uname
    // Scheduling.
    SYS_getcpu SYS_sched_get_priority_max SYS_sched_get_priority_min SYS_sched_getaffinity SYS_sched_getattr
    SYS_sched_getparam SYS_sched_getscheduler SYS_sched_rr_get_interval SYS_sched_setaffinity SYS_sched_setattr
    SYS_sched_setparam SYS_sched_setscheduler SYS_sched_yield
    // Signals.
    SYS_rt_sigaction SYS_rt_sigpending SYS_rt_sigprocmask SYS_rt_sigqueueinfo SYS_rt_sigreturn SYS_rt_sigsuspend
    SYS_rt_sigtimedwait SYS_rt_tgsigqueueinfo SYS_sigaltstack
    // Time.
    SYS_adjtimex SYS_clock_adjtime SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep SYS_getitimer SYS_gettimeofday
    SYS_nanosleep SYS_setitimer SYS_timer_create SYS_timer_delete SYS_timer_getoverrun SYS_timer_gettime
    SYS_timer_settime
    // Between processes.
    SYS_mq_getsetattr SYS_mq_notify SYS_mq_open SYS_mq_timedreceive SYS_mq_timedsend SYS_mq_unlink SYS_msgctl SYS_msgget
    SYS_msgrcv SYS_msgsnd SYS_semctl SYS_semget SYS_semop SYS_semtimedop SYS_shmat SYS_shmctl SYS_shmdt SYS_shmget
    // The network.
    SYS_accept SYS_accept4 SYS_bind SYS_connect SYS_getpeername SYS_getsockname SYS_getsockopt SYS_listen SYS_recvfrom
    SYS_recvmmsg SYS_recvmsg SYS_sendmmsg SYS_sendmsg SYS_sendto SYS_setsockopt SYS_shutdown SYS_socketpair
    // Random numbers.
    SYS_getrandom
};

/// cachestat and fchmodat2, which the library does not know everywhere; late calls have one number on all architectures.
const ALLOWED_LATE: &[c_long] = &[451, 452];

/// Older calls, and the processor's own, that this architecture has beside them.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[c_long] = calls! {
    SYS_access SYS_alarm SYS_arch_prctl SYS_chmod SYS_chown SYS_creat SYS_dup2 SYS_epoll_create SYS_epoll_wait
    SYS_eventfd SYS_fork SYS_futimesat SYS_getdents SYS_getpgrp SYS_inotify_init SYS_lchown SYS_link SYS_lstat SYS_mkdir
    SYS_mknod SYS_modify_ldt SYS_open SYS_pause SYS_pipe SYS_poll SYS_readlink SYS_rename SYS_rmdir SYS_select
    SYS_signalfd SYS_stat SYS_symlink SYS_time SYS_unlink SYS_utime SYS_utimes SYS_vfork
};

/// Older calls, and the processor's own, that this architecture has beside them.
#[cfg(target_arch = "aarch64")]
const ALLOWED_HERE: &[c_long] = &[];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::errno;
    use crate::process::in_a_child;

    /// Tells whether this process may set filters at all.
    fn can_filter() -> bool {
        // SAFETY: asks whether the kernel knows an action; one integer is read.
        let known = unsafe {
            let action: u32 = libc::SECCOMP_RET_ERRNO;
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
        };
        known == 0
    }

    fn call(number: c_long, first: usize) -> Option<i32> {
        // SAFETY: none of the calls that the tests make writes to memory with these arguments.
        let result = unsafe { libc::syscall(number, first, 0_usize, 0_usize, 0_usize, 0_usize, 0_usize) };
        if result == -1 { errno(&io::Error::last_os_error()) } else { None }
    }

    #[test]
    fn no_call_is_allowed_both_with_any_and_with_some_arguments() {
        let all: Vec<c_long> = allowed().collect();
        let mut once = all.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), all.len());
        for conditional in [libc::SYS_clone, libc::SYS_clone3, libc::SYS_personality, libc::SYS_socket] {
            assert!(!all.contains(&conditional), "{conditional}");
        }
    }

    #[test]
    fn what_is_not_on_the_list_is_not_permitted_and_the_rest_is() {
        if !can_filter() {
            return crate::skip::skipped("this kernel, or what this runs in, lets nobody set a filter of system calls");
        }
        in_a_child(|| {
            enter()?;
            let refused = [
                (libc::SYS_unshare, libc::CLONE_NEWNS as usize),
                (libc::SYS_unshare, libc::CLONE_FS as usize),
                (libc::SYS_mount, 0),
                (libc::SYS_io_uring_setup, 0),
                (libc::SYS_perf_event_open, 0),
                (libc::SYS_bpf, 0),
                (libc::SYS_userfaultfd, 0),
                (libc::SYS_reboot, 0),
                (libc::SYS_init_module, 0),
                (libc::SYS_socket, 40),
                (libc::SYS_personality, 0x4_0000),
                (libc::SYS_clone, libc::CLONE_NEWUSER as usize),
                (100_000, 0),
            ];
            for (number, first) in refused {
                assert_eq!(call(number, first), Some(libc::EPERM), "{number}");
            }
            // The library must find its older way.
            assert_eq!(call(libc::SYS_clone3, 0), Some(libc::ENOSYS));
            assert_eq!((call(libc::SYS_getpid, 0), call(libc::SYS_personality, 0xffff_ffff)), (None, None));
            // No such descriptor: it has got as far as the call itself.
            assert_eq!(call(libc::SYS_fsync, usize::MAX), Some(libc::EBADF));
            let status = std::fs::read_to_string("/proc/self/status")?;
            assert!(status.contains("\nNoNewPrivs:\t1\n") && status.contains("\nSeccomp:\t2\n"), "{status}");
            // Threads and programs start.
            std::thread::spawn(|| ()).join().unwrap();
            assert!(std::process::Command::new("true").status()?.success());
            Ok(())
        });
    }

    /// Reads the calling thread's filter state from the kernel: mode, and number of filters.
    fn filters() -> Vec<String> {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let lines = status.lines().filter(|line| line.starts_with("Seccomp") || line.starts_with("NoNewPrivs"));
        lines.map(|line| line.split_whitespace().collect()).collect()
    }

    #[test]
    fn what_allows_everything_ends_with_its_thread() {
        if !can_filter() {
            return crate::skip::skipped("this kernel, or what this runs in, lets nobody set a filter of system calls");
        }
        let before = filters();
        for at in [LooksAt::Number, LooksAt::Argument] {
            for instructions in [0, 2, 3, 1000] {
                assert_eq!(allows_all(instructions, at).len(), usize::from(instructions.max(2)));
                let inside = std::thread::spawn(move || {
                    allow_all_after(instructions, at).unwrap();
                    assert_eq!(call(libc::SYS_getppid, 7), None);
                    filters()
                });
                let inside = inside.join().unwrap();
                assert!(inside != before && inside.contains(&"Seccomp:2".to_owned()), "{inside:?}");
                assert_eq!(filters(), before);
            }
        }
    }
}
