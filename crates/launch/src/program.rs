//! The programs that may be copied to another place: this one, and static ones for other machines from beside it.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use hostmark_say::say;
use sha2::{Digest, Sha256};

use crate::transport_error::{Name, TransportError, shown};

/// The architectures that the program is made for: its name in file names and targets, what `uname -m` may call it, and its
/// number in an ELF file.
const MACHINES: [(&str, &[&str], u16); 2] =
    [("x86_64", &["x86_64", "amd64"], 62), ("aarch64", &["aarch64", "arm64"], 183)];
/// Path through which the file of this process is read and started, also when it has no name any more.
pub const OWN: &str = "/proc/self/exe";
/// Name of this program's processes in the list of processes, whatever it was started through.
const NAME: &str = "hostmark";
/// Bytes of a file that are read at once for its digest.
const DIGESTED_AT_ONCE: usize = 1 << 18;

/// The programs that may be copied to another place.
#[derive(Debug, Clone)]
pub struct Programs {
    own: PathBuf,
    is_static: bool,
    /// None where our own file has no name: what lies there now may be anybody's.
    beside: Option<PathBuf>,
}

/// A program that may be copied.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    pub bytes: Vec<u8>,
    /// Their SHA-256, hexadecimal.
    pub digest: String,
    /// True where it runs without a loader and libraries: else it may not start where these differ.
    pub is_static: bool,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Program { bytes, digest, is_static } = self;
        write!(f, "Program {{ {} bytes, digest: {digest:?}, is_static: {is_static} }}", bytes.len())
    }
}

impl Programs {
    /// Executable of this process, which says whether it is static itself.
    pub fn of_this(is_static: bool) -> io::Result<Programs> {
        use std::os::unix::fs::MetadataExt;
        let has_name = fs::metadata(OWN)?.nlink() > 0;
        let beside = std::env::current_exe()?.parent().filter(|_| has_name).map(Path::to_owned);
        Ok(Programs { own: OWN.into(), is_static, beside })
    }

    pub fn of(own: &Path, is_static: bool, beside: &Path) -> Programs {
        Programs { own: own.into(), is_static, beside: Some(beside.into()) }
    }

    /// The program that is sent to a machine of this architecture, in the word of `uname -m`: ours if it is static; else a
    /// static one from beside it; else ours, if it is of that architecture.
    pub fn for_machine(&self, arch: &str) -> Result<Program, TransportError> {
        self.for_place(arch, &Name::of("the place"))
    }

    /// The same, for the place of this name.
    pub(crate) fn for_place(&self, arch: &str, place: &Name) -> Result<Program, TransportError> {
        let Some(&(machine, _, number)) = MACHINES.iter().find(|(_, words, _)| words.contains(&arch)) else {
            return Err(TransportError::UnknownMachine { place: place.clone(), machine: shown(arch) });
        };
        let is_ours = machine == std::env::consts::ARCH;
        if is_ours && self.is_static {
            return Ok(self.ours()?);
        }
        let file = format!("hostmark-{machine}-linux-musl");
        let named = match &self.beside {
            Some(directory) => shown(&directory.join(&file).to_string_lossy()),
            None => format!("{file} beside hostmark"),
        };
        match self.beside.as_ref().map(|directory| fs::read(directory.join(&file))) {
            Some(Ok(bytes)) if is_for(&bytes, number) => Ok(Program::of(bytes, true)),
            Some(Ok(_)) => Err(TransportError::WrongFile { file: named, machine }),
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
                Err(io::Error::new(error.kind(), say!("cannot read {named}: {error}; make it readable or remove it"))
                    .into())
            }
            _ if is_ours => Ok(self.ours()?),
            _ => Err(TransportError::WrongMachine { place: place.clone(), machine, file: named }),
        }
    }

    /// Our own file, whatever it is.
    pub(crate) fn own(&self) -> &Path {
        &self.own
    }

    pub(crate) fn ours(&self) -> io::Result<Program> {
        let unread = |error: io::Error| {
            let own = shown(&self.own.to_string_lossy());
            io::Error::new(error.kind(), say!("cannot read {own}, the program's own file: {error}; mount /proc"))
        };
        Ok(Program::of(fs::read(&self.own).map_err(unread)?, self.is_static))
    }
}

impl Program {
    fn of(bytes: Vec<u8>, is_static: bool) -> Program {
        let digest = hex(&Sha256::digest(&bytes));
        Program { bytes, digest, is_static }
    }
}

/// Starts `program`, which is this one by default, under its own name.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if program == Path::new(OWN) {
        command.arg0(NAME);
    }
    command
}

/// SHA-256 of a file, hexadecimal.
pub fn digest_of(file: &Path) -> io::Result<String> {
    digest(fs::File::open(file)?)
}

/// The same of what is read here.
pub(crate) fn digest(mut file: impl Read) -> io::Result<String> {
    let (mut digest, mut part) = (Sha256::new(), vec![0; DIGESTED_AT_ONCE]);
    loop {
        match file.read(&mut part) {
            Ok(0) => break,
            Ok(length) => digest.update(&part[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hex(&digest.finalize()))
}

/// Bytes as they are written, hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Random text that nobody can foresee: no banner and no other session has it.
pub(crate) fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(hex(&bytes))
}

/// Tells whether this is an ELF file of 64 bits, little-endian, for the machine of this number.
fn is_for(bytes: &[u8], number: u16) -> bool {
    bytes.starts_with(b"\x7fELF\x02\x01") && bytes.get(18..20) == Some(&number.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(number: u16) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        bytes[18..20].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    /// The names of this machine, and of the other.
    fn names() -> (&'static str, &'static str) {
        if std::env::consts::ARCH == "x86_64" { ("amd64", "arm64") } else { ("arm64", "amd64") }
    }

    #[test]
    fn ours_is_sent_if_it_is_static_or_else_the_one_from_beside_it_or_else_ours() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("own");
        fs::write(&own, "ours").unwrap();
        let [dynamic, fixed] = [false, true].map(|is_static| Programs::of(&own, is_static, directory.path()));
        let (here, there) = names();
        let ours = dynamic.for_machine(here).unwrap();
        assert_eq!((ours.bytes.as_slice(), ours.is_static), (b"ours".as_slice(), false));
        assert_eq!(ours.digest, "ae0bec9e9d33c56354bd612c8a6010840324fc5b9786ce0a18b696b304b09397");
        let error = dynamic.for_machine(there).unwrap_err().to_string();
        let expected = directory.path().join(if there == "arm64" {
            "hostmark-aarch64-linux-musl"
        } else {
            "hostmark-x86_64-linux-musl"
        });
        assert!(
            error.contains(&format!(
                "there is no {} here; build it by `cargo build --release --target",
                expected.display()
            )),
            "{error}"
        );
        for (machine, _, number) in MACHINES {
            fs::write(directory.path().join(format!("hostmark-{machine}-linux-musl")), elf(number)).unwrap();
        }
        assert!(dynamic.for_machine(here).unwrap().is_static);
        assert_eq!(fixed.for_machine(here).unwrap(), Program { is_static: true, ..ours });
        assert!(fixed.for_machine(there).unwrap().is_static);
        fs::write(expected, "#!/bin/sh\n").unwrap();
        let error = fixed.for_machine(there).unwrap_err();
        assert!(matches!(error, TransportError::WrongFile { .. }), "{error}");
    }

    #[test]
    fn what_a_place_calls_its_machine_is_no_path() {
        let directory = tempfile::tempdir().unwrap();
        let programs = Programs::of(Path::new("/proc/self/exe"), true, directory.path());
        for word in ["", "../../etc", "i686", "armv7l", "x86_64\u{1b}[2J", "X86_64", &"x".repeat(100_000)] {
            let error = programs.for_machine(word).unwrap_err();
            assert!(matches!(error, TransportError::UnknownMachine { .. }), "{error}");
            let text = error.to_string();
            assert!(text.len() < 1500 && !text.contains('\u{1b}'), "{text}");
        }
    }

    #[test]
    fn our_own_file_is_read_and_may_have_no_name() {
        let programs = Programs::of_this(false).unwrap();
        let expected = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(programs.ours().unwrap().bytes.len(), expected.len());
        assert_eq!(programs.beside.as_deref(), std::env::current_exe().unwrap().parent());
    }
}
