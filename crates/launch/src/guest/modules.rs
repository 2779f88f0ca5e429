//! Modules that a guest's kernel needs for its devices: in the order of their dependencies, and as that kernel takes them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hostmark_model::Message;
use hostmark_say::say;

use super::contents;
use super::error::GuestError;
use crate::transport_error::shown;

/// Where distributions put the modules of each kernel.
const MODULES: &str = "/lib/modules";
/// Bytes of a list of modules at most, and of a module.
const MOST_BYTES: u64 = 64 << 20;
/// What the names of modules' files end with, and what unpacks them.
const PACKED: [(&str, Option<&str>); 4] =
    [(".ko", None), (".ko.xz", Some("xz")), (".ko.zst", Some("zstd")), (".ko.gz", Some("gzip"))];

/// What a kernel has built in, and what of it lies in a directory.
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
    /// Its file's contents, unpacked.
    pub bytes: Vec<u8>,
}

impl Modules {
    /// Those in this directory, else those of a kernel of this release where they are; none of a kernel that is unknown.
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

    /// Whether the kernel has this built in, or it can be loaded.
    pub fn has(&self, name: &str) -> bool {
        self.is_built_in(name) || self.files.contains_key(name)
    }

    fn is_built_in(&self, name: &str) -> bool {
        self.built_in.iter().any(|one| one == name)
    }

    /// What has to be loaded for these, in order. One that is unknown is left out: the kernel may have it built in.
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
            return Ok(Module { name, bytes: contents::of(&file, MOST_BYTES).map_err(unread)? });
        };
        let input = contents::open(&file).map_err(unread)?;
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
    Ok(String::from_utf8_lossy(&contents::of(path, MOST_BYTES)?).into_owned())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
}
