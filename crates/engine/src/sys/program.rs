//! Programs as operations to be measured: fork, exec and wait, with the exit status checked.

use std::ffi::{CString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::process::reap;

/// The status with which a child says that its exec failed.
const EXEC_FAILED: i32 = 127;

/// A program with its arguments, made ready before anything is timed.
#[derive(Debug)]
pub struct Program {
    /// Keeps what `arguments` points to.
    _words: Vec<CString>,
    arguments: Vec<*const c_char>,
}

impl Program {
    /// `path` with its arguments, the program's own name first.
    pub fn new(path: &Path, arguments: &[&str]) -> io::Result<Program> {
        let first = CString::new(path.as_os_str().as_bytes());
        let words: Result<Vec<CString>, _> =
            std::iter::once(first).chain(arguments.iter().map(|&word| CString::new(word))).collect();
        let words = words?;
        let ends = std::iter::once(std::ptr::null());
        let arguments = words.iter().map(|word| word.as_ptr()).chain(ends).collect();
        Ok(Program { _words: words, arguments })
    }

    /// Forks by clone(2), executes the program in the child with an empty environment, and waits for it. An error when it
    /// could not be executed, or ended in any way but with status 0.
    #[inline]
    pub fn run(&self) -> io::Result<()> {
        // SAFETY: as in `process::fork_exit`: the child goes on on its copy of this stack, and does nothing but execve and
        // exit_group, which are safe whatever other threads held when it was made.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        match child {
            0 => self.become_it(),
            -1 => Err(io::Error::last_os_error()),
            _ => reap(child as i32),
        }
    }

    fn become_it(&self) -> ! {
        let environment = [std::ptr::null::<c_char>()];
        // SAFETY: the arguments are strings that end in 0 and live as long as self, and both lists end in a null pointer.
        unsafe { libc::syscall(libc::SYS_execve, self.arguments[0], self.arguments.as_ptr(), environment.as_ptr()) };
        loop {
            // SAFETY: ends the child.
            unsafe { libc::syscall(libc::SYS_exit_group, EXEC_FAILED) };
        }
    }
}

/// The smallest program there is: an ELF file of one segment whose only instructions are exit(0).
pub fn smallest_elf() -> Vec<u8> {
    #[cfg(target_arch = "x86_64")]
    // xor edi, edi; mov eax, 60; syscall
    const MACHINE_AND_CODE: (u16, &[u8]) = (62, &[0x31, 0xff, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05]);
    #[cfg(target_arch = "aarch64")]
    // mov x0, #0; mov x8, #93; svc #0
    const MACHINE_AND_CODE: (u16, &[u8]) =
        (183, &[0x00, 0x00, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4]);
    const HEADERS: u64 = 64 + 56;
    const ADDRESS: u64 = 0x40_0000;
    let (machine, code) = MACHINE_AND_CODE;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
    file.resize(16, 0);
    let size = HEADERS + code.len() as u64;
    // ELF header (System V ABI, "Object Files"): executable, machine, version, entry, program headers behind it.
    file.extend(2_u16.to_le_bytes());
    file.extend(machine.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    for word in [ADDRESS + HEADERS, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    // One segment: load, readable and executable, the whole file.
    file.extend(1_u32.to_le_bytes());
    file.extend(5_u32.to_le_bytes());
    for word in [0, ADDRESS, ADDRESS, size, size, 0x1_0000] {
        file.extend(word.to_le_bytes());
    }
    file.extend(code);
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_that_ends_well_is_fine_and_every_other_is_an_error() {
        Program::new(Path::new("/bin/true"), &[]).unwrap().run().unwrap();
        assert!(Program::new(Path::new("/bin/false"), &[]).unwrap().run().is_err());
        assert!(Program::new(Path::new("/nonexistent"), &[]).unwrap().run().is_err());
        assert!(Program::new(Path::new("/bin/sh"), &["-c", "exit 3"]).unwrap().run().is_err());
    }

    #[test]
    fn the_smallest_elf_runs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("smallest");
        std::fs::write(&path, smallest_elf()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        // Another test's thread may have forked while the file was open for writing: then it is busy for a moment.
        let program = Program::new(&path, &[]).unwrap();
        let ran = (0..100).any(|_| {
            let ok = program.run().is_ok();
            if !ok {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            ok
        });
        // An emulator executes the test, but not what the test starts, unless the kernel knows it.
        assert!(ran || crate::fixture::is_emulated());
    }
}
