//! Probe disk.replace: a file's content is replaced so that a crash leaves the old or the new one.

use std::fs::{self, File};

use hostmark_engine::prelude::*;

use crate::workloads::storage::files::Content;

pub static PROBE: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, Quantity::SUSTAINED, Quantity::DEVICE_SHARE],
    axes: &[
        Axis::choice("sync", "all", Points::quick(&["all"]).standard(&["file", "none"])),
        Axis::size("size", "4096", Points::quick(&["4096"]).standard(&["1048576"]).thorough(&["65536"])),
    ],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::disk::REPLACE
};

fn measure(case: &mut Case) -> Result<()> {
    let (sync, size): (String, u64) = (case.param("sync")?, case.param("size")?);
    let directory = crate::place::with_device(case)?;
    // Old and new are there at once.
    crate::place::may_hold(case, &directory, 2 * size)?;
    let mut content = Content::new()?;
    let mut bytes = content.bytes(usize::try_from(size)?);
    let (old, new) = (directory.join("file"), directory.join("file.new"));
    let (syncs_file, syncs_directory) = (sync != "none", sync == "all");
    fs::write(&old, &bytes).call("write")?;
    let whole = File::open(&directory).call("openat")?;
    whole.sync_all().call("fsync")?;
    let device = crate::place::Device::of(case)?;
    let mut flushed = 0;
    case.timed(|clock| {
        content.renew(&mut bytes);
        let start = clock.start();
        let mut file = File::create_new(&new).call("openat")?;
        std::io::Write::write_all(&mut file, &bytes).call("write")?;
        if syncs_file {
            file.sync_all().call("fsync")?;
            flushed += 1;
        }
        drop(file);
        fs::rename(&new, &old).call("rename")?;
        if syncs_directory {
            whole.sync_all().call("fsync")?;
        }
        Ok::<_, RoundError>(clock.end().since(start))
    })
    .singly()
    .time()?;
    // Of the file's data at least one request each; nothing is asked of the device at once where nothing is flushed.
    device.give(case, flushed, |work| work.writes)
}
