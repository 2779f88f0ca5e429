//! Probe cpu.scaling: how much more several copies of a probe get done than one, as the probes' `copies` axes show it.

use hostmark_engine::prelude::*;

mod line;
mod sources;
mod speed_up;

use line::{id, of_source, record};
use sources::{FROM, SOURCES};

/// The key of the number of copies that are not.
const WITHIN: &str = "within_5_percent";

pub static PROBE: Probe = Probe {
    title: Text { en: "Scaling", zh: "扩展性" },
    revision: 1,
    unit: Unit::Ratio,
    better: Better::Higher,
    also: &[Quantity::given(
        WITHIN,
        Unit::Count,
        Better::Higher,
        Text { en: "copies within 5 % of one", zh: "每份降速不超过 5% 的最大份数" },
    )],
    explain: Explain {
        what: Text {
            en: "Executes nothing itself. The probe named by source was measured with 1, 2, 4 … copies, each a \
                 separate process on its own CPU with the same work. The value is how many times as much they get done \
                 together as one alone: copies × time(1) / time(copies) for a time, copies × rate(copies) / rate(1) \
                 for a rate. Each round of the copies is compared with the round of a single copy in the same replicate; \
                 the value is the median of these ratios. The largest number of copies also shows up to which measured \
                 number each copy stays within 5 % of a single one.",
            zh: "本身不执行任何东西。source 所指的探针以 1、2、4……份同时测量，每份是一个独立进程，各占一个 CPU，做同样的事；数值是这些份数合计完成的\
                 工作为单独一份的多少倍：对时间为 份数 × 时间（1） / 时间（份数），对速率为 份数 × 速率（份数） / 速率（1）。\
                 多份的每一轮与同一次重复中单独一份的那一轮相比，数值是这些轮的中位数。最大份数的一行旁边给出：每份比单独一份至多慢 5% 的最大实测份数。",
        },
        why: Text {
            en: "A server is bought for what all its CPUs do together. Shared resources reduce that: execution units \
                 of SMT siblings, the last-level cache and memory channels, locks in the kernel, the power limit; in a \
                 guest also host CPUs that others use.",
            zh: "买服务器看的是全部 CPU 合计能做多少事。共享的东西会使它打折扣：SMT 兄弟线程之间的执行单元、末级缓存和内存通道、内核中的锁、功耗上限；\
                 在虚拟机里还有与别人共用的宿主 CPU。",
        },
        reading: Text {
            en: "The number of copies is perfect scaling. Both sides are typical values, also where the table of the source \
                 shows a quiet one. A null call should lose nothing but frequency. cpu.sieve \
                 shows shared cores, memory.latency shared caches, process.fork_exit the kernel's locks.",
            zh: "等于份数即为完美。两边都取典型值，即使 source 的表中给出的是空闲值。空系统调用除频率外不应有损失；cpu.sieve 反映共用的核心，memory.latency 反映共享的缓存，process.fork_exit 反映内核的\
                 锁。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 1.90 to 1.99 of 2 for \
                 cpu.sieve (docs/accuracy.md). Two threads of one core give 1.1 to 1.4 of 2, as their units are \
                 shared (the gain that Intel published for Hyper-Threading is up to 30 %).",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：cpu.sieve 的 2 份得 1.90 到 1.99（见 \
                 docs/accuracy.md）。同一核心的两个线程因共用执行单元，2 份只得 1.1 到 1.4（Intel 公布的超线程收益最多 30%）。",
        },
        causes: Text {
            en: "SMT siblings among the CPUs; a power limit that lowers the clock; a busy host: if two copies of \
                 cpu.sieve alone fall short of 2, a guest's CPUs are threads of one core or shared with others. Above \
                 the number of copies, which is implausible: the single copy was disturbed.",
            zh: "CPU 中有 SMT 兄弟线程；功耗限制使频率下降；宿主机繁忙：若连 cpu.sieve 的两份都不足 2，虚拟机的 CPU 就\
                 是同一核心的线程或与别人共用。若超过份数，则标为不可信：单份测量受了干扰。",
        },
    },
    related: &["cpu.sieve", "cpu.frequency", "syscall.null", "memory.latency"],
    axes: &[
        Axis::choice("source", "syscall.null", Points::Listed { quick: SOURCES, standard: &[], thorough: &[] }),
        Axis::count("copies", "2", Points::Listed { quick: &["2"], standard: &[], thorough: &[] }),
    ],
    limit: Limit::Copies("copies"),
    section: crate::section::CORE,
    measure: Measure::Derive { from: FROM, derive },
    ..Probe::PLAIN
};

fn derive(cases: &[CaseRecord], host: &HostFacts) -> Vec<CaseRecord> {
    let mut records: Vec<CaseRecord> = SOURCES.iter().flat_map(|source| of_source(cases, source)).collect();
    let default = id(SOURCES[0], 2);
    match records.iter().position(|record| record.id == default) {
        Some(index) => records[..=index].rotate_right(1),
        None => {
            let (code, lack) = match host.usable_cpus().len() > 1 {
                true => (ReasonCode::MissingInput, "was not measured with two copies"),
                false => (ReasonCode::TooFewCpus, "needs two CPUs for two copies"),
            };
            let reason = code.because(format_args!("{} {lack}", SOURCES[0]));
            records.insert(0, record(SOURCES[0], 2, Outcome::Skipped { reason }));
        }
    }
    records
}

#[cfg(test)]
#[path = "scaling_tests.rs"]
mod tests;
