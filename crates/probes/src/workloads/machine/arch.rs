//! System calls as programs make them, by a function that returns, and what else only instructions can do.

use std::io;

use crate::workloads::checked;

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

use machine::system_call;
pub(crate) use machine::{cpuid, new_stack, permit_port, switch, write_port};

// Programs call the kernel through a library function: its return, the first after the kernel's, alone costs tens of nanoseconds where the
// kernel misled the predictor of returns. Inlined in a loop the call would not pay them.

/// clock_gettime(2); 0 or a negative error number.
#[inline(never)]
pub(crate) fn clock_gettime(clock: libc::clockid_t, now: &mut [i64; 2]) -> i64 {
    // SAFETY: the kernel writes one timespec, two 64-bit words, to `now`.
    unsafe { system_call!(libc::SYS_clock_gettime, i64::from(clock), now.as_mut_ptr()) }
}

/// read(2) or write(2): bytes moved, or a negative error number. `buffer` holds `bytes` bytes.
#[inline(never)]
pub(crate) fn transfer(number: libc::c_long, file: libc::c_int, buffer: *mut u8, bytes: usize) -> i64 {
    // SAFETY: the kernel reads or writes at most `bytes` bytes of `buffer`, which the callers own.
    unsafe { system_call!(number, i64::from(file), buffer, bytes) }
}

/// A call without arguments that touches no memory of ours.
#[inline(never)]
pub(crate) fn call0(number: libc::c_long) -> i64 {
    bare_call0(number)
}

/// The same by the instruction alone, in the midst of its caller.
#[inline(always)]
pub(crate) fn bare_call0(number: libc::c_long) -> i64 {
    // SAFETY: only getppid and its like are called through this.
    unsafe { system_call!(number) }
}

/// Any call: its result, or a negative error number.
///
/// # Safety
/// The arguments must be what the kernel expects of `number`, and what they point to must be valid for it.
#[inline(never)]
pub(crate) unsafe fn call(number: libc::c_long, [a, b, c, d, e, f]: [usize; 6]) -> i64 {
    // SAFETY: the caller's.
    unsafe { system_call!(number, a, b, c, d, e, f) }
}

/// A call, made again when a signal had interrupted it, as a process that is stopped and goes on sees it.
///
/// # Safety
/// As for [`call`].
#[inline(always)]
pub(crate) unsafe fn until_done(name: &'static str, number: libc::c_long, arguments: [usize; 6]) -> io::Result<usize> {
    loop {
        // SAFETY: the caller's.
        let result = unsafe { call(number, arguments) };
        if result != -i64::from(libc::EINTR) {
            return checked(name, result);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use crate::workloads::storage::files;

    /// Returns where in its code the thread that runs `wait` waits: what the kernel tells of its call.
    fn waits_at(release: &files::OwnedFd, wait: impl FnOnce() + Send) -> String {
        std::thread::scope(|scope| {
            let (sender, thread) = mpsc::channel();
            scope.spawn(move || {
                sender.send(rustix::thread::gettid().as_raw_nonzero()).unwrap();
                wait();
            });
            let file = format!("/proc/self/task/{}/syscall", thread.recv().unwrap());
            let begins = format!("{} ", libc::SYS_read);
            let call = loop {
                // "running", or another call: it is on its way.
                match std::fs::read_to_string(&file).unwrap() {
                    call if call.starts_with(&begins) => break call,
                    _ => std::thread::yield_now(),
                }
            };
            files::write_byte(release).unwrap();
            call.split_whitespace().next_back().unwrap().to_owned()
        })
    }

    #[test]
    fn calls_of_two_places_are_made_by_one_function() {
        let (from, to) = rustix::pipe::pipe().unwrap();
        let one = waits_at(&to, || files::read_byte(&from).unwrap());
        let other = waits_at(&to, || assert_eq!(files::take_byte(&from).unwrap(), b'x'));
        assert_eq!(one, other, "the instruction was inlined");
    }
}
