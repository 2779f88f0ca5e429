//! Names in a directory: those that are there, what makes one that nobody can foresee, and the random bits for it.

use std::ffi::{CStr, CString};
use std::io;

use hostmark_say::say;
use rustix::fd::AsFd;
use rustix::fs::Dir;

use super::call::Call;

pub(super) fn entries(directory: impl AsFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory.as_fd()).call("openat")? {
        let name = entry.call("getdents64")?.file_name().to_owned();
        if ![c".", c".."].contains(&name.as_c_str()) {
            names.push(name);
        }
    }
    Ok(names)
}

/// A name that leads to nothing but an entry of its directory.
pub(super) fn plain(name: &CStr) -> io::Result<()> {
    let bytes = name.to_bytes();
    match bytes.is_empty() || bytes.contains(&b'/') || [&b"."[..], b".."].contains(&bytes) {
        true => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        false => Ok(()),
    }
}

/// 64 random bits.
pub(super) fn random_number() -> io::Result<u64> {
    random_bytes().map(u64::from_ne_bytes)
}

pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).call("getrandom")?;
    if got == N { Ok(bytes) } else { Err(io::Error::other(say!("getrandom gave too little"))) }
}
