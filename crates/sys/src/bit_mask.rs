//! Numbers of CPUs and of memory nodes as the kernel takes and tells them: one bit each.

/// Bits of a word.
pub(crate) const BITS: usize = usize::BITS as usize;

/// The words in which these bits are set: one at least, and none after the last bit.
pub(crate) fn mask_of(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut mask = vec![0_usize];
    for number in numbers {
        mask.resize(mask.len().max(number / BITS + 1), 0);
        mask[number / BITS] |= 1 << (number % BITS);
    }
    mask
}

/// The bits that are set in these words, ascending.
pub(crate) fn numbers_in(mask: &[usize]) -> Vec<usize> {
    (0..mask.len() * BITS).filter(|number| mask[number / BITS] >> (number % BITS) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_mask_was_made_of_is_in_it() {
        for numbers in [&[][..], &[0], &[3, 63, 64, 200]] {
            assert_eq!(numbers_in(&mask_of(numbers.iter().copied())), numbers);
        }
        assert_eq!(mask_of([64, 1].into_iter()), [2, 1]);
    }
}
