//! Probe disk.fsync: a record is appended to a file and made safe.

use crate::workloads::storage::files;
use crate::workloads::storage::files::Content;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[
        Quantity::P50,
        Quantity::P90,
        Quantity::P99,
        Quantity::P999,
        Quantity::MEAN,
        Quantity::SUSTAINED,
        Quantity::DEVICE_SHARE,
    ],
    axes: &[
        Axis::size("block", "2300", Points::quick(&["2300"]).standard(&["512", "16384", "131072"])),
        Axis::choice("space", "preallocated", Points::quick(&["preallocated"]).standard(&["growing", "written"])),
    ],
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::disk::FSYNC
};

/// The file starts anew when it has so much: a segment of etcd's log.
const SEGMENT_BYTES: u64 = 64 << 20;

/// Appends of a round: those of five resolve the 99th percentile.
const TAIL: u64 = 200;

fn measure(case: &mut Case) -> Result<()> {
    let block: u64 = case.param("block")?;
    let space: String = case.param("space")?;
    let mut content = Content::new()?;
    case.may_fill(block)?;
    let mut record = content.bytes(usize::try_from(block)?);
    let file = match space.as_str() {
        "written" => crate::place::on_device(case, SEGMENT_BYTES.max(block))?,
        _ => {
            let directory = crate::place::with_device(case)?;
            crate::place::may_hold(case, &directory, SEGMENT_BYTES.max(block))?;
            files::unnamed(&directory)?
        }
    };
    let begin = || -> Result<()> {
        if space != "written" {
            files::set_length(&file, 0)?;
        }
        if space == "preallocated" {
            files::preallocate(&file, SEGMENT_BYTES.max(block))
                .or_unable(ReasonCode::Filesystem, || say!("this filesystem preallocates nothing"))?;
        }
        Ok(files::sync(&file)?)
    };
    begin()?;
    let device = crate::place::Device::of(case)?;
    let (mut end, mut appends) = (0, 0);
    case.timed(|clock| {
        if end + block > SEGMENT_BYTES.max(block) {
            begin()?;
            end = 0;
        }
        content.renew(&mut record);
        let start = clock.start();
        files::write_at(&file, end, &record)?;
        files::sync_data(&file)?;
        let took = clock.end().since(start);
        end += block;
        appends += 1;
        Ok(took)
    })
    .singly()
    .at_least(TAIL)
    .time()?;
    // Each is one request at least.
    device.give(case, appends, |work| work.writes)
}
