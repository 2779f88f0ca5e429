//! Ids of cases as people type them: `64M` in the place of `67108864`. What is shown so is taken as a filter; files keep the bytes.

use crate::{AxisKind, CaseId, Params, ProbeInfo, Run};

/// Bytes as `--set` and filters take them: in the largest of K, M and G (2^10 …) that divides them.
pub fn typed_size(bytes: u64) -> String {
    const UNITS: [(u64, char); 3] = [(1 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')];
    let unit = UNITS.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, letter)| format!("{}{letter}", bytes / unit))
}

/// A value of an axis as people type it.
pub fn typed_value(kind: AxisKind, value: &str) -> String {
    match (kind, value.parse()) {
        (AxisKind::Size, Ok(bytes)) => typed_size(bytes),
        _ => value.to_owned(),
    }
}

/// The id of a case as people type it, where `kind` tells of which kind the axes of its probe are; what is no id stays as it is.
pub fn typed_id(id: &str, kind: impl Fn(&str) -> Option<AxisKind>) -> String {
    let Ok(CaseId { probe, params }) = id.parse() else { return id.to_owned() };
    let typed = |(axis, value): (String, String)| {
        let value = kind(&axis).map_or(value.clone(), |kind| typed_value(kind, &value));
        (axis, value)
    };
    CaseId { probe, params: Params(params.0.into_iter().map(typed).collect()) }.to_string()
}

impl ProbeInfo {
    /// The id of one of its cases as people type it.
    pub fn typed_id(&self, id: &str) -> String {
        typed_id(id, |name| Some(self.axes.iter().find(|axis| axis.name == name)?.kind))
    }
}

impl Run {
    /// The id of one of its cases as people type it; as it is where the run does not describe its probe.
    pub fn typed_id(&self, id: &str) -> String {
        let name = id.split_once('@').map_or(id, |(probe, _)| probe);
        self.probes.iter().find(|probe| probe.id == name).map_or_else(|| id.to_owned(), |probe| probe.typed_id(id))
    }

    /// A sentence with the ids in it as people type them.
    pub fn typed_text(&self, text: &str) -> String {
        let typed = |word: &str| {
            let id = word.trim_end_matches([',', ';', ':', '.', ')']);
            match id.contains('@') {
                true => self.typed_id(id) + &word[id.len()..],
                false => word.to_owned(),
            }
        };
        text.split(' ').map(typed).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_the_largest_letter_that_divides_it() {
        for (bytes, typed) in [
            (0, "0"),
            (512, "512"),
            (1 << 10, "1K"),
            (1536, "1536"),
            (48 << 10, "48K"),
            (3 << 19, "1536K"),
            (64 << 20, "64M"),
            (3 << 30, "3G"),
            (1 << 40, "1024G"),
            (u64::MAX, "18446744073709551615"),
        ] {
            assert_eq!(typed_size(bytes), typed);
        }
    }

    #[test]
    fn only_sizes_change_and_what_is_no_id_stays() {
        let kind = |axis: &str| match axis {
            "size" => Some(AxisKind::Size),
            "threads" => Some(AxisKind::Threads),
            _ => None,
        };
        let typed = |id: &str| typed_id(id, kind);
        assert_eq!(typed("memory.read@size=67108864,threads=1024,x=4096"), "memory.read@size=64M,threads=1024,x=4096");
        assert_eq!(typed("memory.read@size=auto"), "memory.read@size=auto");
        assert_eq!(typed("syscall.null"), "syscall.null");
        assert_eq!(typed("no id@size=4096"), "no id@size=4096");
        assert_eq!(typed("\u{1b}[31m"), "\u{1b}[31m");
    }
}
