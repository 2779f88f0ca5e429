//! Probe memory.stream: the four kernels of STREAM on arrays that no cache holds, with the threads together.

use std::sync::Mutex;

use crate::fastest::{Candidates, share_of_caches};
use crate::kernels::bandwidth::{Reach, copy_offset_bytes};
use crate::kernels::stream::{self, Kernel, StreamOperation};
use hostmark_engine::prelude::*;

mod elements;
mod share;

pub use elements::enough;
use elements::{note_short, settled};
use share::{Share, bytes, part};

/// The operation by which all are tried.
const TRIED: StreamOperation = StreamOperation::Triad;
/// Its rate on half of each array: caches that hold part of the whole hold more of that.
const HALF: Quantity = Quantity::given("half", Unit::BytesPerSecond, Better::Neither, term!("with half of each array"));

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[HALF],
    related: &["memory.stream2", "memory.read", "memory.loaded_latency", "memory.numa_bandwidth"],
    axes: &[
        Axis::choice(
            "kernel",
            "copy",
            Points::Listed { quick: &["copy", "scale", "add", "triad"], standard: &[], thorough: &[] },
        ),
        Axis::choice(
            "store",
            "best",
            Points::Listed { quick: &["best"], standard: &["plain", "nt", "libc"], thorough: &[] },
        ),
        Axis::all_threads("threads", Points::Listed { quick: &["all"], standard: &["1"], thorough: &[] }),
        super::PMD_FIRST,
        Axis::settled_count("elements", settled).fills(Fill::InAll(24)),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["kernel", "store"] },
        FullFactorial { from: Profile::Standard, axes: &["kernel", "threads"] },
    ],
    limit: Limit::DramBandwidth,
    replaces: &["stream"],
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
    ..crate::texts::memory::STREAM
};

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("kernel")?;
    let operation = StreamOperation::named(&name)
        .ok_or_else(|| RoundError::failed(ReasonCode::Internal, say!("STREAM has no {name}")))?;
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
    let (named, usual) = named.zip(usual).ok_or(RoundError::skipped(ReasonCode::NotApplicable, text))?;
    let all = stream::kernels().filter(|kernel| kernel.operation == operation);
    match store {
        // Those that all four have.
        "best" => Ok(Candidates::among(all.filter(|kernel| stream::kernel(TRIED, kernel.name).is_some()), usual)),
        // Whether a prefetch helps, and how wide the stores best are, differs from core to core.
        "plain" => Ok(Candidates::among(all.filter(|kernel| kernel.has_plain_stores()), usual)),
        _ => Candidates::of(named.name, all, usual),
    }
}
