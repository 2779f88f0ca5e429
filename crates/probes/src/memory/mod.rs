//! Group memory: latency and bandwidth of every level.

mod bandwidth;
mod hierarchy;
mod integrity;
mod latency;
mod line;
mod nodes;
mod random_access;
mod stream;
mod tlb;

pub use stream::enough as stream_elements;

crate::group!("memory", shares_worker true:
    hierarchy read = bandwidth::READ write = bandwidth::WRITE copy = bandwidth::COPY fill = bandwidth::FILL
    stream stream2 = bandwidth::STREAM2 scaling = bandwidth::SCALING latency = latency::LATENCY
    loaded_latency = latency::LOADED_LATENCY prefetch = random_access::PREFETCH
    parallelism = latency::PARALLELISM random_access = random_access::RANDOM_ACCESS
    ownership = random_access::OWNERSHIP kernel_random_access = random_access::KERNEL_RANDOM_ACCESS
    unaligned_access = random_access::UNALIGNED_ACCESS line = line::LINE associativity = line::ASSOCIATIVITY
    tlb = tlb::TLB page_walk = tlb::PAGE_WALK effective_page = tlb::EFFECTIVE_PAGE
    numa_latency = nodes::NUMA_LATENCY numa_bandwidth = nodes::NUMA_BANDWIDTH interleave = nodes::INTERLEAVE
    integrity
);

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth::Reach;
use crate::kernels::chase::Chain;

/// Section of a report that shows bandwidth by size, and what names no other.
pub(crate) const SECTION: Text = term!("Memory bandwidth");
const HIERARCHY: Text = term!("Memory hierarchy");
/// Section of the structure of the levels: lines, ways, translation, misses under way.
const STRUCTURE: Text = term!("Caches and TLBs");
const NODES: Text = term!("Memory nodes");
/// Section of latency by size and pattern.
const LATENCY: Text = term!("Memory latency");
/// Section of whether memory keeps its contents.
const INTEGRITY: Text = term!("Memory integrity");

/// Axis page: what backs the buffer.
const PAGE: Axis = Axis::choice("page", "pmd", Points::quick(&["pmd", "base"]));
/// Axis page of probes that have few cases in the quick profile.
const PMD_FIRST: Axis = Axis::choice("page", "pmd", Points::quick(&["pmd"]).standard(&["base"]));
/// Size larger than most caches.
const USUAL_BYTES: u64 = 64 << 20;

/// Returns a size that surely leaves the last cache, where buffers of `most` bytes do not: memory has a point in any profile. It follows
/// from the caches and from whether memory holds it, and from no time.
fn beyond(host: &HostFacts, most: u64) -> Option<u64> {
    let outside = outside_caches(host);
    (most < outside && outside + outside / 8 <= may_fill_bytes(host)).then_some(outside)
}

/// A buffer lies outside the last cache that is so many times as large, as are STREAM's arrays.
const TIMES_CACHE: u64 = 4;
/// Most that is filled for a cache, however large it is, but no less than [`LEAST_TIMES_CACHE`] times as much as it holds.
const MOST_OUTSIDE_BYTES: u64 = 512 << 20;
const LEAST_TIMES_CACHE: u64 = 2;

/// The size that means memory: four times the last cache, as far as this machine has it, and no less than what is larger than most.
fn outside_caches(host: &HostFacts) -> u64 {
    let cache = host.largest_last_level_cache_bytes();
    let most = MOST_OUTSIDE_BYTES.max(LEAST_TIMES_CACHE * cache);
    (TIMES_CACHE * cache).clamp(USUAL_BYTES, most).next_multiple_of(2 << 20)
}

/// The largest size worth measuring: well beyond the last-level cache, within what the profile and the host allow.
fn largest(host: &HostFacts, profile: Profile) -> u64 {
    let caches = host
        .caches
        .iter()
        .map(|cache| host.effective_bytes(cache))
        .filter(|&bytes| bytes > 0)
        .max()
        .unwrap_or(32 << 20);
    let beyond = (4 * caches).max(64 << 20);
    let memory = host.fillable_bytes() / 4;
    let profiled = largest_buffer(profile);
    if profile == Profile::Quick { profiled.min(beyond).min(memory) } else { profiled.min(memory) }
}

/// The pages that the case's axis `page` names.
fn pages(case: &Case) -> Result<Pages> {
    match case.param::<String>("page")?.as_str() {
        "base" => Ok(Pages::Base),
        "pmd" => case.may_have_huge_pages().map(|()| Pages::Pmd),
        other => Err(RoundError::internal(say!("there are no pages '{other}'"))),
    }
}

/// Returns the level that holds `bytes` of memory.
fn reach(case: &Case, bytes: u64) -> Reach {
    match bytes {
        _ if bytes <= case.l1d_bytes() => Reach::FirstCache,
        _ if bytes <= case.llc_bytes() => Reach::Caches,
        _ => Reach::Memory,
    }
}

/// Numbers a line from which a chain is built: its place in the order, and the number of the next.
const NUMBERS_OF_LINE: u64 = 2;

/// Returns the buffer, if the order of its lines has room too. The caller links the lines and writes every one whole.
pub fn chained(case: &mut Case, bytes: u64, pages: Pages, node: Option<Node>) -> Result<Buffer> {
    let order_bytes = bytes / case.line_bytes() * NUMBERS_OF_LINE * size_of::<u32>() as u64;
    drop(case.allot(1, bytes + order_bytes, pages, node)?);
    case.touched(bytes, pages, node)
}

/// A load from memory takes so long at least, ns: by half of it on the fastest machines.
const LEAST_LOAD_NS: f64 = 30.0;

/// Lines that the round's loads need, where the buffer is memory and has many more.
fn few_lines(case: &Case, bytes: u64) -> Option<u64> {
    let needed = (case.grant_ns() / LEAST_LOAD_NS) as u64;
    Some(needed).filter(|&lines| case.is_outside_caches(bytes) && 2 * lines <= bytes / case.line_bytes())
}

/// Time of a dependent load along a random chain through lines of `memory`, all or as many as the round needs, by `measure`.
pub fn loads(
    case: &mut Case,
    memory: &mut [u8],
    measure: impl FnOnce(&mut Case, &mut Chain<'_>) -> Result<()>,
) -> Result<()> {
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let Some(lines) = few_lines(case, memory.len() as u64) else {
        let chain = Chain::random(memory, line, seed)?;
        return measure(case, &mut chain.settled(case.llc_bytes(), line as u64, &case.steady()));
    };
    let mut chain = Chain::sparse(memory, line, lines, seed)?;
    measure(case, &mut chain)?;
    match chain.has_come_back() {
        true => Err(RoundError::wrong(say!("the loads were too fast to come from memory"))),
        false => Ok(()),
    }
}
