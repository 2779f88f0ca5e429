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
            ratio(
                concat!("stage", $number, "_user"),
                concat!("process ", $number, ": CPUs busy in user code"),
                concat!("第 ", $number, " 个进程：用户态占用的 CPU 数"),
            ),
            ratio(
                concat!("stage", $number, "_kernel"),
                concat!("process ", $number, ": CPUs busy in the kernel"),
                concat!("第 ", $number, " 个进程：内核态占用的 CPU 数"),
            ),
            ratio(
                concat!("stage", $number, "_copies"),
                concat!("process ", $number, ": copies of each byte"),
                concat!("第 ", $number, " 个进程：每字节复制次数"),
            ),
            ratio(
                concat!("stage", $number, "_crossings"),
                concat!("process ", $number, ": calls that hand over each byte"),
                concat!("第 ", $number, " 个进程：每字节经读写调用交接的次数"),
            ),
            ratio(
                concat!("stage", $number, "_read_wait"),
                concat!("process ", $number, ": share of time waiting to read"),
                concat!("第 ", $number, " 个进程：等待读的时间占比"),
            ),
            ratio(
                concat!("stage", $number, "_write_wait"),
                concat!("process ", $number, ": share of time waiting to write"),
                concat!("第 ", $number, " 个进程：等待写的时间占比"),
            ),
            ratio(
                concat!("stage", $number, "_run_delay"),
                concat!("process ", $number, ": share of time waiting for a CPU"),
                concat!("第 ", $number, " 个进程：等待 CPU 的时间占比"),
            ),
            ratio(
                concat!("stage", $number, "_switches"),
                concat!("process ", $number, ": switches per MiB"),
                concat!("第 ", $number, " 个进程：每 MiB 切换次数"),
            ),
        ]
    };
}

const fn ratio(name: &'static str, en: &'static str, zh: &'static str) -> Quantity {
    Quantity::given(name, Unit::Ratio, Better::Lower, Text { en, zh })
}

const STAGES: [[Quantity; OF_EACH]; MOST_STAGES] = [stage!(1), stage!(2), stage!(3), stage!(4), stage!(5)];

const COPIES: Quantity = ratio("copies", "copies of each byte", "每字节复制次数");
const BUSY_CPUS: Quantity = ratio("busy_cpus", "CPUs busy", "占用的 CPU 数");

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
