//! Every chain goes once through each line of its own part, and the single one through all.

use std::collections::HashSet;

use hostmark_engine::prelude::Message;

use super::*;

const LINE: usize = 64;

#[repr(align(4096))]
struct Memory([u8; (32 * 9 + 3) * LINE]);

#[test]
fn every_chain_visits_its_own_part_once_and_comes_back() {
    for count in COUNTS {
        let mut memory = Box::new(Memory([0x5a; _]));
        let base = memory.0.as_ptr().addr();
        let mut chains = Chains::new(&mut memory.0, LINE, count, 7).unwrap();
        let lines_each = chains.lines() as usize / count;
        let begin = chains.places(base);
        chains.walk_each(0);
        chains.walk_one(0);
        assert_eq!(chains.places(base), begin, "no turn moves no chain");
        let mut seen: Vec<HashSet<usize>> = vec![HashSet::new(); count + 1];
        // Eight links a turn meet every line of a part where its number of lines is odd, as it mostly is here.
        for _ in 0..chains.lines() {
            for (seen, place) in seen.iter_mut().zip(chains.places(base)) {
                seen.insert(place);
            }
            chains.walk_each(1);
            chains.walk_one(1);
        }
        let step = |cycle: usize| cycle / greatest_common_divisor(cycle, LINKS_A_TURN as usize);
        for (part, seen) in seen[..count].iter().enumerate() {
            assert_eq!(seen.len(), step(lines_each), "{count} chains, part {part}");
            let own = part * lines_each * LINE..(part + 1) * lines_each * LINE;
            assert!(seen.iter().all(|place| own.contains(place) && place % LINE == 8));
        }
        assert_eq!(seen[count].len(), step(lines_each * count), "{count} chains");
        assert!(seen[count].iter().all(|place| place % LINE == 0));
        assert_eq!(chains.places(base), begin, "a whole number of cycles ends where it began");
    }
}

fn greatest_common_divisor(one: usize, other: usize) -> usize {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[test]
fn what_cannot_be_built_is_refused() {
    let mut memory = Box::new(Memory([0x5a; _]));
    let refused = Chains::new(&mut memory.0, LINE, 10, 7).err().map(|refused| Message::from(refused).to_string());
    assert_eq!(
        refused.as_deref(),
        Some("cannot follow 10 chains: there are loops of 1, 2, 4, 8, 12, 16, 24, 32 chains")
    );
    assert!(matches!(Chains::new(&mut memory.0[..LINE], LINE, 2, 7), Err(Refused::Length { .. })));
    assert!(matches!(Chains::new(&mut memory.0[8..], LINE, 2, 7), Err(Refused::Alignment { .. })));
    assert!(matches!(Chains::new(&mut memory.0, 8, 2, 7), Err(Refused::Step { .. })));
}

#[test]
fn two_chains_go_as_far_with_fillers_between_them() {
    let mut memory = Box::new(Memory([0x5a; _]));
    let base = memory.0.as_ptr().addr();
    let all = [Filler::Nop, Filler::Load, Filler::Store, Filler::Mixed];
    for (filler, fillers) in
        all.into_iter().flat_map(|filler| [0, 1, 511, MOST_FILLERS, usize::MAX].map(|n| (filler, n)))
    {
        let mut chains = Chains::new(&mut memory.0, LINE, 2, 7).unwrap();
        let begin = chains.places(base);
        chains.walk_each(2);
        let two = chains.places(base);
        let mut chains = Chains::new(&mut memory.0, LINE, 2, 7).unwrap();
        chains.walk_two_apart(0, filler, fillers);
        assert_eq!(chains.places(base), begin);
        chains.walk_two_apart(2 * LINKS_A_TURN, filler, fillers);
        assert_eq!(chains.places(base), two, "{filler:?} {fillers}");
    }
    let mut alone = Chains::new(&mut memory.0, LINE, 1, 7).unwrap();
    let begin = alone.places(base);
    alone.walk_two_apart(3, Filler::Nop, 1);
    assert_eq!(alone.places(base), begin);
}
