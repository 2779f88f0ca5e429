//! Calls that the filter allows and refuses, as the kernel answers.

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
