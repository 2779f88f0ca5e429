//! Probe net.data_path: how fast bytes go through a row of processes, pipes and TCP, and where each process' time goes.

use hostmark_engine::prelude::*;

use crate::context_switches::MIB;
use crate::workloads::pipeline::{Endpoint, MOST_STAGES, Method, Pace, Path, Pipeline, PipelinePlan, TransferAccount};

pub static PROBE: Probe = Probe {
    also: ALSO,
    axes: &[
        Axis::choice("path", "zero_pipe_socket_null", PATHS),
        Axis::threads("cpus", Points::OfHost(cpus)),
        Axis::size(
            "block",
            "65536",
            Points::quick(&["65536"]).standard(&["4096", "16384", "1048576"]).thorough(&["8192", "262144"]),
        ),
        Axis::size("amount", "67108864", Points::quick(&["67108864"]).standard(&["4194304"]).thorough(&["1073741824"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["path", "cpus"] }],
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::net::DATA_PATH)
};

/// Bytes of a transfer at most: at 1 GB/s a round of two lasts half a minute.
const MOST_BYTES: u64 = 16 << 30;

fn measure(case: &mut Case) -> Result<()> {
    let path: Path = case.param("path")?;
    let amount: u64 = case.param("amount")?;
    if amount > MOST_BYTES {
        let most = MOST_BYTES >> 30;
        return Err(RoundError::not_applicable(say!(
            "a transfer of over {most} GiB may last longer than a round: name less"
        )));
    }
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    if path.pace != Pace::Free && cpus.len() > 1 {
        return Err(RoundError::not_applicable(say!("only processes of one CPU take turns")));
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
    let mut pipeline = started.or_lacking(|| say!("these processes cannot be connected so"))?;
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
    give(case, pipeline.accounts(), sys::usage::has_run_delay())
}

/// The rows that are measured: those of `dd` and `nc` as they are, the same with larger blocks and `pv`, the parts of which they are made, and those that copy less.
pub const PATHS: Points = Points::quick(&[
    "zero_pipe_poll_socket_poll_null",
    "zero_pipe_socket_null",
    "memory_socket_memory",
    "file_socket_null",
])
.standard(&[
    "zero_null",
    "file_null",
    "memory_pipe_memory",
    "memory_socket_memory_close",
    "memory_socket_memory_behind",
    "cold_file_null",
    "cold_file_socket_null",
    "file_poll_socket_poll_null",
    "zero_pipe_socket_pipe_null",
    "zero_pipe_socket_pipe_pipe_null",
    "file_pipe_socket_null",
    "memory_socket_pipe_memory",
    "zero_pipe_splice_socket_null",
    "zero_pipe_socket_splice_null",
    "file_splice_socket_null",
    "file_sendfile_socket_null",
    "memory_zero_copy_socket_memory",
]);

/// Returns the numbers of CPUs: one, and where a run has the time two and all.
pub fn cpus(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = (host.usable_cpus().len() as u64).max(1);
    let most = if profile == Profile::Quick { 1 } else { all };
    let mut numbers: Vec<u64> = [1, 2, all].into_iter().filter(|&cpus| cpus <= most).collect();
    numbers.dedup();
    numbers
}

/// Quantities of all processes together.
const BEFORE: usize = 4;
/// Quantities of one process.
const OF_EACH: usize = 8;

/// The names and titles of a process' quantities.
macro_rules! stage {
    ($number:literal) => {
        [
            ratio(concat!("stage", $number, "_user"), term!("process {number}: CPUs busy in user code"; $number)),
            ratio(concat!("stage", $number, "_kernel"), term!("process {number}: CPUs busy in the kernel"; $number)),
            ratio(concat!("stage", $number, "_copies"), term!("process {number}: copies of each byte"; $number)),
            ratio(concat!("stage", $number, "_crossings"), term!("process {number}: calls that hand over each byte"; $number)),
            ratio(concat!("stage", $number, "_read_wait"), term!("process {number}: share of time waiting to read"; $number)),
            ratio(concat!("stage", $number, "_write_wait"), term!("process {number}: share of time waiting to write"; $number)),
            ratio(concat!("stage", $number, "_run_delay"), term!("process {number}: share of time waiting for a CPU"; $number)),
            ratio(concat!("stage", $number, "_switches"), term!("process {number}: switches per MiB"; $number)),
        ]
    };
}

const fn ratio(name: &'static str, title: Text) -> Quantity {
    Quantity::given(name, Unit::Ratio, Better::Lower, title)
}

const STAGES: [[Quantity; OF_EACH]; MOST_STAGES] = [stage!(1), stage!(2), stage!(3), stage!(4), stage!(5)];

const COPIES: Quantity = ratio("copies", term!("copies of each byte"));
const BUSY_CPUS: Quantity = ratio("busy_cpus", term!("CPUs busy"));

/// All that stands beside the rate.
pub const ALSO: &[Quantity] = &{
    let mut all = [COPIES; BEFORE + OF_EACH * MOST_STAGES];
    all[1] = BUSY_CPUS;
    all[2] = Quantity::SUSTAINED_BYTES;
    all[3] = Quantity::DEVICE_SHARE;
    let mut at = 0;
    while at < OF_EACH * MOST_STAGES {
        all[BEFORE + at] = STAGES[at / OF_EACH][at % OF_EACH];
        at += 1;
    }
    all
};

/// Gives the case what the processes told. `has_delay`: whether the kernel tells how long who could run had no CPU.
pub fn give(case: &mut Case, accounts: &[TransferAccount], has_delay: bool) -> Result<()> {
    let (mut copies, mut busy) = (0.0, 0.0);
    for (account, quantities) in accounts.iter().zip(&STAGES) {
        let of_time = |ns: u64| ns as f64 / account.passed.max(1) as f64;
        let of_bytes = |bytes: u64| bytes as f64 / account.bytes.max(1) as f64;
        let values = [
            Some(of_time(account.user)),
            Some(of_time(account.cpu.saturating_sub(account.user))),
            Some(of_bytes(account.copied)),
            Some(of_bytes(account.crossed)),
            Some(of_time(account.read_wait)),
            Some(of_time(account.write_wait)),
            has_delay.then(|| of_time(account.run_delay)),
            Some(of_bytes(account.switches) * MIB),
        ];
        copies += of_bytes(account.copied);
        busy += of_time(account.cpu);
        for (quantity, value) in quantities.iter().zip(values) {
            case.also(quantity.name, value)?;
        }
    }
    case.also(COPIES.name, [copies])?;
    case.also(BUSY_CPUS.name, [busy])
}
