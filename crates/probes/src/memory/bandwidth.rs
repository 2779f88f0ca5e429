//! Probes of bandwidth by size: reading, writing, copying and filling memory by one core or several.

use std::ops::Range;

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::Refused;
use crate::kernels::bandwidth::{self, CopyKernel, WriteKernel};
use crate::kernels::stream::{self, StreamOperation, numbers, starts};

use super::{PAGE, USUAL_BYTES, beyond, largest, outside_caches, pages, reach};

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

/// The page of a probe of bandwidth by size, with what all of them have.
const fn by_size(page: Probe) -> Probe {
    Probe {
        revision: 2,
        also: &[Quantity::BYTES_PER_CYCLE],
        full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "kernel"] }],
        limit: Limit::BytesPerCycle,
        core_bound: CoreBound::SIZE,
        ..crate::rate(Unit::BytesPerSecond, page)
    }
}

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

/// Probe memory.read: how fast one core reads memory, by size and kernel.
pub static READ: Probe = Probe {
    axes: &[
        Axis { at_a_glance: Some(|host, _| beyond(host, USUAL_BYTES).into_iter().collect()), ..SIZE },
        Axis::choice(
            "kernel",
            "best",
            Points::quick(&["best", "scalar"]).standard(&[
                "sse2",
                "avx2",
                "avx512",
                "avx512-descending",
                "avx2-streams",
                "neon",
                "sve",
                "nt",
            ]),
        ),
        PAGE,
        THREADS,
    ],
    measure: Measure::Run(measure_read),
    ..by_size(crate::texts::memory::READ)
};

fn measure_read(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let usual = bandwidth::best_read(reach(case, size));
    let pages = pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::reads().iter(), usual)?;
    passes(case, &kernels, pages, (size, size), |kernel, buffer, part, n| {
        kernel.run(&buffer.bytes()[part], n).map(drop)
    })?;
    Ok(())
}

/// Probe memory.write: how fast one core, or several, store to memory, by size and kernel.
pub static WRITE: Probe = Probe {
    axes: &[SIZE, STORE_KERNEL, PAGE, THREADS],
    measure: Measure::Run(measure_write),
    ..by_size(crate::texts::memory::WRITE)
};

/// Pattern that is stored: any value whose bytes differ.
const PATTERN: u64 = 0x0123_4567_89ab_cdef;

fn measure_write(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let usual = bandwidth::best_write(reach(case, size));
    let pages = pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::writes().iter(), usual)?;
    let run =
        |kernel: &WriteKernel, buffer: &mut Buffer, part, n| kernel.run(&mut buffer.bytes_mut()[part], n, PATTERN);
    let kernel = passes(case, &kernels, pages, (size, size), run)?;
    // A plain store to a line that is not cached reads it first; what one instruction or the C library does is theirs.
    match kernel.name {
        "nt" => case.note("bus_bytes_per_byte", 1),
        "rep" | "libc" => {}
        _ => case.note("bus_bytes_per_byte", 2),
    }
    Ok(())
}

/// Probe memory.copy: how fast one core, or several, copy memory, by size and kernel.
pub static COPY: Probe = Probe {
    axes: &[
        Axis { points: Points::OfHost(copy_sizes), ..SIZE }.fills(Fill::EachThread(2)),
        Axis::choice(
            "kernel",
            "best",
            Points::quick(&["best", "scalar", "libc"]).standard(&[
                "sse2",
                "avx2",
                "avx512",
                "avx2-prefetch",
                "neon",
                "sve",
                "nt",
                "rep",
            ]),
        ),
        PAGE,
        THREADS,
    ],
    measure: Measure::Run(measure_copy),
    ..by_size(crate::texts::memory::COPY)
};

/// Sizes of each of the two buffers: half of what lies outside the caches is enough.
fn copy_sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let far = beyond(host, 2 * USUAL_BYTES).map(|both| both / 2);
    sizes_beyond_later(host, profile).into_iter().chain(far).collect()
}

fn measure_copy(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let reach = reach(case, 2 * size);
    let usual = bandwidth::best_copy(reach);
    let pages = pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::copies().iter(), usual)?;
    let offset = bandwidth::copy_offset_bytes(reach);
    case.note("offset_bytes", offset);
    let bytes = usize::try_from(size)?;
    // The destination begins at the first address behind the source that has the offset.
    let destination = bytes.next_multiple_of(4096) + offset;
    let run = |kernel: &CopyKernel, buffer: &mut Buffer, part: Range<usize>, n| {
        let (source, rest) = buffer.bytes_mut().split_at_mut(bytes);
        kernel.run(&mut rest[destination - bytes..][part.clone()], &source[part], n)
    };
    let kernel = passes(case, &kernels, pages, (size, (destination + bytes) as u64), run)?;
    // What one instruction or the C library does is theirs.
    match kernel.name {
        "nt" => case.note("bus_bytes_per_byte", 2),
        "rep" | "libc" => {}
        _ => case.note("bus_bytes_per_byte", 3),
    }
    Ok(())
}

/// Probe memory.fill: how fast one core, or several, set memory to one value, by size and kernel.
pub static FILL: Probe = Probe {
    axes: &[SIZE_BEYOND_LATER, STORE_KERNEL, PAGE, THREADS],
    measure: Measure::Run(measure_fill),
    ..by_size(crate::texts::memory::FILL)
};

fn measure_fill(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let usual = bandwidth::best_write(reach(case, size));
    let pages = pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::writes().iter(), usual)?;
    let run = |kernel: &WriteKernel, buffer: &mut Buffer, part, n| kernel.fill(&mut buffer.bytes_mut()[part], n, 0);
    passes(case, &kernels, pages, (size, size), run)?;
    Ok(())
}

/// Probe memory.stream2: the kernels of STREAM2 by size, through all levels of the memory hierarchy.
pub static STREAM2: Probe = Probe {
    revision: 2,
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[
        Axis::choice("kernel", "daxpy", Points::quick(&["daxpy"]).standard(&["fill", "copy", "sum"])),
        Axis::size("size", "67108864", Points::OfHost(stream2_sizes)).fills(Fill::InAll(2)),
        super::PMD_FIRST,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["kernel", "size"] }],
    limit: Limit::DramBandwidth,
    core_bound: CoreBound::SIZE,
    measure: Measure::Run(measure_stream2),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::memory::STREAM2)
};

/// Values repeat after so many elements, a page of them.
const PERIOD: usize = 512;

fn stream2_sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    // A size inside of each usual cache and one beyond them; then every power of four.
    const EACH: [u64; 4] = [8 << 10, 128 << 10, 2 << 20, 32 << 20];
    // Of two arrays half of what lies outside the caches is enough.
    let far = beyond(host, 2 * USUAL_BYTES).map(|both| both / 2);
    let listed: Vec<u64> = match profile {
        Profile::Glance | Profile::Quick => far.map_or(vec![USUAL_BYTES], |_| Vec::new()),
        Profile::Standard => EACH.into_iter().chain([USUAL_BYTES]).collect(),
        Profile::Thorough => (12..=28).step_by(2).map(|power| 1 << power).chain(EACH).collect(),
    };
    listed.into_iter().chain(far).collect()
}

fn measure_stream2(case: &mut Case) -> Result<()> {
    let name: String = case.param("kernel")?;
    let size: u64 = case.param("size")?;
    let pages = pages(case)?;
    let operation = StreamOperation::named(&name).ok_or_else(|| RoundError::internal(say!("STREAM2 has no {name}")))?;
    let arrays = if matches!(operation, StreamOperation::Copy | StreamOperation::Daxpy) { 2 } else { 1 };
    let usual = stream::best(operation, reach(case, arrays * size))
        .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no such kernel")))?;
    let kernels = Candidates::of("best", stream::kernels().filter(|kernel| kernel.operation == operation), usual)?;
    let elements = usize::try_from(size / 8)?;
    let [_, second] = starts(elements);
    let mut buffer = case.touched(((second + elements) * 8) as u64, pages, None)?;
    let (a, b) = numbers(buffer.bytes_mut()).split_at_mut(second);
    let (a, b) = (&mut a[..elements], &mut b[..elements]);
    stream::fill(a, |index| 1.0 + (index % PERIOD) as f64);
    stream::fill(b, |index| 2.0 + (index % (PERIOD / 2)) as f64);
    // A refusal would be one of the first run already.
    usual.run(a, b, &[], 3.0, 1)?;
    let kernel = kernels.chosen(case, (size / 8 * 8, ((second + elements) * 8) as u64), |kernel, part, n| {
        let part = part.start / 8..part.end / 8;
        let _ = kernel.run(&mut a[part.clone()], &b[part], &[], 3.0, n);
    })?;
    case.steadied(arrays * size, || kernel.run(a, b, &[], 3.0, 1));
    case.loops(|n| {
        let _ = kernel.run(a, b, &[], 3.0, n);
    })
    .rate(size / 8 * operation.bytes_per_element())
}

/// Probe memory.scaling: how fast threads use memory together, by their number, by how they lie over the CPUs, and by what they do.
pub static SCALING: Probe = Probe {
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[
        Axis::all_threads("threads", Points::NamesOfHost(scaling_threads)),
        Axis::order(),
        Axis { points: Points::NamesOfHost(scaling_sizes), ..Axis::settled_size("size", scaling_size) }
            .fills(Fill::EachThread(1)),
        Axis::choice(
            "mix",
            "read",
            Points::quick(&["read"]).standard(&[
                "three_to_one",
                "two_to_one",
                "one_to_one",
                "three_to_one_nt",
                "two_to_one_nt",
                "one_to_one_nt",
            ]),
        ),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["threads", "order"] },
        FullFactorial { from: Profile::Thorough, axes: &["threads", "order", "size"] },
    ],
    limit: Limit::BytesPerCycle,
    measure: Measure::Run(measure_scaling),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::memory::SCALING)
};

/// All; from the standard profile on powers of two, and as many as there are packages, nodes, caches and cores.
pub(super) fn scaling_threads(host: &HostFacts, profile: Profile) -> Vec<String> {
    let all = host.usable_cpus().len() as u64;
    let powers = (0..u64::BITS).map(|power| 1 << power).take_while(|&threads| threads < all);
    let counts = powers.chain(domains(host).into_iter().map(|count| count as u64));
    let counts = counts.filter(|&count| count < all && profile >= Profile::Standard);
    counts.map(|count| count.to_string()).chain(["all".into()]).collect()
}

/// Largest amount that all threads fill together.
const MOST_BYTES: u64 = 16 << 30;

/// Returns a size with which one thread leaves its last cache, so that the sweep stays in memory from its first point on; 64 MiB
/// where so much for every thread is more than memory holds or than is filled in reasonable time.
fn scaling_size(host: &HostFacts) -> u64 {
    let (outside, threads) = (outside_caches(host), host.usable_cpus().len() as u64);
    let most = MOST_BYTES.min(may_fill_bytes(host));
    if outside.saturating_mul(threads) > most { USUAL_BYTES } else { outside }
}

/// Returns the further sizes: in the thorough profile half of the last cache.
fn scaling_sizes(host: &HostFacts, profile: Profile) -> Vec<String> {
    let last = single(host).and_then(|cpu| host.last_level_cache(cpu)).filter(|_| profile == Profile::Thorough);
    let half = last.map(|cache| cache.size_bytes / 2 / (2 << 20) * (2 << 20)).filter(|&half| half > 0);
    half.map(|half| half.to_string()).into_iter().chain(["auto".into()]).collect()
}

fn measure_scaling(case: &mut Case) -> Result<()> {
    let (size, cpus, mix) = (case.param::<u64>("size")?, case.thread_cpus(), case.param::<String>("mix")?);
    if mix != "read" {
        return measure_mix(case, &mix, size, &cpus);
    }
    let allotment = case.allot(cpus.len() as u64, size, Pages::Pmd, None)?;
    let usual = bandwidth::best_read(reach(case, size));
    let kernels = Candidates::of_reads(case, cpus.len(), usual)?;
    let kernel = kernels.chosen_in_lockstep(case, &cpus, &allotment, (size, size), |kernel, buffer, part, n| {
        kernel.run(&buffer.bytes()[part], n).map(drop)
    })?;
    case.workers(&cpus, |_| {
        let buffer = allotment.touch()?;
        kernel.run(buffer.bytes(), 1)?;
        Ok(move |n| {
            let _ = kernel.run(buffer.bytes(), n);
        })
    })
    .of_long_iterations(size >= crate::fastest::LONG_PASS_BYTES)
    .rate(size)
}

/// Parts that are copied, or read beside, at once: so short that all threads move everything all the time, and so long that waiting for
/// stores past the caches at the end of each takes 1 %.
const MIX_PART_BYTES: usize = 64 << 10;

/// Reads and writes of a thread beside others, by how many bytes the bus reads for each that it writes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mix {
    /// True where the stores are a copy's, and false where they are alone.
    copies: bool,
    /// Parts that are read for each part that is copied.
    beside: usize,
    /// True for stores past the caches: plain ones read their line first.
    is_nt: bool,
}

impl Mix {
    fn named(name: &str) -> Mix {
        let (ratio, is_nt) = name.strip_suffix("_nt").map_or((name, false), |ratio| (ratio, true));
        let reads: usize = match ratio {
            "three_to_one" => 3,
            "two_to_one" => 2,
            _ => 1,
        };
        let of_store = usize::from(!is_nt);
        let copies = reads > of_store;
        Mix { copies, beside: if copies { reads - of_store - 1 } else { 0 }, is_nt }
    }

    /// Bytes that the bus reads for each that it writes.
    fn reads(self) -> usize {
        usize::from(self.copies) + self.beside + usize::from(!self.is_nt)
    }
}

fn measure_mix(case: &mut Case, name: &str, size: u64, cpus: &[Cpu]) -> Result<()> {
    let (mix, reach, bytes) = (Mix::named(name), reach(case, size), usize::try_from(size)?);
    let (read, write) = (bandwidth::best_read(reach), bandwidth::best_write(reach));
    let copy = if mix.is_nt { bandwidth::copy("nt") } else { Some(bandwidth::best_copy(reach)) };
    let copy = copy
        .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no such kernel")))?;
    let offset = bandwidth::copy_offset_bytes(reach);
    let part = match mix.copies {
        true => bytes.saturating_sub(2 * 4096) / (2 + mix.beside) / MIX_PART_BYTES * MIX_PART_BYTES,
        false => bytes,
    };
    if part == 0 {
        return Err(RoundError::not_applicable(say!("{size} bytes are too few for {name}")));
    }
    case.note("kernel", if mix.copies { copy.name } else { write.name });
    let allotment = case.allot(cpus.len() as u64, size, Pages::Pmd, None)?;
    case.workers(cpus, |_| {
        let mut buffer = allotment.map()?;
        let mut pass = move || -> std::result::Result<(), Refused> {
            let memory = buffer.bytes_mut();
            if !mix.copies {
                return write.run(memory, 1, PATTERN);
            }
            let (source, rest) = memory.split_at_mut(part);
            let (destination, more) = rest[offset..].split_at_mut(part);
            let mut more = more[4096 - offset..].chunks(MIX_PART_BYTES);
            for (source, destination) in source.chunks(MIX_PART_BYTES).zip(destination.chunks_mut(MIX_PART_BYTES)) {
                copy.run(destination, source, 1)?;
                more.by_ref().take(mix.beside).try_for_each(|part| read.run(part, 1).map(drop))?;
            }
            Ok(())
        };
        Ok(move |n| (0..n).try_for_each(|_| pass()))
    })
    .of_long_iterations(size >= crate::fastest::LONG_PASS_BYTES)
    .rate((part * (1 + mix.reads())) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_reads_as_often_as_its_name_says() {
        for (name, reads) in [("one_to_one", 1), ("two_to_one", 2), ("three_to_one", 3)] {
            for name in [name.to_owned(), format!("{name}_nt")] {
                let mix = Mix::named(&name);
                assert_eq!((mix.reads(), mix.is_nt), (reads, name.ends_with("_nt")), "{name}: {mix:?}");
            }
        }
        // Plain stores alone read each line once; those past the caches need a copy's loads.
        assert_eq!(["one_to_one", "one_to_one_nt"].map(|name| Mix::named(name).copies), [false, true]);
    }
}
