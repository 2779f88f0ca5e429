//! Chains of dependent loads through memory: one load ends before the next can start, so a walk shows latency alone.

use std::hint::black_box;
use std::marker::PhantomData;

use hostmark_engine::prelude::{Clock, RoundError, Steady};

use super::Refused;
use super::UNROLL;
use super::random_access::{Random, one_cycle};
use super::words::flush_lines;

/// No cache of today has shorter lines.
const SMALLEST_LINE_BYTES: usize = 32;

/// A link: the address of the next node, at the start of each node.
const LINK_BYTES: usize = size_of::<usize>();

/// Pages that a windowed chain mixes: within the smallest first-level TLBs, yet more than hardware prefetchers follow at once.
pub const WINDOW_PAGES: usize = 64;

/// A chain just built. Nobody can walk it before the pass over its memory has been made: what building left in the caches, and
/// memory that is given only when it is first read, would be in the first samples.
pub struct Built<'a> {
    memory: &'a mut [u8],
    node_bytes: usize,
    nodes: u64,
    /// The nodes by number in the order of a walk; empty where each is followed by its neighbour.
    sequence: Vec<u32>,
}

impl<'a> Built<'a> {
    /// Every page of the memory has been given; loads the whole chain in its order, or where the caches of `cache_bytes` hold
    /// half of it or less so much of it that they hold nothing else. Where a walk of the whole is short, it is walked until that takes as
    /// long as before: loads that overlap bring in more than a walk keeps from others. From then on a walk of any length meets what every
    /// later one meets. `line_bytes`: what a node takes in a cache.
    pub fn settled(self, cache_bytes: u64, line_bytes: u64, steady: &Steady) -> Chain<'a> {
        let cached = if cache_bytes > 0 { cache_bytes } else { USUAL_CACHE_BYTES };
        let pass = self.nodes.min(PASS_CACHES * cached / line_bytes.max(1));
        // A walk waits for each load. Where its order is known, loads that overlap leave the same in the caches in a tenth of the
        // time; the last of it is walked, so that the order itself is not left there either.
        let walked = if self.sequence.is_empty() { pass } else { pass / WALKED };
        let mut ahead = 0_u8;
        for &node in self.sequence.iter().take((pass - walked) as usize) {
            ahead ^= self.memory[node as usize * self.node_bytes];
        }
        black_box(ahead);
        let at = if walked == self.nodes { 0 } else { (pass - walked) as usize };
        let start = self.sequence.get(at).map_or(0, |&node| node as usize * self.node_bytes);
        drop(self.sequence);
        let mut chain = Chain::starting_at(self.memory, start, self.nodes, self.node_bytes);
        let walked_ns = steady.ns(|| chain.walk(walked));
        let whole_ns = walked_ns * self.nodes as f64 / walked.max(1) as f64;
        if pass == self.nodes && Steady::is_short(whole_ns) {
            steady.after(|| chain.walk(chain.nodes));
        }
        chain
    }
}

/// Nodes that are linked together: the second cache holds their links.
const BLOCK_NODES: usize = 1 << 15;

/// Number of a pass' loads of which one is walked: a cache line holds at least half as many numbers of the order.
const WALKED: u64 = 32;

/// A walk of this many times the caches' lines leaves nothing else in them.
const PASS_CACHES: u64 = 2;
/// The last-level cache of a host that does not tell: as large as most.
const USUAL_CACHE_BYTES: u64 = 32 << 20;

/// Memory whose nodes form one cycle, and the place where the last walk stopped.
pub struct Chain<'a> {
    #[cfg(test)]
    base: usize,
    node: usize,
    nodes: u64,
    /// Least distance between two links.
    node_bytes: usize,
    walked: u64,
    /// The memory stays borrowed, so that nobody else can change a link.
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Chain<'a> {
    /// Builds one random cycle over all lines of `line_bytes` in `memory`.
    ///
    /// Every byte is written, in ascending order: the link, then non-zero filler that differs from word to word.
    pub fn random(memory: &'a mut [u8], line_bytes: usize, seed: u64) -> Result<Built<'a>, Refused> {
        let nodes = count_nodes(memory, line_bytes, line_bytes)?;
        let mut sequence: Vec<u32> = (0..nodes as u32).collect();
        Random::new(seed).shuffle(&mut sequence);
        Ok(Self::linked(memory, line_bytes, sequence))
    }

    /// Builds one cycle over all lines of `line_bytes` in `memory` in this order, which has the number of each once.
    ///
    /// Every byte is written, as by [`Chain::random`].
    pub fn ordered(memory: &'a mut [u8], line_bytes: usize, order: Vec<u32>) -> Result<Built<'a>, Refused> {
        let nodes = count_nodes(memory, line_bytes, line_bytes)?;
        if order.len() as u64 != nodes || order.iter().any(|&line| u64::from(line) >= nodes) {
            return Err(Refused::Nodes { nodes: order.len() });
        }
        Ok(Self::linked(memory, line_bytes, order))
    }

    /// Writes every line, in ascending order: the link to the next of the sequence, then filler.
    fn linked(memory: &'a mut [u8], line_bytes: usize, sequence: Vec<u32>) -> Built<'a> {
        // Each block of nodes takes its links while a cache holds them: links that are scattered over all memory wait for it.
        let mut links = vec![(0, 0); sequence.len()];
        let mut filled: Vec<usize> = (0..sequence.len()).step_by(BLOCK_NODES).collect();
        for (&node, &next) in sequence.iter().zip(sequence.iter().cycle().skip(1)) {
            let place = &mut filled[node as usize / BLOCK_NODES];
            links[*place] = (node, next);
            *place += 1;
        }
        let base = memory.as_ptr().addr();
        let mut successors = [0; BLOCK_NODES];
        let blocks = links.chunks(BLOCK_NODES).zip(memory.chunks_mut(BLOCK_NODES * line_bytes));
        for ((links, lines), first) in blocks.zip((0..).step_by(BLOCK_NODES)) {
            for &(node, next) in links {
                successors[node as usize % BLOCK_NODES] = next;
            }
            for ((index, line), &next) in (first..).zip(lines.chunks_exact_mut(line_bytes)).zip(&successors) {
                write_line(line, base + next as usize * line_bytes, index);
            }
        }
        Built { nodes: sequence.len() as u64, memory, node_bytes: line_bytes, sequence }
    }

    /// Builds one cycle that visits all lines of a window of `window_pages` pages in random order before it enters the
    /// next window; the windows come in random order too. The last window may be shorter.
    ///
    /// Every byte is written, as by [`Chain::random`].
    pub fn windowed(
        memory: &'a mut [u8],
        line_bytes: usize,
        page_bytes: usize,
        window_pages: usize,
        seed: u64,
    ) -> Result<Built<'a>, Refused> {
        count_nodes(memory, line_bytes, page_bytes)?;
        let window_bytes = page_bytes.saturating_mul(window_pages).min(memory.len().next_multiple_of(page_bytes));
        if window_pages == 0 || !page_bytes.is_multiple_of(line_bytes) {
            return Err(Refused::Step { bytes: window_bytes });
        }
        let (mut random, lines) = (Random::new(seed), (memory.len() / line_bytes) as u32);
        let lines_of_window = (window_bytes / line_bytes) as u32;
        let mut windows: Vec<u32> = (0..lines.div_ceil(lines_of_window)).collect();
        random.shuffle(&mut windows);
        let mut sequence = Vec::with_capacity(lines as usize);
        for window in windows {
            let (first, begun) = (window * lines_of_window, sequence.len());
            sequence.extend(first..lines.min(first.saturating_add(lines_of_window)));
            random.shuffle(&mut sequence[begun..]);
        }
        Ok(Self::linked(memory, line_bytes, sequence))
    }

    /// Builds a chain that goes forward by `stride_bytes` and from the last node back to the first.
    ///
    /// Only the links are written (a line with a link is not zero): bytes between the nodes keep what they held.
    pub fn strided(memory: &'a mut [u8], stride_bytes: usize) -> Result<Built<'a>, Refused> {
        let whole = if stride_bytes == 0 { 0 } else { memory.len() - memory.len() % stride_bytes };
        let memory = &mut memory[..whole];
        let nodes = count_nodes(memory, stride_bytes, LINK_BYTES)?;
        let base = memory.as_ptr().addr();
        for (next, node) in (1..).zip(memory.chunks_exact_mut(stride_bytes)) {
            let next = if next == nodes as usize { 0 } else { next };
            if let Some(place) = node.first_chunk_mut() {
                *place = (base + next * stride_bytes).to_ne_bytes();
            }
        }
        // What was not written has to be given and translated too.
        for line in memory.chunks(SMALLEST_LINE_BYTES) {
            black_box(line[0]);
        }
        Ok(Built { memory, node_bytes: stride_bytes, nodes, sequence: Vec::new() })
    }

    /// Builds one random cycle through `nodes` lines, one at a random place of each of as many equal parts of `memory`, and drops them from
    /// all caches. A walk that ends before it [comes back](Chain::has_come_back) meets what a walk of all lines meets, and building takes the time of
    /// these lines alone.
    ///
    /// Only the links are written.
    pub fn sparse(memory: &'a mut [u8], line_bytes: usize, nodes: u64, seed: u64) -> Result<Self, Refused> {
        let lines = count_nodes(memory, line_bytes, line_bytes)?;
        let lines_a_part = u32::try_from(lines / nodes.max(1)).unwrap_or(0);
        if nodes == 0 || lines_a_part == 0 {
            return Err(Refused::Nodes { nodes: nodes as usize });
        }
        let mut random = Random::new(seed);
        let places: Vec<usize> = (0..nodes)
            .map(|part| (part * u64::from(lines_a_part) + u64::from(random.below(lines_a_part))) as usize * line_bytes)
            .collect();
        let mut successors = vec![0; places.len()];
        one_cycle(&mut successors, &mut random);
        let base = memory.as_ptr().addr();
        for (&place, &next) in places.iter().zip(&successors) {
            memory[place..place + LINK_BYTES].copy_from_slice(&(base + places[next as usize]).to_ne_bytes());
        }
        flush_lines(memory, places.iter().copied());
        Ok(Self::starting_at(memory, places[0], nodes, line_bytes))
    }

    /// Tells whether its walks went over a node for the second time.
    pub fn has_come_back(&self) -> bool {
        self.walked > self.nodes
    }

    /// Builds a chain through the nodes at these `offsets` of `memory`, in their order, and back to the first.
    ///
    /// Only the links are written. An offset given twice makes a shorter cycle than there are offsets.
    pub fn through(memory: &'a mut [u8], offsets: &[usize]) -> Result<Self, Refused> {
        if !memory.as_ptr().addr().is_multiple_of(LINK_BYTES) {
            return Err(Refused::Alignment { needed_bytes: LINK_BYTES });
        }
        let fits = |offset: usize| offset.is_multiple_of(LINK_BYTES) && offset + LINK_BYTES <= memory.len();
        if let Some(&offset) = offsets.iter().find(|offset| !fits(**offset)) {
            return Err(Refused::Step { bytes: offset });
        }
        let (Some(&first), base) = (offsets.first(), memory.as_ptr().addr()) else {
            return Err(Refused::Length { bytes: 0, multiple_bytes: LINK_BYTES });
        };
        for (&offset, &next) in offsets.iter().zip(offsets[1..].iter().chain([&first])) {
            memory[offset..offset + LINK_BYTES].copy_from_slice(&(base + next).to_ne_bytes());
        }
        Ok(Self::starting_at(memory, first, offsets.len() as u64, LINK_BYTES))
    }

    fn starting_at(memory: &'a mut [u8], start: usize, nodes: u64, node_bytes: usize) -> Self {
        // Exposed after the last write: from here on only the walk's instructions reach the memory.
        let base = memory.as_mut_ptr().expose_provenance();
        Self {
            #[cfg(test)]
            base,
            node: base + start,
            nodes,
            node_bytes,
            walked: 0,
            memory: PhantomData,
        }
    }

    /// Follows `n` links, from where the last walk stopped: one dependent load each.
    #[inline]
    pub fn walk(&mut self, n: u64) {
        // SAFETY: `node` is a node, as each builder starts at one and each walk ends at one. The builders made every
        // link the address of a node inside the memory, which this chain borrows exclusively.
        self.node = unsafe { walk(self.node, n / UNROLL, n % UNROLL) };
        self.walked += n;
    }

    /// Walks by one instruction in a loop: prefetchers that go by its address see an unrolled loop as many streams.
    pub fn walk_by_one_load(&mut self, n: u64) {
        // SAFETY: as in `walk`.
        self.node = unsafe { walk(self.node, 0, n) };
    }

    /// The same, and writes the word behind each link: every line becomes dirty, and no load waits for a store.
    pub fn walk_writing(&mut self, n: u64) {
        assert!(self.node_bytes >= 2 * LINK_BYTES, "a node of {} bytes is its link alone", self.node_bytes);
        // SAFETY: as in `walk`; a node is no shorter than its link and the word behind it, which is inside the memory too.
        self.node = unsafe { walk_writing(self.node, n / UNROLL, n % UNROLL) };
    }

    /// Walks by atomics that store each link where it was: none starts before the line of the one before is this core's own.
    pub fn walk_owning(&mut self, n: u64) {
        // SAFETY: as in `walk`; the memory is writable, and every link stays what it is.
        self.node = unsafe { walk_owning(self.node, n / UNROLL, n % UNROLL) };
    }

    /// Number of nodes: a walk of this many comes back to where it began.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Offset, in the memory, of the node where the next walk begins.
    #[cfg(test)]
    pub fn position(&self) -> usize {
        self.node - self.base
    }
}

/// The numbers from 0 up to `count` in random order.
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    Random::new(seed).shuffle(&mut order);
    order
}

/// Counts the nodes of `node_bytes` that fill `memory`, when a chain can be built of them.
fn count_nodes(memory: &[u8], node_bytes: usize, aligned_bytes: usize) -> Result<u64, Refused> {
    if node_bytes == 0 || !node_bytes.is_multiple_of(LINK_BYTES) {
        return Err(Refused::Step { bytes: node_bytes });
    }
    if !aligned_bytes.is_power_of_two() {
        return Err(Refused::Step { bytes: aligned_bytes });
    }
    if memory.is_empty() || !memory.len().is_multiple_of(node_bytes) {
        return Err(Refused::Length { bytes: memory.len(), multiple_bytes: node_bytes });
    }
    if !memory.as_ptr().addr().is_multiple_of(aligned_bytes.max(LINK_BYTES)) {
        return Err(Refused::Alignment { needed_bytes: aligned_bytes.max(LINK_BYTES) });
    }
    let nodes = memory.len() / node_bytes;
    if u32::try_from(nodes).is_err() {
        return Err(Refused::Nodes { nodes });
    }
    Ok(nodes as u64)
}

/// Writes a whole line: the link, then filler that is never zero and differs from word to word.
fn write_line(line: &mut [u8], link: usize, index: u64) {
    let (words, _) = line.as_chunks_mut();
    let mut word = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for place in words.iter_mut() {
        *place = (word | 1).to_ne_bytes();
        word = word.wrapping_add(0xbf58_476d_1ce4_e5b9);
    }
    words[0] = link.to_ne_bytes();
}

/// A walk that does `once` at each node: it goes on from the address in `node`, and may use further registers.
macro_rules! walk {
    ($(#[$text:meta])* $name:ident, $once:expr, [$($register:ident),*], aarch64 [$($more:ident),*], options [$($option:ident),*]) => {
        $(#[$text])*
        unsafe fn $name(node: usize, turns: u64, rest: u64) -> usize {
            let mut node = node;
            // SAFETY: by contract every address met is that of a node, and what is written there, if anything, may be.
            unsafe {
                asm_by_arch!(
                    unrolled!("{turns}", "{rest}", $once);
                    x86_64 {}
                    aarch64 { $($more = out(reg) _,)* }
                    turns = inout(reg) turns => _,
                    rest = inout(reg) rest => _,
                    node = inout(reg) node,
                    $($register = out(reg) _,)*
                    options($($option),*),
                );
            }
            node
        }
    };
}

walk!(
    /// Follows `turns` times 64 links and `rest` more from the node at address `node`; gives the address where it ends.
    ///
    /// # Safety
    /// `node` must be the address of a node: 8 readable, aligned bytes that hold the address of a node.
    walk,
    follow!("{node}"),
    [],
    aarch64 [],
    options [readonly, nostack]
);

walk!(
    /// The same, and the word behind each link is written once the link is on its way: the next load waits for no store.
    ///
    /// # Safety
    /// As of [`walk`], and 8 more bytes behind each link are writable and hold no link.
    walk_writing,
    concat!(
        "mov {here}, {node}\n",
        follow!("{node}"),
        "\n",
        by_arch!(x86_64 { "mov [{here} + 8], {here}" } aarch64 { "str {here}, [{here}, #8]" })
    ),
    [here],
    aarch64 [],
    options [nostack]
);

walk!(
    /// The same by one atomic operation a node that stores the link which it loads: the next cannot start before the line is this core's
    /// own.
    ///
    /// AArch64 does it by a pair of exclusive load and store, as its single instructions may be executed where the line is.
    ///
    /// # Safety
    /// As of [`walk`], and the links are writable.
    walk_owning,
    by_arch!(
        x86_64 { "xor {link:e}, {link:e}\nlock xadd [{node}], {link}\nmov {node}, {link}" }
        aarch64 {
            "6:\nldaxr {link}, [{node}]\nstlxr {failed:w}, {link}, [{node}]\ncbnz {failed:w}, 6b\nmov {node}, {link}"
        }
    ),
    [link],
    aarch64 [failed],
    options [nostack]
);

/// Nanoseconds a load, by the fastest of `times` walks through the nodes at `offsets`, after an untimed one: disturbances only add.
pub fn fastest_ns(
    clock: &Clock,
    memory: &mut [u8],
    offsets: &[usize],
    loads: usize,
    times: usize,
) -> Result<f64, RoundError> {
    let chain = Chain::through(memory, offsets);
    let mut chain = chain.map_err(RoundError::internal)?;
    let loads = loads as u64;
    chain.walk(loads);
    let walk = |_| clock.time(|| chain.walk(loads));
    Ok((0..times).map(walk).fold(f64::INFINITY, f64::min) / loads as f64)
}

#[cfg(test)]
mod tests;
