//! Group memory: latency and bandwidth of every level.

mod associativity;
mod copy;
mod effective_page;
mod fill;
mod hierarchy;
mod integrity;
mod interleave;
mod kernel_random_access;
mod latency;
mod line;
mod loaded_latency;
mod numa_bandwidth;
mod numa_latency;
mod ownership;
mod page_walk;
mod parallelism;
mod prefetch;
mod random_access;
mod read;
mod scaling;
mod stream;
mod stream2;
mod tlb;
mod unaligned_access;
mod write;

pub use stream::enough as stream_elements;

crate::group!("memory", shares_worker true: hierarchy read write copy fill stream stream2 scaling latency loaded_latency prefetch parallelism random_access ownership kernel_random_access unaligned_access line associativity tlb page_walk effective_page numa_latency numa_bandwidth interleave integrity);

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth::Reach;

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
/// Axis threads of a bandwidth: each has a buffer of its own.
const THREADS: Axis = Axis::threads("threads", Points::OfHost(threads));
const SIZE: Axis = Axis::size("size", "67108864", Points::OfHost(bandwidth_sizes)).fills(Fill::EachThread(1));
/// The same of what tells less: far beyond a large cache from the standard profile on.
const SIZE_BEYOND_LATER: Axis = Axis { points: Points::OfHost(sizes_beyond_later), ..SIZE };

/// Axis kernel of what stores: plain by width and order, past the caches, by one instruction, and the C library's.
const STORE_KERNEL: Axis = Axis::choice(
    "kernel",
    "best",
    Points::quick(&["best", "scalar"]).standard(&[
        "sse2",
        "avx2",
        "avx512",
        "avx2-prefetch",
        "avx2-streams",
        "neon",
        "sve",
        "nt",
        "rep",
        "libc",
    ]),
);

/// 1, one thread a core and all usable CPUs; from the standard profile on the powers of two between.
fn threads(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = (host.usable_cpus().len() as u64).max(1);
    let cores = domains(host).last().map_or(all, |&cores| cores as u64);
    let powers = (0..u64::BITS).map(|power| 1 << power).take_while(|&threads| threads < all);
    let between: Vec<u64> = if profile >= Profile::Standard { powers.collect() } else { Vec::new() };
    [1, cores, all].into_iter().chain(between).collect()
}

/// A quarter, half, full and twice each cache, besides a fixed list for other hosts' steps; at quick the levels' middles.
fn bandwidth_sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    const QUICK_KIB: [u64; 4] = [16, 256, 4096, 65536];
    const REFERENCE_KIB: [u64; 16] =
        [4, 8, 32, 48, 64, 128, 192, 512, 1024, 2048, 2560, 3072, 8192, 16384, 32768, 131_072];
    const THOROUGH_KIB: [u64; 2] = [262_144, 1_048_576];
    let quarters: &[u64] = if profile == Profile::Quick { &[1, 2] } else { &[1, 2, 4, 8] };
    let of_cache =
        |cache: &CacheFact| quarters.iter().map(|quarters| host.effective_bytes(cache) * quarters / 4 / 1024).collect();
    let largest = largest(host, profile);
    let listed = QUICK_KIB
        .into_iter()
        .chain(if profile >= Profile::Standard { REFERENCE_KIB.to_vec() } else { Vec::new() })
        .chain(if profile >= Profile::Thorough { THOROUGH_KIB.to_vec() } else { Vec::new() });
    // Of another kind of core the CPU that measures never sees the caches, and data lies in none for instructions.
    let own = single(host).into_iter().flat_map(|cpu| (1..=5).filter_map(move |level| host.cache(cpu, level)));
    let of_caches = own.flat_map::<Vec<u64>, _>(of_cache);
    let sizes = listed.chain(of_caches).map(|kib| kib * 1024).filter(|size| (1..=largest).contains(size));
    sizes.chain(beyond(host, USUAL_BYTES)).collect()
}

/// The same, but in the quick profile without the size that only leaves a large cache.
fn sizes_beyond_later(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let mut sizes = bandwidth_sizes(host, profile);
    let later = beyond(host, USUAL_BYTES).filter(|_| profile == Profile::Quick);
    sizes.retain(|size| Some(*size) != later);
    sizes
}

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

/// The least and the largest buffer of a CPU that reads memory beside others, bytes.
const LEAST_OF_CPU_BYTES: u64 = 16 << 20;
const MOST_OF_CPU_BYTES: u64 = 256 << 20;

/// Returns the size of the buffers of these CPUs together: so much that hardly any of it is found in their last-level caches.
fn beyond_caches_of(host: &HostFacts, cpus: &[usize]) -> u64 {
    let count = cpus.len() as u64;
    let caches = TIMES_CACHE.saturating_mul(host.last_level_caches_bytes(cpus));
    caches.clamp(LEAST_OF_CPU_BYTES * count, MOST_OF_CPU_BYTES * count)
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

/// The nodes that the case's axis `nodes` names: that of its CPUs and that of its memory.
fn nodes(case: &Case) -> Result<(Node, Node)> {
    let pair: String = case.param("nodes")?;
    let node = |text: &str| -> Result<Node> { Ok(Node(text.parse()?)) };
    let (cpus, memory) =
        pair.split_once('-').ok_or_else(|| RoundError::internal(say!("'{pair}' is no pair of nodes")))?;
    Ok((node(cpus)?, node(memory)?))
}

/// Error of a case between nodes whose memory is not on this one.
fn not_on(Node(node): Node) -> RoundError {
    RoundError::wrong(say!("part of the memory does not lie on node {node}"))
}

/// Returns the level that holds `bytes` of memory.
fn reach(case: &Case, bytes: u64) -> Reach {
    match bytes {
        _ if bytes <= case.l1d_bytes() => Reach::FirstCache,
        _ if bytes <= case.llc_bytes() => Reach::Caches,
        _ => Reach::Memory,
    }
}
