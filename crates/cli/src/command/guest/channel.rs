//! The guest's end of its channel: a serial port, or a port of virtio.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios::{ControlModes, OptionalActions, tcgetattr, tcsetattr};

/// The fastest that every serial port knows; that of an emulated one is as fast as its emulator.
const BAUD: u32 = 115_200;

/// Opens it, so that it passes bytes as they are, and nobody waits in a call.
pub fn open(device: &Path) -> io::Result<File> {
    let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits() as i32;
    let channel = OpenOptions::new().read(true).write(true).custom_flags(flags).open(device)?;
    let mut modes = match tcgetattr(&channel) {
        Ok(modes) => modes,
        // A port of virtio is no terminal.
        Err(Errno::NOTTY | Errno::INVAL) => return Ok(channel),
        Err(error) => return Err(error.into()),
    };
    modes.make_raw();
    // A line without a modem: nobody hangs up.
    modes.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    modes.set_speed(BAUD)?;
    tcsetattr(&channel, OptionalActions::Now, &modes)?;
    Ok(channel)
}
