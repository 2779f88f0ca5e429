//! The cheapest thread there is, as an operation to be measured: created by the C library, ended at once, joined.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;

use crate::workloads::call::named;

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

/// What such a call returns, which does not set errno.
fn done(call: &'static str, error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(named(call, io::Error::from_raw_os_error(error))) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::process::in_a_child;

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
