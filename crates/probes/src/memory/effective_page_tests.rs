//! Verdicts on machines that are made up.

use super::*;

/// A TLB of two levels (entries), each for pages of any size, and what missing them costs.
struct Machine {
    first: f64,
    second: f64,
    second_ns: f64,
    walk_ns: f64,
}

const SERVER: Machine = Machine { first: 64.0, second: 1536.0, second_ns: 2.5, walk_ns: 22.0 };

impl Machine {
    /// Returns the cost to a load whose lines need so many entries, each used alike and the place of an entry left to chance.
    fn cost(&self, entries: f64) -> f64 {
        let missing = |held: f64| (1.0 - held / entries).max(0.0);
        missing(self.first) * self.second_ns + missing(self.second) * self.walk_ns
    }

    /// The curve over growing spans where the part `small` of the huge pages is backed by small ones, each point off by `noise`.
    fn curve(&self, small: f64, noise: impl Fn(usize) -> f64) -> Vec<Costs> {
        let point = |(index, lines): (usize, &f64)| {
            let huge = lines * 4.0 / 512.0;
            let entries = small * lines + (1.0 - small) * huge;
            Costs { base_ns: self.cost(*lines) + noise(2 * index), huge_ns: self.cost(entries) + noise(2 * index + 1) }
        };
        [1024.0, 2048.0, 4096.0].iter().enumerate().map(point).collect()
    }
}

#[test]
fn huge_pages_and_those_that_are_cut_up_are_distinguished_under_noise() {
    let noises: [fn(usize) -> f64; 3] = [|_| 0.0, |index| [1.5, -1.5][index % 2], |index| [-1.5, 1.5][index % 2]];
    let expensive = Machine { walk_ns: 60.0, ..SERVER };
    let large = Machine { second: 3072.0, ..SERVER };
    for machine in [SERVER, expensive, large] {
        for noise in noises {
            let found = |small: f64| verdict(&machine.curve(small, noise)).unwrap();
            assert_eq!((found(0.0).is_huge, found(1.0).is_huge), (Some(true), Some(false)));
            assert!(found(0.0).share < 0.25 && found(1.0).share > 0.6);
        }
    }
}

#[test]
fn memory_of_which_part_is_cut_up_has_a_share_and_no_verdict() {
    let found = verdict(&SERVER.curve(0.5, |_| 0.0)).unwrap();
    assert_eq!(found.is_huge, None, "{found:?}");
    assert!(found.share > 0.25 && found.share < 0.5);
}

#[test]
fn where_base_pages_cost_nothing_nothing_is_reported() {
    let vast = Machine { second: 1e6, ..SERVER };
    assert_eq!(verdict(&vast.curve(1.0, |_| 0.0)), None);
    assert_eq!(verdict(&[]), None);
    assert_eq!(verdict(&[Costs { base_ns: f64::NAN, huge_ns: 1.0 }]), None);
    // Noise may put huge pages below the lines side by side: they are huge.
    assert_eq!(verdict(&[Costs { base_ns: 20.0, huge_ns: -0.7 }]).unwrap().is_huge, Some(true));
}
