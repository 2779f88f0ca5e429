//! Probe disk.readahead: a cold file is read in order through the page cache, by what the kernel was told of the order.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::mapping::{Mapping, Sharing};
use crate::workloads::storage::files::{self, Expected};

/// Larger than what the kernel reads ahead many times over, and quickly written.
const FILE_BYTES: u64 = 64 << 20;
/// A sample lasts so long, ns, and at least a read.
const SLICE_NS: f64 = 10e6;

pub static PROBE: Probe = Probe {
    also: &[Quantity::SUSTAINED_BYTES, Quantity::DEVICE_SHARE],
    axes: &[
        Axis::choice("advice", "normal", Points::quick(&["normal", "sequential", "random"])),
        Axis::size("block", "4096", Points::quick(&["4096"]).standard(&["131072"]).thorough(&["1048576"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["advice", "block"] }],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::disk::READAHEAD)
};

fn measure(case: &mut Case) -> Result<()> {
    let block: u64 = case.param("block")?;
    let whole = FILE_BYTES.max(block) / block * block;
    let mut memory = case.buffer(block, Pages::Base, None)?;
    let file = crate::place::on_device(case, whole)?;
    files::drop_cache(&file)?;
    // mincore(2) reads nothing; preadv2(2) with RWF_NOWAIT starts to read ahead, and may find what it began.
    let kept = Mapping::file(&file, whole as usize, Sharing::Shared, false).and_then(|file| file.pages_in_memory());
    if kept.is_ok_and(|pages| (pages * Pages::Base.bytes()) as u64 > whole / 2) {
        return Err(crate::place::keeps_pages());
    }
    files::expect(
        &file,
        match case.param::<String>("advice")?.as_str() {
            "sequential" => Expected::Sequential,
            "random" => Expected::Random,
            _ => Expected::Normal,
        },
    )?;
    let device = crate::place::Device::of(case)?;
    let (mut at, mut asked) = (whole, 0);
    case.timed(|clock| {
        if at == whole {
            files::drop_cache(&file)?;
            at = 0;
        }
        let (start, begin) = (clock.start(), at);
        loop {
            files::read_at(&file, at, memory.bytes_mut())?;
            at += block;
            let took = clock.end().since(start);
            if at == whole || clock.ns(took) >= SLICE_NS {
                asked += at - begin;
                return Ok((took, (at - begin) / block));
            }
        }
    })
    .rate(block)?;
    device.give(case, asked, |work| work.read_bytes)
}
