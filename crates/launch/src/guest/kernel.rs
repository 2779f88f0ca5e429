//! The kernel that a guest boots, and the modules that it needs for its devices: found, read within bounds, and looked at before
//! anything is started.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;
use sha2::{Digest, Sha256};

use super::GuestError;
use crate::program::hex;
use crate::transport_error::shown;

/// Bytes of a kernel at most; distributions' have 10 to 60 MB.
const MOST_KERNEL_BYTES: u64 = 512 << 20;
/// Directory of distributions' kernels.
const BOOT: &str = "/boot";
/// Prefixes of their files, before the release.
const NAMES: [&str; 2] = ["vmlinuz-", "Image-"];
/// Characters of a release at most.
#[cfg(target_arch = "x86_64")]
const LONGEST_RELEASE: usize = 64;

/// Reason why a kernel cannot be booted. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    None,
    Unread { file: String, error: io::Error },
    Other { file: String, machine: &'static str, what: Message, wanted: Message },
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
            contents(path, MOST_KERNEL_BYTES).map_err(|error| KernelError::Unread { file: file.clone(), error })?;
        let (machine, wanted) = (std::env::consts::ARCH, wanted());
        if !is_bootable(&bytes) {
            return Err(KernelError::Other { file, machine, what: what_is(&bytes), wanted });
        }
        Ok(BootKernel { digest: hex(&Sha256::digest(&bytes)), release: release(&bytes), bytes })
    }
}

/// Name of a kernel's file here.
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

/// Directory of distributions' modules of each kernel.
const MODULES: &str = "/lib/modules";
/// Bytes of a list of modules at most, and of a module.
const MOST_MODULE_BYTES: u64 = 64 << 20;
/// Endings of modules' files, and the programs that unpack them.
const PACKED: [(&str, Option<&str>); 4] =
    [(".ko", None), (".ko.xz", Some("xz")), (".ko.zst", Some("zstd")), (".ko.gz", Some("gzip"))];

/// Modules of a kernel: those built in, and those in a directory.
#[derive(Debug, Default)]
pub struct Modules {
    directory: PathBuf,
    built_in: Vec<String>,
    /// File and dependencies of each, paths in the directory, by name.
    files: HashMap<String, (String, Vec<String>)>,
}

/// A module as a kernel loads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    /// Contents of its file, unpacked.
    pub bytes: Vec<u8>,
}

impl Modules {
    /// Modules in this directory, else those of a kernel of this release where they are; none for an unknown kernel.
    pub fn of(directory: Option<&Path>, release: Option<&str>) -> Result<Modules, GuestError> {
        match (directory, release) {
            (Some(directory), _) => Modules::read(directory).map_err(|error| {
                let directory = shown(&directory.to_string_lossy());
                GuestError::Asked(say!(
                    "{directory} holds no modules of a kernel ({error}); name one by --modules that has a modules.dep"
                ))
            }),
            (None, Some(release)) => Ok(Modules::read(&Path::new(MODULES).join(release)).unwrap_or_default()),
            (None, None) => Ok(Modules::default()),
        }
    }

    fn read(directory: &Path) -> std::io::Result<Modules> {
        let dependencies = text(&directory.join("modules.dep"))?;
        let built_in =
            text(&directory.join("modules.builtin")).or_else(|_| text(&directory.join("modules.builtin.modinfo")));
        let built_in = built_in.unwrap_or_default().split(['\n', '\0']).filter_map(built_in_name).collect();
        let files = dependencies.lines().filter_map(|line| {
            let (file, rest) = line.split_once(':')?;
            Some((name_of(file)?, (file.to_owned(), rest.split_whitespace().map(str::to_owned).collect())))
        });
        Ok(Modules { directory: directory.to_owned(), built_in, files: files.collect() })
    }

    /// Tells whether the kernel has this built in, or it can be loaded.
    pub fn has(&self, name: &str) -> bool {
        self.is_built_in(name) || self.files.contains_key(name)
    }

    fn is_built_in(&self, name: &str) -> bool {
        self.built_in.iter().any(|one| one == name)
    }

    /// Modules to load for these, in order. One that is unknown is left out: the kernel may have it built in.
    pub fn loaded_for(&self, names: &[&str]) -> Result<Vec<Module>, GuestError> {
        let mut paths: Vec<&str> = Vec::new();
        for name in names.iter().filter(|name| !self.is_built_in(name)) {
            let Some((file, needs)) = self.files.get(*name) else { continue };
            // depmod(8): what is needed stands behind what needs it.
            for path in needs.iter().rev().chain([file]) {
                if !paths.contains(&path.as_str()) {
                    paths.push(path);
                }
            }
        }
        paths.into_iter().map(|path| self.unpacked(path)).collect()
    }

    fn unpacked(&self, path: &str) -> Result<Module, GuestError> {
        let file = self.directory.join(path);
        let shown = shown(&file.to_string_lossy());
        let failed = |why: Message, remedy: Message| {
            GuestError::Asked(say!("the module {shown} cannot be unpacked ({why}); {remedy}"))
        };
        let unread = |error: std::io::Error| failed(error.into(), say!("name another directory by --modules"));
        let name =
            name_of(path).ok_or_else(|| failed(say!("it is none"), say!("name another directory by --modules")))?;
        let unpacker = PACKED.iter().find(|(end, _)| path.ends_with(end)).and_then(|(_, unpacker)| *unpacker);
        let Some(unpacker) = unpacker else {
            return Ok(Module { name, bytes: contents(&file, MOST_MODULE_BYTES).map_err(unread)? });
        };
        let input = open(&file).map_err(unread)?;
        let mut command = Command::new(unpacker);
        command.arg("-dc").stdin(input).stderr(Stdio::piped());
        let output = command
            .output()
            .map_err(|error| failed(say!("{what}: {error}", what = unpacker), say!("install that program")))?;
        match output.status.success() {
            true => Ok(Module { name, bytes: output.stdout }),
            false => {
                let why = crate::transport_error::shown(&String::from_utf8_lossy(&output.stderr));
                Err(failed(format!("{unpacker}: {why}").into(), say!("name another directory by --modules")))
            }
        }
    }
}

fn text(path: &Path) -> std::io::Result<String> {
    Ok(String::from_utf8_lossy(&contents(path, MOST_MODULE_BYTES)?).into_owned())
}

/// A module's name by its file: a kernel takes dashes for underscores.
fn name_of(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let stem = PACKED.iter().find_map(|(end, _)| file.strip_suffix(end))?;
    Some(stem.replace('-', "_"))
}

/// The same of a line of `modules.builtin`, or of a record of `modules.builtin.modinfo`.
fn built_in_name(line: &str) -> Option<String> {
    match line.split_once(".file=") {
        Some((name, _)) => Some(name.replace('-', "_")),
        None => name_of(line),
    }
}

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
pub fn contents(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(say!("it has more than {most} bytes"))),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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

    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let list = "k/virtio_net.ko: k/net_failover.ko k/failover.ko\nk/net_failover.ko: k/failover.ko\nk/failover.ko:\nk/virtio-rng.ko.xz:\n";
        fs::write(at("modules.dep"), list).unwrap();
        fs::write(at("modules.builtin"), "kernel/fs/ext4/ext4.ko\n").unwrap();
        fs::create_dir(at("k")).unwrap();
        for name in ["virtio_net", "net_failover", "failover"] {
            fs::write(at(&format!("k/{name}.ko")), name).unwrap();
        }
        fs::write(at("k/virtio-rng.ko.xz"), "no archive").unwrap();
        directory
    }

    #[test]
    fn what_is_needed_is_loaded_before_what_needs_it_and_once() {
        let directory = directory();
        let modules = Modules::of(Some(directory.path()), None).unwrap();
        let loaded = modules.loaded_for(&["virtio_net", "ext4", "net_failover", "unknown"]).unwrap();
        let names: Vec<&str> = loaded.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["failover", "net_failover", "virtio_net"]);
        assert_eq!(loaded[2].bytes, b"virtio_net");
        assert!(modules.has("ext4") && modules.has("virtio_rng") && !modules.has("unknown"));
    }

    #[test]
    fn kernels_that_list_what_is_built_in_by_its_records_are_read_too() {
        let directory = directory();
        fs::remove_file(directory.path().join("modules.builtin")).unwrap();
        let records = "virtio_console.license=GPL\0virtio_console.file=drivers/char/virtio_console\0";
        fs::write(directory.path().join("modules.builtin.modinfo"), records).unwrap();
        let modules = Modules::of(Some(directory.path()), None).unwrap();
        assert!(modules.is_built_in("virtio_console") && !modules.is_built_in("ext4"));
    }

    #[test]
    fn what_cannot_be_unpacked_is_reported() {
        let directory = directory();
        let modules = Modules::of(Some(directory.path()), None).unwrap();
        let error = modules.loaded_for(&["virtio_rng"]).unwrap_err().to_string();
        assert!(error.contains("virtio-rng.ko.xz cannot be unpacked (xz: "), "{error}");
        let error = Modules::of(Some(&directory.path().join("k")), None).unwrap_err().to_string();
        assert!(error.contains("--modules"), "{error}");
        assert!(!Modules::of(None, Some("no-such-release")).unwrap().has("ext4"));
    }

    #[test]
    fn what_is_no_file_or_too_large_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(contents(&file, 5).unwrap(), b"12345");
        assert!(contents(&file, 4).unwrap_err().to_string().contains("more than 4 bytes"));
        for other in [place.path(), Path::new("/dev/zero")] {
            assert!(contents(other, 5).unwrap_err().to_string().contains("no regular file"));
        }
    }
}
