//! POSIX message queues as a way to hand over a byte.

use std::ffi::CStr;
use std::io;

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::workloads::handover::exchange::{Exchange, ExchangeStep};
use crate::workloads::handover::sysv::until_done;
use crate::workloads::ipc_cleanup::{self, Object, Record};
use crate::workloads::storage::files::copy;
use crate::workloads::{checked, machine::arch};

/// What the kernel is told of a queue: flags, messages that it holds, bytes of one, and the messages in it now.
#[repr(C)]
struct Attributes {
    flags: libc::c_long,
    most_messages: libc::c_long,
    message_bytes: libc::c_long,
    messages: libc::c_long,
    reserved: [libc::c_long; 4],
}

/// A queue of one message of one byte, which has lost its name already. Its name is written down before it is given.
fn queue() -> io::Result<OwnedFd> {
    let object = Object::queue()?;
    let Object::Queue { number, .. } = object else { return Err(io::ErrorKind::InvalidInput.into()) };
    let _record = Record::of(object);
    named(&ipc_cleanup::queue_name(number)?)
}

fn named(name: &CStr) -> io::Result<OwnedFd> {
    let attributes = Attributes { flags: 0, most_messages: 1, message_bytes: 1, messages: 0, reserved: [0; 4] };
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    let arguments =
        [name.as_ptr() as usize, flags as usize, ipc_cleanup::MODE as usize, &raw const attributes as usize, 0, 0];
    // SAFETY: a name that ends in zero, and attributes, both only read.
    let opened = checked("mq_open", unsafe { arch::call(libc::SYS_mq_open, arguments) })?;
    // SAFETY: a descriptor that is new, and nobody else's.
    let queue = unsafe { OwnedFd::from_raw_fd(opened as i32) };
    // SAFETY: the same name.
    checked("mq_unlink", unsafe { arch::call(libc::SYS_mq_unlink, [name.as_ptr() as usize, 0, 0, 0, 0, 0]) })?;
    Ok(queue)
}

#[inline(always)]
fn send(queue: &OwnedFd) -> io::Result<()> {
    // SAFETY: one byte, which is only read; no timeout.
    unsafe {
        until_done(
            "mq_timedsend",
            libc::SYS_mq_timedsend,
            [queue.as_raw_fd() as usize, b"x".as_ptr() as usize, 1, 0, 0, 0],
        )
    }
    .map(drop)
}

#[inline(always)]
fn receive(queue: &OwnedFd) -> io::Result<()> {
    let mut byte = [0_u8];
    let arguments = [queue.as_raw_fd() as usize, byte.as_mut_ptr() as usize, 1, 0, 0, 0];
    // SAFETY: room for one byte, which is the most that a message has; nobody asks for its priority; no timeout.
    unsafe { until_done("mq_timedreceive", libc::SYS_mq_timedreceive, arguments) }.map(drop)
}

/// A message of one byte through two queues.
pub fn by_queues(cpus: &[usize]) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let (there, back) = (queue()?, queue()?);
    let (to, from) = (copy(&there)?, copy(&back)?);
    Exchange::start(
        cpus,
        move || send(&to).and_then(|()| receive(&from)),
        move || Ok(move || receive(&there).and_then(|()| send(&back))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::handover::exchange::tests::check;

    #[test]
    fn a_byte_goes_to_and_fro() {
        match queue() {
            // A kernel without them says so: that is what a probe skips by.
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOSYS)),
            Ok(_) => check(by_queues),
        }
    }
}
