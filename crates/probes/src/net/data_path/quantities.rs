//! What stands beside the rate of a pipeline: of each process, and of all.

use hostmark_engine::prelude::*;

use crate::context_switches::MIB;
use crate::workloads::pipeline::{MOST_STAGES, TransferAccount};

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
