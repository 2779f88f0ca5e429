//! Probe memory.stream2: the kernels of STREAM2 by size, through all levels of the memory hierarchy.

use crate::fastest::Candidates;
use crate::kernels::stream::{self, StreamOperation, numbers, starts};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    axes: &[
        Axis::choice("kernel", "daxpy", Points::quick(&["daxpy"]).standard(&["fill", "copy", "sum"])),
        Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::InAll(2)),
        super::PMD_FIRST,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["kernel", "size"] }],
    limit: Limit::DramBandwidth,
    core_bound: CoreBound::SIZE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::STREAM2
};

/// Values repeat after so many elements, a page of them.
const PERIOD: usize = 512;

fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    // A size inside of each usual cache and one beyond them; then every power of four.
    const EACH: [u64; 4] = [8 << 10, 128 << 10, 2 << 20, 32 << 20];
    let listed: Vec<u64> = match profile {
        Profile::Glance | Profile::Quick => vec![super::USUAL_BYTES],
        Profile::Standard => EACH.into_iter().chain([super::USUAL_BYTES]).collect(),
        Profile::Thorough => (12..=28).step_by(2).map(|power| 1 << power).chain(EACH).collect(),
    };
    // Of two arrays half of what lies outside the caches is enough.
    let far = super::beyond(host, 2 * super::USUAL_BYTES).map(|both| both / 2);
    listed.into_iter().chain(far).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("kernel")?;
    let size: u64 = case.param("size")?;
    let pages = super::pages(case)?;
    let operation = StreamOperation::named(&name).ok_or_else(|| RoundError::internal(say!("STREAM2 has no {name}")))?;
    let arrays = if matches!(operation, StreamOperation::Copy | StreamOperation::Daxpy) { 2 } else { 1 };
    let usual = stream::best(operation, super::reach(case, arrays * size))
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
    usual.run(a, b, &[], 3.0, 1).map_err(crate::fastest::refused)?;
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
