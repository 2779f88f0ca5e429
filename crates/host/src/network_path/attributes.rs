//! Attributes of a netlink message: length, kind and value each, laid at multiples of 4 bytes.

/// What tells of the byte order and of nesting rather than the kind.
const KIND_MASK: u16 = 0x3fff;
const HEADER_BYTES: usize = 4;

/// The attributes of a message behind its fixed part, each kind and value. A length that cannot be ends them.
pub(super) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&[low, high, kind_low, kind_high], _) = rest.split_first_chunk::<HEADER_BYTES>()?;
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let value = rest.get(HEADER_BYTES..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([kind_low, kind_high]) & KIND_MASK, value))
    })
}

/// The value of the first attribute of this kind.
pub(super) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// A number of 4 bytes at a place of a value.
pub(super) fn u32_at(value: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*value.get(place..)?.first_chunk()?))
}

/// A number of 8 bytes at a place of a value.
pub(super) fn u64_at(value: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*value.get(place..)?.first_chunk()?))
}

/// A text that ends with a byte of 0, or with the value. Of one that is no name nothing is told.
pub(super) fn text(value: &[u8]) -> Option<String> {
    /// The kernel's names are shorter.
    const LONGEST: usize = 64;
    let text = value.split(|byte| *byte == 0).next()?;
    let is_name = !text.is_empty() && text.len() <= LONGEST && text.iter().all(|byte| (0x21..0x7f).contains(byte));
    is_name.then(|| String::from_utf8_lossy(text).into_owned())
}

/// An attribute as the kernel lays it.
#[cfg(test)]
pub(super) fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [(4 + value.len() as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_end_where_a_length_cannot_be() {
        let two = [5, 0, 1, 0, 9, 0, 0, 0, 8, 0, 2, 0x80, 1, 0, 0, 0];
        assert_eq!(attributes(&two).collect::<Vec<_>>(), [(1, &[9][..]), (2, &[1, 0, 0, 0][..])]);
        for length in [0, 3, 17, 255] {
            let mut broken = two;
            broken[8] = length;
            assert_eq!(attributes(&broken).count(), 1, "{length}");
        }
        assert_eq!(attributes(&two[..11]).count(), 1);
    }

    #[test]
    fn a_name_is_short_and_printable() {
        assert_eq!(text(b"eth0\0rest").as_deref(), Some("eth0"));
        assert_eq!(text(b"tbf").as_deref(), Some("tbf"));
        for hostile in [&b"\0"[..], b"", b"a\x1b[2J\0", b"a b\0", &[b'a'; 65]] {
            assert_eq!(text(hostile), None);
        }
    }
}
