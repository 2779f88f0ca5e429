//! The system calls that container runtimes allow by default, by subject.
//!
//! What is left out reaches past a container (mounts, modules, clocks, quotas, other processes' memory policy, keys, raw
//! tracing) or has often been the way out of one (io_uring, userfaultfd, bpf, perf_event_open, new namespaces).

use libc::c_long;

macro_rules! calls {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// On every architecture.
pub(super) const ALLOWED: &[c_long] = calls! {
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
pub(super) const ALLOWED_LATE: &[c_long] = &[451, 452];

/// Older calls, and the processor's own, that this architecture has beside them.
#[cfg(target_arch = "x86_64")]
pub(super) const ALLOWED_HERE: &[c_long] = calls! {
    SYS_access SYS_alarm SYS_arch_prctl SYS_chmod SYS_chown SYS_creat SYS_dup2 SYS_epoll_create SYS_epoll_wait
    SYS_eventfd SYS_fork SYS_futimesat SYS_getdents SYS_getpgrp SYS_inotify_init SYS_lchown SYS_link SYS_lstat SYS_mkdir
    SYS_mknod SYS_modify_ldt SYS_open SYS_pause SYS_pipe SYS_poll SYS_readlink SYS_rename SYS_rmdir SYS_select
    SYS_signalfd SYS_stat SYS_symlink SYS_time SYS_unlink SYS_utime SYS_utimes SYS_vfork
};

/// Older calls, and the processor's own, that this architecture has beside them.
#[cfg(target_arch = "aarch64")]
pub(super) const ALLOWED_HERE: &[c_long] = &[];
