//! Probe net.data_path: how fast bytes go through a row of processes, pipes and TCP, and where each process' time goes.

mod points;
mod quantities;

use crate::workloads::pipeline::{Endpoint, Method, Pace, Path, Pipeline, PipelinePlan};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: quantities::ALSO,
    related: &["net.tcp_bandwidth", "ipc.bandwidth", "memory.copy", "disk.read"],
    axes: &[
        Axis::choice("path", "zero_pipe_socket_null", points::PATHS),
        Axis::threads("cpus", Points::OfHost(points::cpus)),
        Axis::size(
            "block",
            "65536",
            Points::Listed {
                quick: &["65536"],
                standard: &["4096", "16384", "1048576"],
                thorough: &["8192", "262144"],
            },
        ),
        Axis::size(
            "amount",
            "67108864",
            Points::Listed { quick: &["67108864"], standard: &["4194304"], thorough: &["1073741824"] },
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["path", "cpus"] }],
    blocking: true,
    section: crate::section::NETWORK,
    measure: Measure::Run(measure),
    ..crate::texts::net::DATA_PATH
};

/// Bytes of a transfer at most: at 1 GB/s a round of two lasts half a minute.
const MOST_BYTES: u64 = 16 << 30;

fn measure(case: &mut Case) -> Result<()> {
    let path: Path = case.param("path")?;
    let amount: u64 = case.param("amount")?;
    if amount > MOST_BYTES {
        let most = MOST_BYTES >> 30;
        return Err(RoundError::skipped(
            ReasonCode::NotApplicable,
            say!("a transfer of over {most} GiB may last longer than a round: name less"),
        ));
    }
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    if path.pace != Pace::Free && cpus.len() > 1 {
        return Err(RoundError::skipped(ReasonCode::NotApplicable, say!("only processes of one CPU take turns")));
    }
    let file = match path.stages[0].from {
        Endpoint::File => {
            let directory = case.scratch_dir()?;
            Some(crate::place::filled(case, &directory, amount)?)
        }
        Endpoint::ColdFile => Some(crate::place::on_device(case, amount)?),
        _ => None,
    };
    let block: u64 = case.param("block")?; // of which each process has a copy of its own
    case.may_fill(block.saturating_mul(path.stages.len() as u64 + 1))?;
    let mut block = case.buffer(block, Pages::Base, None)?;
    let plan = PipelinePlan { path: &path, file: file.as_ref(), amount, cpus: &cpus };
    let started = Pipeline::start(&plan, block.bytes_mut());
    let mut pipeline =
        started.map_err(|error| RoundError::lacking(say!("these processes cannot be connected so"), &error))?;
    let is_cold = path.stages[0].from == Endpoint::ColdFile;
    let (device, mut moved) = (is_cold.then(|| crate::place::Device::of(case)).transpose()?, 0);
    case.timed(|clock| {
        moved += amount;
        Ok(clock.ticks(pipeline.transfer()? as f64))
    })
    .rate(amount)?;
    device.map_or(Ok(()), |device| device.give(case, moved, |work| work.read_bytes))?;
    case.note("stages", &path);
    if let Some(algorithm) = &pipeline.congestion_control {
        case.note("congestion_control", algorithm);
    }
    if let Some(bytes) = pipeline.pipe_bytes {
        case.note("pipe_bytes", bytes);
    }
    if path.stages.iter().any(|stage| stage.by == Method::ZeroCopy) {
        let copied = pipeline.accounts()[0].copied > 0;
        case.note("zero_copy", if copied { "copied" } else { "not copied" });
    }
    quantities::give(case, pipeline.accounts(), sys::usage::has_run_delay())
}
