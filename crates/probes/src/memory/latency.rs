//! Probe memory.latency: one load that needs the one before, by size, pattern and page.

use crate::kernels::chase::{Chain, WINDOW_PAGES};
use hostmark_engine::prelude::*;

/// Lines that the adjacent-line prefetcher brings in together: of each pair one is visited, or every second load would find its
/// line under way, or not, as the machine's load decides.
const PAIR_BYTES: usize = 128;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis {
            at_a_glance: Some(few_sizes),
            ..Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::Chain)
        },
        Axis::choice(
            "pattern",
            "random",
            Points::quick(&["random", "in_page", "64", "4096"])
                .standard(&["128", "256", "512", "1024", "8192", "16384"]),
        ),
        super::PAGE,
        Axis::copies(Profile::Standard),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "pattern"] }],
    // Of a fixed stride prefetchers guess the more the longer it goes on, and a few lines may meet in one set.
    limit: Limit::RisingOf("size", ("pattern", &["random", "in_page"])),
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    measure: Measure::Run(measure),
    ..crate::texts::memory::LATENCY
};

/// Sizes beside the quarter octaves and those around the host's own caches, KiB: those of the classic tables of latency by size and stride.
const THOROUGH_KIB: [u64; 22] = [
    48, 160, 192, 224, 320, 448, 576, 768, 832, 1280, 1536, 1792, 2304, 2560, 3072, 3328, 3584, 4352, 5120, 6144, 6400,
    7168,
];

/// Two points an octave (one beyond 64 MiB, where the largest has to leave a very large cache), from the standard profile on four, so that a level's end lies between two close points.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let an_octave = if profile == Profile::Quick { 2 } else { 4 };
    let largest = super::largest(host, profile);
    let first = if profile == Profile::Thorough { 1 << 10 } else { 4 << 10 };
    let point = |step: u32| {
        let bytes = first as f64 * 2_f64.powf(f64::from(step) / f64::from(an_octave));
        (bytes / 1024.0).round() as u64 * 1024
    };
    let own = single(host).map(|cpu| host.sizes_around_caches(cpu)).into_iter().flatten();
    let between = own.flat_map(|around| around.sizes).chain(THOROUGH_KIB.map(|kib| kib * 1024));
    let between = between.filter(|&size| profile == Profile::Thorough && size <= largest);
    let far = super::beyond(host, super::largest(host, Profile::Quick));
    let is_kept = |size: &u64| profile > Profile::Quick || *size <= super::USUAL_BYTES || size.is_power_of_two();
    (0..).map(point).take_while(|&size| size <= largest).filter(is_kept).chain(between).chain(far).collect()
}

/// Returns those of the quick profile's sizes that tell each level: three of each cache, near three times the one before, where it answers
/// however much of it others use; and the two largest.
fn few_sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = sizes(host, profile);
    let caches = single(host).into_iter().flat_map(|cpu| (1..=5).filter_map(move |level| host.cache(cpu, level)));
    let ends: Vec<u64> = caches.map(|cache| host.effective_bytes(cache)).filter(|&bytes| bytes > 0).collect();
    let begins = ends.first().map(|first| first / 16).into_iter().chain(ends.iter().copied());
    let of_cache = |(begin, &end): (u64, &u64)| {
        let from_threefold = |size: &u64| (*size as f64 / (3 * begin) as f64).ln().abs();
        let mut inside: Vec<u64> = all.iter().copied().filter(|size| (begin + begin / 4..end).contains(size)).collect();
        inside.sort_by(|one, other| from_threefold(one).total_cmp(&from_threefold(other)));
        inside.truncate(3);
        inside
    };
    let largest = all.iter().rev().take(2).copied();
    if ends.is_empty() { all } else { begins.zip(&ends).flat_map(of_cache).chain(largest).collect() }
}

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let pattern: String = case.param("pattern")?;
    let pages = super::pages(case)?;
    let line = case.line_bytes() as usize;
    let mut buffer = crate::chained::chained(case, size, pages, None)?;
    let memory = buffer.bytes_mut();
    let chain = match pattern.as_str() {
        "random" => return crate::chained::loads(case, memory, |case, chain| case.loops(|n| chain.walk(n)).time()),
        "in_page" => Chain::windowed(memory, line.max(PAIR_BYTES), 4096, WINDOW_PAGES, case.seed()),
        stride => {
            let stride: u64 = stride.parse()?;
            if stride > size {
                return Err(RoundError::not_applicable(say!(
                    "a stride of {stride} bytes does not fit a smaller buffer"
                )));
            }
            Chain::strided(memory, stride as usize)
        }
    };
    let chain = chain.map_err(crate::fastest::refused)?;
    let mut chain = chain.settled(case.llc_bytes(), line as u64, &case.steady());
    case.loops(|n| chain.walk(n)).time()
}
