//! Probe file.write: a file is written from its start, by size, synced or not.

use hostmark_engine::prelude::*;

use crate::workloads::storage::files;

pub static PROBE: Probe = Probe {
    also: &[Quantity::SUSTAINED_BYTES],
    axes: &[
        Axis::size(
            "size",
            "8388608",
            Points::quick(&["8388608"]).standard(&["4096", "65536", "1048576"]).thorough(&["67108864"]),
        ),
        Axis::choice("sync", "none", Points::quick(&["none"]).standard(&["fsync"])),
        crate::place::PLACE,
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["sync", "place"] }],
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::file::WRITE)
};

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let is_synced = case.param::<String>("sync")? == "fsync";
    let directory = crate::place::directory(case)?;
    crate::place::may_hold(case, &directory, size)?;
    let file = files::unnamed(&directory)?;
    let block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
    case.timed(|clock| {
        files::set_length(&file, 0)?;
        let start = clock.start();
        let mut done = 0;
        while done < size {
            let part = &block.bytes()[..super::BLOCK_BYTES.min((size - done) as usize)];
            files::write_at(&file, done, part)?;
            done += part.len() as u64;
        }
        if is_synced {
            files::sync(&file)?;
        }
        Ok(clock.end().since(start))
    })
    .rate(size)
}
