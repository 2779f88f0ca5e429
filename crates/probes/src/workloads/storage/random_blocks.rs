//! Data for devices: what no compression makes smaller and no deduplication finds again, as the load of a database or of an
//! encrypted disk. A device that keeps equal blocks once would else answer for data that it never wrote.

use std::io;

use hostmark_engine::prelude::say;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::workloads::call::{Call, named};

/// Bytes of the smallest piece that a device looks at.
const SECTOR_BYTES: usize = 512;

/// A source of such data; another one gives other data.
pub struct Content(Pcg64Mcg);

impl Content {
    /// A new source. An error where the kernel gives no random bytes.
    pub fn new() -> io::Result<Content> {
        let mut seed = <Pcg64Mcg as SeedableRng>::Seed::default();
        let given = getrandom(&mut seed, GetRandomFlags::INSECURE).call("getrandom")?;
        if given != seed.len() {
            return Err(named("getrandom", io::Error::other(say!("fewer bytes came than were asked for"))));
        }
        Ok(Content(Pcg64Mcg::from_seed(seed)))
    }

    /// So many bytes at random.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.fill(&mut bytes);
        bytes
    }

    /// Fills `bytes` at random.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// Makes each sector of `bytes` one that was not there before, by its first word: a few ns for a page.
    #[inline]
    pub fn renew(&mut self, bytes: &mut [u8]) {
        for sector in bytes.chunks_mut(SECTOR_BYTES) {
            let word = self.0.next_u64().to_ne_bytes();
            let length = sector.len().min(word.len());
            sector[..length].copy_from_slice(&word[..length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_sector_comes_twice_however_often_a_block_is_renewed() {
        let mut content = Content::new().unwrap();
        let mut block = content.bytes(4096);
        let mut seen = HashSet::new();
        for _ in 0..1000 {
            content.renew(&mut block);
            assert!(block.chunks(SECTOR_BYTES).all(|sector| seen.insert(sector.to_vec())));
        }
        let mut other = Content::new().unwrap().bytes(4096);
        assert_ne!(other[8..], block[8..]);
        other[..3].fill(0);
        content.renew(&mut other[..3]);
        assert_eq!(other.len(), 4096);
    }

    #[test]
    fn every_value_of_a_byte_comes_as_often_as_another() {
        let mut counts = [0_u32; 256];
        for byte in Content::new().unwrap().bytes(1 << 16) {
            counts[usize::from(byte)] += 1;
        }
        // 256 each, with a standard deviation of 16.
        assert!(counts.iter().all(|&count| (128..=384).contains(&count)), "{counts:?}");
    }
}
