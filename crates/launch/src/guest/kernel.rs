//! The kernel that a guest boots: found, read once, and looked at before anything is started.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;
use sha2::{Digest, Sha256};

use super::contents;
use crate::program::hex;
use crate::transport_error::shown;

/// Bytes of a kernel at most; distributions' have 10 to 60 MB.
const MOST_BYTES: u64 = 512 << 20;
/// Where distributions put kernels.
const BOOT: &str = "/boot";
/// What their files are called, before the release.
const NAMES: [&str; 2] = ["vmlinuz-", "Image-"];
/// Characters of a release at most.
#[cfg(target_arch = "x86_64")]
const LONGEST_RELEASE: usize = 64;

/// Why a kernel cannot be booted. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// None was found.
    None,
    /// It cannot be read.
    Unread {
        file: String,
        /// Why.
        error: io::Error,
    },
    /// It is something else.
    Other {
        file: String,
        /// The architecture.
        machine: &'static str,
        /// What it seems to be.
        what: Message,
        wanted: Message,
    },
}

impl From<&KernelError> for Message {
    fn from(error: &KernelError) -> Message {
        match error {
            KernelError::None => say!("there is no readable kernel in /boot; name one by --kernel"),
            KernelError::Unread { file, error } => {
                say!("the kernel {file} cannot be read ({error}); name another by --kernel, or make it readable")
            }
            KernelError::Other { file, machine, what, wanted } => {
                say!("{file} is no kernel of Linux for {machine} ({what}); name a {wanted} by --kernel")
            }
        }
    }
}

displays_its_message!(KernelError);

/// A kernel that can be booted.
pub struct BootKernel {
    /// Its file's contents.
    pub bytes: Vec<u8>,
    /// Their SHA-256, hexadecimal.
    pub digest: String,
    /// The release that it says it is, as `uname -r`; none where it does not say it.
    pub release: Option<String>,
}

/// The kernel that is booted where none is named: the one that runs here, else the newest in /boot that can be read.
pub fn found() -> Result<PathBuf, KernelError> {
    found_in(Path::new(BOOT), &rustix::system::uname().release().to_string_lossy())
}

fn found_in(boot: &Path, running: &str) -> Result<PathBuf, KernelError> {
    let entries = fs::read_dir(boot).map_err(|_| KernelError::None)?;
    let mut kernels: Vec<(Vec<u64>, String, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let release = NAMES.iter().find_map(|prefix| name.strip_prefix(prefix))?.to_owned();
            fs::File::open(entry.path()).ok()?;
            Some((numbers(&release), release, entry.path()))
        })
        .collect();
    kernels.sort();
    let own = kernels.iter().find(|(_, release, _)| release == running);
    own.or(kernels.last()).map(|(_, _, path)| path.clone()).ok_or(KernelError::None)
}

/// The numbers in a release, by which one is newer than another.
fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

impl BootKernel {
    /// Reads one for this machine's architecture.
    pub fn read(path: &Path) -> Result<BootKernel, KernelError> {
        let file = shown(&path.to_string_lossy());
        let bytes =
            contents::of(path, MOST_BYTES).map_err(|error| KernelError::Unread { file: file.clone(), error })?;
        let (machine, wanted) = (std::env::consts::ARCH, wanted());
        if !is_bootable(&bytes) {
            return Err(KernelError::Other { file, machine, what: what_is(&bytes), wanted });
        }
        Ok(BootKernel { digest: hex(&Sha256::digest(&bytes)), release: release(&bytes), bytes })
    }
}

/// What a kernel's file is called here.
fn wanted() -> Message {
    if cfg!(target_arch = "x86_64") { say!("bzImage, as /boot/vmlinuz-*") } else { say!("file Image") }
}

#[cfg(target_arch = "x86_64")]
fn is_bootable(bytes: &[u8]) -> bool {
    // Documentation/arch/x86/boot.rst: the mark of a boot sector, then that of a header.
    bytes.get(0x1fe..0x200) == Some(&[0x55, 0xaa]) && bytes.get(0x202..0x206) == Some(b"HdrS")
}

#[cfg(target_arch = "x86_64")]
fn release(bytes: &[u8]) -> Option<String> {
    let at = usize::from(u16::from_le_bytes([*bytes.get(0x20e)?, *bytes.get(0x20f)?])) + 0x200;
    let text = bytes.get(at..)?.split(|&byte| byte == 0).next()?;
    let word = std::str::from_utf8(text).ok()?.split(' ').next()?;
    // It becomes a part of a path.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._+~".contains(c);
    let is_release = word.len() <= LONGEST_RELEASE && word.starts_with(|c: char| c.is_ascii_digit());
    (is_release && word.chars().all(is_plain)).then(|| word.to_owned())
}

#[cfg(target_arch = "aarch64")]
fn is_bootable(bytes: &[u8]) -> bool {
    // Documentation/arch/arm64/booting.rst.
    bytes.get(0x38..0x3c) == Some(b"ARMd")
}

#[cfg(target_arch = "aarch64")]
fn release(_: &[u8]) -> Option<String> {
    None
}

fn what_is(bytes: &[u8]) -> Message {
    match bytes {
        [] => say!("it is empty"),
        [0x7f, b'E', b'L', b'F', ..] => say!("it is an ELF file"),
        [0x1f, 0x8b, ..] => say!("it is compressed by gzip"),
        _ => say!("it begins otherwise"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_that_runs_here_comes_first_and_then_the_newest() {
        let boot = tempfile::tempdir().unwrap();
        for name in ["vmlinuz-6.9.1-a", "vmlinuz-6.12.0-a", "vmlinuz-5.10.200-a", "initrd.img-7.0", "config-7.0"] {
            fs::write(boot.path().join(name), "").unwrap();
        }
        let found = |running: &str| found_in(boot.path(), running).unwrap();
        assert!(found("6.9.1-a").ends_with("vmlinuz-6.9.1-a"));
        assert!(found("4.4.0").ends_with("vmlinuz-6.12.0-a"));
        assert!(matches!(found_in(&boot.path().join("none"), "6"), Err(KernelError::None)));
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("kernel");
        for (contents, what) in [
            (b"".as_slice(), "it is empty"),
            (b"\x7fELF\x02", "it is an ELF file"),
            (b"\x1f\x8b\x08", "compressed by gzip"),
            (&[0; 4096], "it begins otherwise"),
        ] {
            fs::write(&file, contents).unwrap();
            let error = BootKernel::read(&file).err().unwrap().to_string();
            assert!(error.contains(what) && error.contains("--kernel"), "{error}");
        }
        for path in [place.path(), Path::new("/dev/zero"), Path::new("/no/such/kernel")] {
            let error = BootKernel::read(path).err().unwrap().to_string();
            assert!(error.contains("cannot be read"), "{error}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_kernel_says_its_release() {
        let mut bytes = vec![0; 0x400];
        (bytes[0x1fe], bytes[0x1ff]) = (0x55, 0xaa);
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20f] = 1;
        bytes[0x300..0x300 + 22].copy_from_slice(b"6.12.1+deb12 (x@y) #1\0");
        assert!(is_bootable(&bytes));
        assert_eq!(release(&bytes).as_deref(), Some("6.12.1+deb12"));
        bytes[0x300..0x306].copy_from_slice(b"6/../x");
        assert_eq!(release(&bytes), None);
    }
}
