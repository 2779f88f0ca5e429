//! Selection of the tests that count among many: first the members, then what is in those that were chosen.

use crate::compare::benjamini_hochberg;

/// The level at which what is inside chosen members is tested, so that among all members that were chosen the mean share of wrong
/// discoveries stays below `level`: it times the share that was chosen (Benjamini & Bogomolov, "Selective inference on multiple
/// families of hypotheses", JRSS B 2014).
pub fn level_inside(level: f64, chosen: usize, members: usize) -> f64 {
    if members == 0 { 0.0 } else { level * chosen.min(members) as f64 / members as f64 }
}

/// The indices of those that are discoveries at false discovery rate `level` (Benjamini & Hochberg 1995), the least p value first.
pub fn discoveries(p_values: &[f64], level: f64) -> Vec<usize> {
    let adjusted = benjamini_hochberg(p_values);
    let mut found: Vec<usize> = (0..p_values.len()).filter(|index| adjusted[*index] <= level).collect();
    found.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discoveries_are_those_of_the_step_up_procedure() {
        // The fifteen p values of the paper's example: four are discoveries at 5 %.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        assert_eq!(discoveries(&p, 0.05), [0, 1, 2, 3]);
        let backwards: Vec<f64> = p.iter().rev().copied().collect();
        assert_eq!(discoveries(&backwards, 0.05), [14, 13, 12, 11]);
        assert!(discoveries(&[], 0.05).is_empty());
    }

    #[test]
    fn few_chosen_members_are_tested_more_strictly_inside() {
        assert_eq!(level_inside(0.05, 3, 60), 0.05 * 3.0 / 60.0);
        assert_eq!((level_inside(0.05, 60, 60), level_inside(0.05, 0, 60), level_inside(0.05, 0, 0)), (0.05, 0.0, 0.0));
    }
}
