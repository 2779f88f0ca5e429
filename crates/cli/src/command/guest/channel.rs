//! The guest's end of its channel: a serial port, or a port of virtio.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hostmark_launch::guest::VIRTIO_PORT;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios::{ControlModes, OptionalActions, tcgetattr, tcsetattr};

/// The fastest that every serial port knows; that of an emulated one is as fast as its emulator.
const BAUD: u32 = 115_200;
/// Where the kernel tells what ports of virtio are called.
const PORTS: &str = "/sys/class/virtio-ports";

/// Opens the one of this name: that of a serial port in /dev, or that which a port of virtio was given.
pub fn named(name: &str) -> io::Result<File> {
    match name {
        VIRTIO_PORT => {
            let ports = fs::read_dir(PORTS)?.filter_map(Result::ok);
            let is_ours = |port: &fs::DirEntry| {
                fs::read_to_string(port.path().join("name")).is_ok_and(|named| named.trim() == name)
            };
            let port = { ports }.find(is_ours).ok_or_else(|| io::Error::other("there is no such port"))?;
            open(&Path::new("/dev").join(port.file_name()))
        }
        _ => open(&Path::new("/dev").join(name)),
    }
}

/// Opens a device, so that it passes bytes as they are, and nobody waits in a call.
fn open(device: &Path) -> io::Result<File> {
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
