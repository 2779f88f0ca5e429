//! Random bits of the kernel's, which nobody can foresee.

use std::io;

use hostmark_say::say;

use super::call::Call;

/// So many random bytes.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).call("getrandom")?;
    if got == N { Ok(bytes) } else { Err(io::Error::other(say!("getrandom gave too little"))) }
}
