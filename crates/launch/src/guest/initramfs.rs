//! The guest's first filesystem: an archive in the format that the kernel unpacks (newc, kernel's buffer-format.rst).

/// The kind of an entry, as a part of its mode.
const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const DEVICE: u32 = 0o020_000;
/// What ends an archive.
const TRAILER: &str = "TRAILER!!!";

/// An archive that is under way.
#[derive(Debug, Default)]
pub struct Initramfs {
    bytes: Vec<u8>,
    entries: u32,
}

impl Initramfs {
    /// Adds a directory.
    pub fn directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY | 0o755, (0, 0), &[]);
    }

    /// Adds a file, which may be executed.
    pub fn file(&mut self, name: &str, contents: &[u8]) {
        self.entry(name, FILE | 0o755, (0, 0), contents);
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, name: &str, to: &str) {
        self.entry(name, LINK | 0o777, (0, 0), to.as_bytes());
    }

    /// Adds a character device.
    pub fn device(&mut self, name: &str, numbers: (u32, u32)) {
        self.entry(name, DEVICE | 0o600, numbers, &[]);
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, (major, minor): (u32, u32), contents: &[u8]) {
        self.entries += 1;
        // Who makes it, and when, is no part of it: the same contents have the same digest.
        let (user, group, links, time, from) = (0, 0, 1, 0, (0, 0));
        let (size, name_size) = (contents.len() as u32, name.len() as u32 + 1);
        let fields = [self.entries, mode, user, group, links, time, size, from.0, from.1, major, minor, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        fields.iter().for_each(|field| self.bytes.extend(format!("{field:08x}").into_bytes()));
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(contents);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn other_programs_read_what_is_written() {
        let mut archive = Initramfs::default();
        archive.directory("dev");
        archive.file("init", b"#!/bin/sh\n");
        archive.file("odd", b"12345");
        archive.link("hostmark", "init");
        archive.device("dev/console", (5, 1));
        let bytes = archive.finish();
        let listing =
            Command::new("cpio").arg("-itv").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut listing) = listing else { return crate::skip::skipped("there is no cpio") };
        listing.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = String::from_utf8(listing.wait_with_output().unwrap().stdout).unwrap();
        let expected = [
            ("drwxr-xr-x", "dev"),
            ("-rwxr-xr-x", "init"),
            ("-rwxr-xr-x", "odd"),
            ("lrwxrwxrwx", "hostmark -> init"),
            ("crw-------", "dev/console"),
        ];
        assert_eq!(output.lines().count(), expected.len(), "{output}");
        for (line, (mode, name)) in output.lines().zip(expected) {
            assert!(line.starts_with(mode) && line.ends_with(name), "{line}");
        }
        assert!(output.contains("5,   1"), "{output}");
    }
}
