//! The ids of cases as people type them, on screen: files and what programs read keep the exact ones.

use hostmark_engine::probe;
use hostmark_model::typed_id;
use hostmark_probes::CATALOGUE;

/// The id of a case of the catalogue; words before it, as those of whose turn it is, stay.
pub fn case_id(text: &str) -> String {
    let (before, id) = text.split_at(text.rfind(' ').map_or(0, |at| at + 1));
    let name = id.split_once('@').map_or(id, |(name, _)| name);
    let Some(entry) = probe::find(CATALOGUE, name) else { return text.to_owned() };
    let axes = entry.axes();
    before.to_owned() + &typed_id(id, |name| Some(axes.iter().find(|axis| axis.name == name)?.kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_typed_whoever_has_the_turn() {
        assert_eq!(case_id("memory.read@size=67108864,threads=1"), "memory.read@size=64M,threads=1");
        assert_eq!(case_id("a 2/5 memory.read@size=4096"), "a 2/5 memory.read@size=4K");
        for other in ["", "a", "unknown.probe@size=4096", "two words"] {
            assert_eq!(case_id(other), other);
        }
    }
}
