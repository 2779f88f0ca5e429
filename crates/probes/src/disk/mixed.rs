//! Probe disk.mixed: direct reads and overwrites of a file at once, by their shares.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[
        super::OPERATIONS,
        super::WRITES,
        Quantity::P50,
        Quantity::P99,
        Quantity::P999,
        Quantity::MEAN,
        Quantity::SUSTAINED,
        Quantity::DEVICE_SHARE,
    ],
    axes: &[
        Axis::count("reads", "70", Points::quick(&["70"]).standard(&["50", "90"]).thorough(&["10", "30"])),
        Axis::choice("pattern", "random", Points::quick(&["random"]).thorough(&["sequential"])),
        Axis::size("block", "4096", Points::quick(&["4096"]).standard(&["16384"]).thorough(&["131072"])),
        Axis::count("depth", "16", Points::quick(&["16"]).standard(&["1"]).thorough(&["4", "64"])),
    ],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::disk::MIXED)
};

fn measure(case: &mut Case) -> Result<()> {
    let reads: u32 = case.param("reads")?;
    match (1..super::direct_io::ALL).contains(&reads) {
        true => super::direct_io::keep(case, reads),
        false => Err(RoundError::not_applicable(say!("reads is a share from 1 to 99 of a hundred"))),
    }
}
