//! Files that a guest is made of, read so that none is waited for and none is read without an end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hostmark_say::say;

/// Opens a regular file to be read: a named pipe would be waited for, and a device might have no end.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(say!("it is no regular file"))),
    }
}

/// All of a regular file; one of more bytes than `most` is refused.
pub fn of(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(say!("it has more than {most} bytes"))),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_or_too_large_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(of(&file, 5).unwrap(), b"12345");
        assert!(of(&file, 4).unwrap_err().to_string().contains("more than 4 bytes"));
        for other in [place.path(), Path::new("/dev/zero")] {
            assert!(of(other, 5).unwrap_err().to_string().contains("no regular file"));
        }
    }
}
