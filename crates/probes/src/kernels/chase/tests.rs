//! Every chain is one cycle through exactly its nodes, and a walk goes on where the last one stopped.

use super::*;
use hostmark_engine::prelude::Clock;

/// Page-aligned zeroed memory.
struct Aligned(Vec<u8>, usize);

impl Aligned {
    fn new(bytes: usize) -> Self {
        let memory = vec![0u8; bytes + 4096];
        let skip = memory.as_ptr().align_offset(4096);
        Self(memory, skip)
    }

    fn slice(&mut self, bytes: usize) -> &mut [u8] {
        &mut self.0[self.1..self.1 + bytes]
    }
}

/// Walks all nodes one by one, and gives the offsets in the order of the visit.
fn visit(chain: &mut Chain<'_>) -> Vec<usize> {
    let mut offsets = Vec::new();
    for _ in 0..chain.nodes() {
        offsets.push(chain.position());
        chain.walk(1);
    }
    assert_eq!(chain.position(), offsets[0], "the cycle closes after all nodes");
    offsets
}

fn settled<'a>(chain: Result<Built<'a>, Refused>, caches: u64, line: u64) -> Chain<'a> {
    chain.unwrap().settled(caches, line, &Steady::default())
}

fn built(chain: Result<Built<'_>, Refused>) -> Chain<'_> {
    settled(chain, 1, 64)
}

#[test]
fn no_chain_is_walked_before_a_pass_that_leaves_nothing_else_in_the_caches() {
    let (lines, line) = (4096, 64);
    let mut memory = Aligned::new(line * lines);
    let order = visit(&mut built(Chain::random(memory.slice(line * lines), line, 42)));
    // Caches of a whole, a half, a quarter and a 16th of the memory: the whole chain, or twice the caches.
    for (caches, walked) in [(4096, 4096), (2048, 4096), (1024, 2048), (256, 512)] {
        let chain = settled(Chain::random(memory.slice(line * lines), line, 42), caches * line as u64, line as u64);
        assert_eq!(chain.position(), order[walked % lines], "{caches}");
    }
    // A host that does not tell of caches has the usual one, which holds all of it.
    assert_eq!(settled(Chain::random(memory.slice(line * lines), line, 42), 0, 64).position(), order[0]);
}

fn assert_each_once(offsets: &[usize], step: usize) {
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable();
    let expected: Vec<usize> = (0..offsets.len()).map(|node| node * step).collect();
    assert_eq!(sorted, expected);
}

#[test]
fn random_is_one_cycle_over_all_lines_which_differs_by_its_seed() {
    for (line, lines) in [64, 128].into_iter().flat_map(|line| [1, 2, 3, 64, 1000, 4096].map(|lines| (line, lines))) {
        let mut memory = Aligned::new(line * lines);
        let mut order = |seed| visit(&mut built(Chain::random(memory.slice(line * lines), line, seed)));
        let first = order(42);
        assert_eq!(first.len(), lines);
        assert_each_once(&first, line);
        assert_eq!(first, order(42));
        assert!(lines < 64 || first != order(1));
    }
}

#[test]
fn a_sparse_chain_visits_a_line_of_each_part_once_and_writes_nothing_else() {
    let (line, lines) = (64, 4096 + 3);
    for nodes in [1, 2, 100, 1024, 4099] {
        let mut memory = Aligned::new(line * lines);
        let mut chain = Chain::sparse(memory.slice(line * lines), line, nodes, 3).unwrap();
        let mut offsets = visit(&mut chain);
        assert!(!chain.has_come_back());
        chain.walk(1);
        assert!(chain.has_come_back());
        offsets.sort_unstable();
        let a_part = lines / nodes as usize * line;
        assert!((0..).zip(&offsets).all(|(part, offset)| offset % line == 0 && offset / a_part == part), "{nodes}");
        let written =
            memory.slice(line * lines).chunks(8).enumerate().filter(|(_, word)| word.iter().any(|byte| *byte != 0));
        assert_eq!(written.map(|(word, _)| word * 8).collect::<Vec<_>>(), offsets);
    }
    let mut memory = Aligned::new(line * 4);
    assert!([0, 5].into_iter().all(|nodes| Chain::sparse(memory.slice(line * 4), line, nodes, 3).is_err()));
}

/// Emulated, there are no caches.
#[cfg(target_arch = "x86_64")]
#[test]
fn no_cache_holds_a_sparse_chain_before_it_is_walked() {
    const NODES: u64 = 256;
    let mut memory = Aligned::new(1 << 20);
    let clock = Clock::MonotonicRaw;
    // What disturbs makes a lap longer: of both the fastest.
    let mut laps = [f64::INFINITY; 2];
    for seed in 0..20 {
        let mut chain = Chain::sparse(memory.slice(1 << 20), 64, NODES, seed).unwrap();
        for fastest in &mut laps {
            *fastest = fastest.min(clock.time(|| chain.walk(NODES)));
        }
    }
    assert!(laps[0] > 3.0 * laps[1], "{laps:?} ns");
}

#[test]
fn windowed_is_one_cycle_that_finishes_each_window() {
    for (pages, window_pages) in [(1, 64), (2, 1), (64, 64), (65, 64), (200, 64), (37, 4)] {
        for line in [64, 128] {
            let mut memory = Aligned::new(pages * 4096);
            let mut chain = built(Chain::windowed(memory.slice(pages * 4096), line, 4096, window_pages, 5));
            assert_eq!(chain.nodes(), (pages * 4096 / line) as u64);
            let offsets = visit(&mut chain);
            assert_each_once(&offsets, line);
            let windows: Vec<usize> = offsets.iter().map(|offset| offset / (window_pages * 4096)).collect();
            let changes = windows.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(changes + 1, pages.div_ceil(window_pages), "each window is entered once");
        }
    }
}

#[test]
fn strided_goes_forward_and_wraps() {
    for (bytes, stride) in [(4096, 8), (4096, 64), (65536, 128), (65536, 4096), (10000, 192), (512, 512)] {
        let mut memory = Aligned::new(bytes);
        let mut chain = built(Chain::strided(memory.slice(bytes), stride));
        assert_eq!(chain.nodes(), (bytes / stride) as u64);
        let offsets = visit(&mut chain);
        assert!(offsets.iter().enumerate().all(|(node, &offset)| offset == node * stride));
    }
}

#[test]
fn a_chain_goes_through_the_offsets_given_in_their_order() {
    let mut memory = Aligned::new(8192);
    let offsets: Vec<usize> = shuffled(100, 9).into_iter().map(|node| node * 80).collect();
    let mut chain = Chain::through(memory.slice(8192), &offsets).unwrap();
    assert_eq!(visit(&mut chain), offsets);
    assert_ne!(offsets, (0..100).map(|node| node * 80).collect::<Vec<_>>());
    assert_each_once(&offsets, 80);
}

#[test]
fn a_chain_follows_the_order_that_it_is_given() {
    let mut memory = Aligned::new(8192);
    let order: Vec<u32> = (0..128).rev().collect();
    let mut chain = built(Chain::ordered(memory.slice(8192), 64, order.clone()));
    assert_eq!(visit(&mut chain), order.iter().map(|&line| line as usize * 64).collect::<Vec<_>>());
    chain.walk_by_one_load(130);
    assert_eq!(chain.position(), order[2] as usize * 64);
    for unfit in [vec![0; 127], vec![128; 128]] {
        assert!(matches!(Chain::ordered(memory.slice(8192), 64, unfit), Err(Refused::Nodes { .. })));
    }
}

#[test]
fn walks_add_up() {
    let mut memory = Aligned::new(64 * 1024);
    let mut chain = built(Chain::random(memory.slice(64 * 1024), 64, 3));
    let order = visit(&mut chain);
    let mut walked = 0;
    for n in [0u64, 1, 5, 63, 64, 65, 128, 1000, 4096, 12345] {
        chain.walk(n);
        walked += n as usize;
        assert_eq!(chain.position(), order[walked % order.len()]);
    }
}

#[test]
fn walks_that_write_follow_the_same_links_and_write_behind_them_alone() {
    let (line, lines) = (64, 1024);
    let mut memory = Aligned::new(line * lines);
    let mut chain = built(Chain::random(memory.slice(line * lines), line, 3));
    let order = visit(&mut chain);
    let mut walked = 0;
    for n in [0u64, 1, 63, 64, 129, 500] {
        chain.walk_writing(n);
        walked += n as usize;
        assert_eq!(chain.position(), order[walked % lines]);
    }
    let after_writing = memory.slice(line * lines).to_vec();
    let word = |at: usize| usize::from_ne_bytes(after_writing[at..at + 8].try_into().unwrap());
    let base = memory.slice(1).as_ptr().addr();
    for (number, &node) in order.iter().enumerate() {
        assert_eq!(word(node), base + order[(number + 1) % lines]);
        assert_eq!(word(node + 8) == base + node, number < walked, "{number}");
        assert!((16..line).step_by(8).all(|offset| word(node + offset) != 0));
    }
    let mut chain = Chain::through(memory.slice(line * lines), &order).unwrap();
    for (n, at) in [(0u64, 0), (1, 1), (64, 65), (2000, 2065 % lines)] {
        chain.walk_owning(n);
        assert_eq!(chain.position(), order[at]);
    }
    assert_eq!(memory.slice(line * lines), after_writing, "every link is replaced by itself");
}

#[test]
#[should_panic(expected = "its link alone")]
fn nothing_is_written_behind_a_link_where_the_next_may_be() {
    let mut memory = Aligned::new(4096);
    Chain::through(memory.slice(4096), &[0, 8]).unwrap().walk_writing(1);
}

#[test]
fn lines_hold_no_zero_word() {
    let mut memory = Aligned::new(64 * 1024);
    Chain::random(memory.slice(64 * 1024), 64, 3).unwrap();
    let words = memory.slice(64 * 1024).chunks_exact(8);
    assert!(words.clone().all(|word| word.iter().any(|&byte| byte != 0)));
    let distinct: std::collections::HashSet<&[u8]> = words.collect();
    assert_eq!(distinct.len(), 64 * 1024 / 8);
}

#[test]
fn unfit_memory_is_refused() {
    let mut memory = Aligned::new(8192);
    assert!(matches!(Chain::random(memory.slice(100), 64, 0), Err(Refused::Length { .. })));
    assert!(matches!(Chain::random(memory.slice(0), 64, 0), Err(Refused::Length { .. })));
    assert!(matches!(Chain::random(&mut memory.slice(4096)[8..72], 64, 0), Err(Refused::Alignment { .. })));
    assert!(matches!(Chain::random(memory.slice(4096), 0, 0), Err(Refused::Step { .. })));
    assert!(matches!(Chain::random(memory.slice(4096), 12, 0), Err(Refused::Step { .. })));
    assert!(matches!(Chain::windowed(memory.slice(4096), 64, 4096, 0, 0), Err(Refused::Step { .. })));
    assert!(matches!(Chain::windowed(memory.slice(4096), 64, 0, 64, 0), Err(Refused::Step { .. })));
    assert!(matches!(Chain::windowed(memory.slice(4096), 64, 32, 64, 0), Err(Refused::Step { .. })));
    for offsets in [&[][..], &[4], &[0, 4096], &[0, 4092]] {
        assert!(Chain::through(memory.slice(4096), offsets).is_err(), "{offsets:?}");
    }
    assert!(matches!(Chain::strided(memory.slice(4096), 0), Err(Refused::Step { .. })));
    assert!(matches!(Chain::strided(memory.slice(4096), 4), Err(Refused::Step { .. })));
    assert!(matches!(Chain::strided(memory.slice(4096), 8192), Err(Refused::Length { .. })));
    assert!(matches!(Chain::strided(&mut memory.slice(4096)[4..], 64), Err(Refused::Alignment { .. })));
}
