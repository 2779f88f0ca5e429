//! Probe memory.stream: the four kernels of STREAM on arrays that no cache holds, with the threads together.

use std::ops::Range;
use std::sync::Mutex;

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, Stretches, share_of_caches};
use crate::kernels::Refused;
use crate::kernels::bandwidth::{Reach, copy_offset_bytes};
use crate::kernels::stream::{self, Kernel, StreamOperation, numbers, starts};

const TRIED: StreamOperation = StreamOperation::Triad;
/// Rate on half of each array: caches that hold part of the whole hold more of that.
const HALF: Quantity = Quantity::given("half", Unit::BytesPerSecond, Better::Neither, term!("with half of each array"));

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[HALF],
    axes: &[
        Axis::choice("kernel", "copy", Points::quick(&["copy", "scale", "add", "triad"])),
        Axis::choice("store", "best", Points::quick(&["best"]).standard(&["plain", "nt", "libc"])),
        Axis::all_threads("threads", Points::quick(&["all"]).standard(&["1"])),
        super::PMD_FIRST,
        Axis::settled_count("elements", settled).fills(Fill::InAll(24)),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["kernel", "store"] },
        FullFactorial { from: Profile::Standard, axes: &["kernel", "threads"] },
    ],
    limit: Limit::DramBandwidth,
    measure: Measure::Run(measure),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::memory::STREAM)
};

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("kernel")?;
    let operation = StreamOperation::named(&name).ok_or_else(|| RoundError::internal(say!("STREAM has no {name}")))?;
    let kernels = candidates(operation, &case.param::<String>("store")?)?;
    let pages = super::pages(case)?;
    let cpus = case.thread_cpus();
    let elements: u64 = case.param("elements")?;
    note_short(case, elements);
    let total = usize::try_from(elements)?;
    let largest = (0..cpus.len()).map(|index| part(total, cpus.len(), index)).max().unwrap_or(0);
    let memory = case.allot(cpus.len() as u64, bytes(largest), pages, None)?;
    case.note("elements", elements);
    case.note("threads", cpus.len());
    case.note("offset_bytes", copy_offset_bytes(Reach::Memory));
    let (obtained, llc_bytes) = (Mutex::new(None), share_of_caches(case, &cpus));
    // One kind of store for all four kernels: they differ in how much they read alone.
    case.choose_for_all("kernel");
    let names = kernels.names();
    let mut lockstep = case.lockstep(&cpus, &names, |index| {
        let share = Share::new(part(total, cpus.len(), index), &kernels, &memory, llc_bytes)?;
        if let (0, Ok(mut obtained)) = (index, obtained.lock()) {
            *obtained = Some(share.pages());
        }
        Ok(share)
    });
    if operation == TRIED {
        lockstep = lockstep.with_half(HALF.name);
    }
    let way = lockstep.rate(elements * operation.bytes_per_element())?;
    case.note("kernel", kernels.at(way).name);
    let obtained = obtained.into_inner().ok().flatten();
    case.note("pages", obtained.unwrap_or_else(|| "unknown".to_owned()));
    Ok(())
}

fn candidates(operation: StreamOperation, store: &str) -> Result<Candidates<Kernel>> {
    let usual = stream::best(operation, Reach::Memory);
    let named = match store {
        "nt" => stream::non_temporal(operation),
        "libc" => stream::kernel(operation, "libc"),
        _ => usual,
    };
    let text = say!("there is no such operation with {store} stores: libc copies alone");
    let (named, usual) = named.zip(usual).ok_or(RoundError::not_applicable(text))?;
    let all = stream::kernels().filter(|kernel| kernel.operation == operation);
    match store {
        // Those that all four have.
        "best" => Ok(Candidates::among(all.filter(|kernel| stream::kernel(TRIED, kernel.name).is_some()), usual)),
        // Whether a prefetch helps, and how wide the stores best are, differs from core to core.
        "plain" => Ok(Candidates::among(all.filter(|kernel| kernel.has_plain_stores()), usual)),
        "nt" => Ok(Candidates::among(all.filter(|kernel| kernel.is_non_temporal()), named)),
        _ => Candidates::of(named.name, all, usual),
    }
}

/// An array has this many times the bytes of the last-level caches, so that little of it is still there a pass later.
const TIMES_CACHES: u64 = 4;
/// Last-level cache of a host that does not tell: as large as most.
const USUAL_CACHE_BYTES: u64 = 32 << 20;
/// Bytes of three arrays' elements.
const BYTES_OF_THREE: u64 = 24;
/// Most that a thread's arrays take besides their elements: their ends, and the gaps between them.
const SLACK_BYTES: u64 = 32 << 10;

/// Elements of each array: 4 times all last-level caches. Where memory lacks room, half or a quarter, which are other cases by their ids;
/// where these do not fit either, the case is skipped. No time limit has a part in it.
pub fn settled(host: &HostFacts) -> u64 {
    let cpus = host.usable_cpus();
    let enough = enough(host);
    let slack = (SLACK_BYTES + Pages::Pmd.bytes() as u64) * cpus.len() as u64;
    let fits = |elements: &u64| elements * BYTES_OF_THREE + slack <= may_fill_bytes(host);
    [enough, enough / 2, enough / TIMES_CACHES].into_iter().find(fits).unwrap_or(enough)
}

/// Elements of each array that are enough for the rule.
pub fn enough(host: &HostFacts) -> u64 {
    TIMES_CACHES * capped(host.last_level_caches_bytes(&host.usable_cpus())) / 8
}

fn capped(caches_bytes: u64) -> u64 {
    if caches_bytes > 0 { caches_bytes } else { USUAL_CACHE_BYTES }
}

/// Names arrays that caches hold a part of.
fn note_short(case: &mut Case, elements: u64) {
    if let Some(short) = short(elements, case.llc_sum_bytes()) {
        case.note("times_caches", short);
    }
}

/// Returns the array's size as a multiple of the caches where it is too short; `None` where it is long enough.
fn short(elements: u64, caches_bytes: u64) -> Option<String> {
    let caches = capped(caches_bytes);
    let times = elements as f64 * 8.0 / caches as f64;
    (elements < TIMES_CACHES * caches / 8).then(|| format!("{times:.2}"))
}

const SCALAR: f64 = 3.0;
/// Elements are equal when they differ by no more than this share, as in STREAM.
const ERROR_BOUND: f64 = 1e-13;
/// Elements are split among threads in whole cache lines.
const LINE: usize = 8;
/// Values repeat after so many elements, a page of them: they vary, so that no core can keep equal lines for nothing.
const PERIOD: usize = 512;

/// The elements of thread `index`: equal lines for all, as far as they go, and for the last what is no whole line.
fn part(elements: usize, threads: usize, index: usize) -> usize {
    let lines = elements / LINE;
    let own = lines / threads + usize::from(index < lines % threads);
    own * LINE + if index + 1 == threads { elements % LINE } else { 0 }
}

fn bytes(elements: usize) -> u64 {
    let [_, _, last] = starts(elements);
    ((last + elements.max(1)) * size_of::<f64>()) as u64
}

struct Share<'a> {
    buffer: Buffer,
    elements: usize,
    kernels: &'a Candidates<Kernel>,
    kernel: &'static Kernel,
    stretches: Stretches,
    refused: Option<Refused>,
}

impl<'a> Share<'a> {
    /// Three arrays of `elements` each, of the memory allotted, touched and filled by the calling thread. Its share of the last caches is `llc_bytes`.
    fn new(elements: usize, kernels: &'a Candidates<Kernel>, memory: &Allotment, llc_bytes: u64) -> Result<Share<'a>> {
        let buffer = memory.touch()?;
        let stretches = Stretches::of((elements * size_of::<f64>()) as u64, bytes(elements), llc_bytes);
        let mut share = Share { buffer, elements, kernels, kernel: kernels.at(0), stretches, refused: None };
        for (array, role) in share.arrays().into_iter().zip(ROLES) {
            stream::fill(array, |index| before(role, index));
        }
        Ok(share)
    }

    fn pages(&self) -> String {
        self.buffer.obtained()
    }

    fn arrays(&mut self) -> [&mut [f64]; 3] {
        let elements = self.elements;
        let [_, second, third] = starts(elements);
        let (a, rest) = numbers(self.buffer.bytes_mut()).split_at_mut(second);
        let (b, c) = rest.split_at_mut(third - second);
        [&mut a[..elements], &mut b[..elements], &mut c[..elements]]
    }

    /// Goes over these elements.
    fn go(&mut self, kernel: &Kernel, part: Range<usize>, passes: u64) {
        let [x, y, d] = self.arrays().map(|array| &mut array[part.clone()]);
        self.refused = kernel.run(d, x, y, SCALAR, passes).err();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    D,
    X,
    Y,
}

/// Roles of the three arrays, for any operation: so all find the same sources.
const ROLES: [Role; 3] = [Role::X, Role::Y, Role::D];

/// Returns an element's value before the first pass: a destination is negative, which no result is.
fn before(role: Role, index: usize) -> f64 {
    let varied = 1.0 + (index % PERIOD) as f64 / PERIOD as f64;
    match role {
        Role::D => -varied,
        Role::X => varied,
        Role::Y => 4.0 - varied,
    }
}

impl ThreadWork for Share<'_> {
    fn pass(&mut self) {
        self.go(self.kernel, 0..self.elements, 1);
    }

    fn half(&mut self) {
        self.go(self.kernel, 0..self.elements / 2 / LINE * LINE, 1);
    }

    fn trial(&mut self, way: usize, repeats: u64) {
        let (part, own) = (self.stretches.next(), self.kernels.at(way));
        let tried = stream::kernel(TRIED, own.name).unwrap_or(own);
        self.go(tried, part.start / size_of::<f64>()..part.end / size_of::<f64>(), repeats);
    }

    fn take(&mut self, way: usize) {
        self.kernel = self.kernels.at(way);
    }

    fn check(&mut self) -> Result<()> {
        if let Some(refused) = self.refused {
            return Err(RoundError::internal(refused));
        }
        let operation = self.kernel.operation;
        let [d, x, y] = [Role::D, Role::X, Role::Y].map(|role| move |index| before(role, index));
        let expected: Vec<(f64, f64)> = (0..PERIOD)
            .map(|index| operation.of(d(index), x(index), y(index), SCALAR))
            .map(|value| (value, ERROR_BOUND * value.abs()))
            .collect();
        let is_wrong =
            |(&found, &(expected, bound)): (&f64, &(f64, f64))| u64::from(((found - expected).abs() <= bound) ^ true);
        let [.., destination] = self.arrays();
        let of_chunk = |chunk: &[f64]| chunk.iter().zip(&expected).map(is_wrong).sum::<u64>();
        match destination.chunks(PERIOD).map(of_chunk).sum::<u64>() {
            0 => Ok(()),
            wrong => Err(RoundError::wrong(say!(
                "{wrong} of {elements} elements of a thread are wrong",
                elements = self.elements
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::stream::kernels;

    /// A host of two CPUs under one cache of `cache_mib`, with `memory_mib` free and a limit of `limit_mib`.
    fn host(cache_mib: u64, memory_mib: u64, limit_mib: Option<u64>) -> HostFacts {
        let cpu = |id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() };
        let size_bytes = cache_mib << 20;
        let cache = CacheFact { level: 3, size_bytes, shared_cpus: vec![0, 1], ..CacheFact::default() };
        let mut host = HostFacts { cpus: vec![cpu(0), cpu(1)], caches: vec![cache], ..HostFacts::default() };
        host.memory.available_bytes = memory_mib << 20;
        host.limits.memory_limit_bytes = limit_mib.map(|mib| mib << 20);
        host
    }

    #[test]
    fn elements_follow_from_the_caches_and_a_limit_never_makes_another_number_of_the_same_id() {
        let enough = |cache_mib: u64| 4 * (cache_mib << 20) / 8;
        assert_eq!(settled(&host(32, 20 << 10, None)), enough(32));
        // The rule's arrays of 3 × 128 MiB, in half of the memory; a limit that leaves room changes nothing.
        assert_eq!(settled(&host(32, 20 << 10, Some(800))), enough(32));
        assert_eq!(settled(&host(32, 20 << 10, Some(500))), enough(32) / 2);
        assert_eq!(settled(&host(32, 20 << 10, Some(250))), enough(32) / 4);
        // Memory in which caches would hold the arrays: the rule's own number, which is skipped for want of memory.
        assert_eq!(settled(&host(32, 20 << 10, Some(128))), enough(32));
        assert_eq!(settled(&host(260, 8 << 10, None)), enough(260));
        assert_eq!(settled(&host(260, 4 << 10, None)), enough(260) / 2);
        assert_eq!(settled(&host(260, 512, None)), enough(260));
        // A host that tells of no cache has the usual one.
        assert_eq!(settled(&host(0, 20 << 10, None)), enough(32));
    }

    #[test]
    fn arrays_under_four_times_the_caches_are_named() {
        assert_eq!(short(4 * (32 << 20) / 8, 32 << 20), None);
        assert_eq!(short(2 * (32 << 20) / 8, 32 << 20).as_deref(), Some("2.00"));
        assert!(short(1000, 0).is_some());
    }

    #[test]
    fn parts_are_equal_lines_and_cover_all() {
        for (elements, threads) in [(30_000_000, 7), (1, 3), (1003, 4), (64, 8), (7, 1)] {
            let parts: Vec<usize> = (0..threads).map(|index| part(elements, threads, index)).collect();
            assert_eq!(parts.iter().sum::<usize>(), elements);
            assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() < 2 * LINE, "{parts:?}");
        }
    }

    #[test]
    fn every_kernel_ends_right_and_one_wrong_element_is_found() {
        let of_stream = [StreamOperation::Copy, StreamOperation::Scale, StreamOperation::Add, StreamOperation::Triad];
        let available = kernels().filter(|kernel| (kernel.is_available)() && of_stream.contains(&kernel.operation));
        for kernel in available {
            let of_operation = kernels().filter(|other| other.operation == kernel.operation);
            let candidates = Candidates::of(kernel.name, of_operation, kernel).unwrap();
            let memory = Allotment::small(bytes(10_001) as usize, Pages::Base).unwrap();
            let mut share = Share::new(10_001, &candidates, &memory, 0).unwrap();
            assert!(share.check().is_err(), "nothing is done yet");
            (0..3).for_each(|_| share.pass());
            assert_eq!(share.check(), Ok(()), "{} {:?}", kernel.name, kernel.operation);
            for value in [f64::NAN, 0.0, 2.0 + 1e-12] {
                let element = &mut share.arrays()[2][10_000];
                let right = std::mem::replace(element, value);
                let wrong = "1 of 10001 elements of a thread are wrong";
                assert_eq!(share.check(), Err(RoundError::wrong(wrong)), "{value} for {right}");
                share.arrays()[2][10_000] = right;
            }
        }
    }
}
