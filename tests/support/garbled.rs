//! Lines of JSON that are nearly right: changed in their values, in their bytes, or in both.

use super::mutated::Mutator;

const PIECES: &[&str] =
    &["{", "}", "[", "]", "\"", ",", ":", "null", "true", "1e999", "\\u0000", "\\ud800", "\n", "\u{0}", "[[[[[[[["];

/// One of these lines, changed: its values, its bytes, or both.
pub fn garbled(draw: &mut Mutator, of: &[String]) -> Vec<u8> {
    let chosen = &of[draw.below(of.len())];
    let how = draw.below(8);
    let mut bytes = match (how < 6).then(|| serde_json::from_str(chosen)) {
        Some(Ok(mut value)) => {
            draw.document(&mut value);
            value.to_string().into_bytes()
        }
        _ => chosen.trim_end().as_bytes().to_vec(),
    };
    if how > 4 {
        for _ in 0..=draw.below(4) {
            bytes_of(draw, &mut bytes, of);
        }
    }
    bytes
}

/// Changes some of its bytes.
fn bytes_of(draw: &mut Mutator, bytes: &mut Vec<u8>, of: &[String]) {
    let (at, end) = (draw.below(bytes.len() + 1), draw.below(bytes.len() + 1));
    let (from, to) = (at.min(end), at.max(end));
    match draw.below(6) {
        0 => bytes.truncate(at),
        1 if at < bytes.len() => bytes[at] = draw.below(256) as u8,
        2 => drop(bytes.splice(at..at, draw.one(PIECES).bytes())),
        3 => drop(bytes.drain(from..to.min(from + 20))),
        4 => {
            let part = bytes[from..to.min(from + 200)].to_vec();
            bytes.splice(at..at, part);
        }
        _ => {
            let other = of[draw.below(of.len())].as_bytes();
            let part = other[draw.below(other.len())..].to_vec();
            bytes.truncate(at);
            bytes.extend(part);
        }
    }
    bytes.retain(|&byte| byte != b'\n');
}
