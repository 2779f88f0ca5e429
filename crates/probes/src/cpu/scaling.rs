//! Probe cpu.scaling: how much more several copies of a probe get done than one, as the probes' `copies` axes show it.

use hostmark_engine::prelude::*;

mod sources;
mod speed_up;

use sources::{FROM, SOURCES, is_rate};
use speed_up::speed_up;

/// A copy that is slower than one alone by no more than this is not hindered by the others.
const UNHINDERED: f64 = 0.05;
/// The key of the number of copies that are not.
const WITHIN: &str = "within_5_percent";

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Scaling", zh: "扩展性" },
    revision: 1,
    unit: Unit::Ratio,
    better: Better::Higher,
    also: &[Quantity {
        name: WITHIN,
        unit: Unit::Count,
        better: Better::Higher,
        title: Text { en: "copies within 5 % of one", zh: "与单个相差 5 % 以内的份数" },
    }],
    explain: Explain {
        what: Text {
            en: "Nothing of its own is executed. The probe named by source was measured with 1, 2, 4 … copies, each a process of its own \
                 on a CPU of its own, all at the same work; copies of them together get this many times as much done as one \
                 alone: copies × time(1) / time(copies) of a time, copies × rate(copies) / rate(1) of a rate. The interval joins \
                 those of the two on the logarithms. With the most copies stands the largest measured number up to which each copy is \
                 at most 5 % slower than one alone.",
            zh: "本身不执行任何东西。source 所指的探针以 1、2、4……份同时测量，每份是一个独立进程，各占一个 CPU，做同样的事；数值是这些份数合计完成的\
                 工作为单独一份的多少倍：对时间为 份数 × 时间（1） / 时间（份数），对速率为 份数 × 速率（份数） / 速率（1）。\
                 区间由两者的区间在对数上合成。最大份数的一行旁边给出：每份比单独一份至多慢 5 % 的最大实测份数。",
        },
        why: Text {
            en: "A server is bought for what all of its CPUs do together. What they share takes from it: execution units between SMT \
                 siblings, the last-level cache and the memory channels, locks in the kernel, the power limit; in a guest also host CPUs that \
                 others use.",
            zh: "买服务器看的是全部 CPU 合计能做多少事。共享的东西会使它打折扣：SMT 兄弟线程之间的执行单元、末级缓存和内存通道、内核中的锁、功耗上限；\
                 在虚拟机里还有与别人共用的宿主 CPU。",
        },
        reading: Text {
            en: "As many as there are copies is perfect. cpu.sieve falls short where cores have SMT siblings (1.1 to 1.4 of 2) or the \
                 frequency falls under load; memory.latency where the caches are shared; process.fork_exit where the kernel's locks \
                 meet; a null call should lose nothing but frequency. Short of that in a guest, even on cpu.sieve alone, says that \
                 its CPUs are threads of the same cores, or that the host is busy.",
            zh: "等于份数即为完美。cpu.sieve 不足，说明核心有 SMT 兄弟线程（2 份只得 1.1 到 1.4），或负载下频率下降；memory.latency 不足，是缓存共享；\
                 process.fork_exit 不足，是内核锁相争；空系统调用除频率外不应有损失。在虚拟机里若连 cpu.sieve 都不足，说明它的 CPU 是同一些核心的线程，\
                 或宿主机繁忙。",
        },
    },
    axes: &[
        Axis::choice("source", "syscall.null", Points::Listed { quick: SOURCES, standard: &[], thorough: &[] }),
        Axis::count("copies", "2", Points::Listed { quick: &["2"], standard: &[], thorough: &[] }),
    ],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &[],
    section: crate::section::CORE,
    measure: Measure::Derive { from: FROM, derive },
};

fn derive(cases: &[CaseRecord], host: &HostFacts) -> Vec<CaseRecord> {
    let mut records: Vec<CaseRecord> = SOURCES.iter().flat_map(|source| of_source(cases, source)).collect();
    let default = id(SOURCES[0], 2);
    match records.iter().position(|record| record.id == default) {
        Some(index) => records[..=index].rotate_right(1),
        None => {
            let has_two = host.usable_cpus().len() > 1;
            let lack = if has_two { "was not measured with two copies" } else { "needs two CPUs for two copies" };
            let reason = format!("{} {lack}", SOURCES[0]);
            records.insert(0, record(SOURCES[0], 2, Outcome::Skipped { reason }));
        }
    }
    records
}

/// The speed-ups of one probe, by ascending number of copies.
fn of_source(cases: &[CaseRecord], source: &str) -> Vec<CaseRecord> {
    // The first is the default case: along its copies alone.
    let Some(default) = cases.iter().find(|case| case.probe == source) else { return Vec::new() };
    let one = default.params.with("copies", "1");
    let at = |case: &CaseRecord| {
        let copies: u64 = case.params.get("copies")?.parse().ok()?;
        (case.params.with("copies", "1") == one).then_some(copies)
    };
    let mut line: Vec<(u64, &CaseRecord)> =
        cases.iter().filter(|case| case.probe == source).filter_map(|case| Some((at(case)?, case))).collect();
    line.sort_by_key(|(copies, _)| *copies);
    let alone = line.first().filter(|(copies, _)| *copies == 1).and_then(|(_, case)| case.measured());
    let of_copies = |&(copies, case): &(u64, &CaseRecord)| {
        let outcome = match (alone, &case.outcome) {
            (Some(alone), Outcome::Measured(many)) => {
                Outcome::Measured(Box::new(speed_up(alone, many, copies, is_rate(source))))
            }
            (None, Outcome::Measured(_)) => Outcome::Skipped { reason: "one copy alone was not measured".into() },
            (_, Outcome::Skipped { reason } | Outcome::Failed { reason }) => {
                Outcome::Skipped { reason: format!("{}: {reason}", case.id) }
            }
        };
        record(source, copies, outcome)
    };
    let mut records: Vec<CaseRecord> = line.iter().filter(|(copies, _)| *copies > 1).map(of_copies).collect();
    let is_unhindered = |(copies, record): &(u64, &CaseRecord)| {
        record.measured().is_some_and(|measured| measured.estimate.median * (1.0 + UNHINDERED) >= *copies as f64)
    };
    let measured = line[1.min(line.len())..].iter().map(|(copies, _)| *copies).zip(&records);
    let within = measured.take_while(is_unhindered).last().map_or(1, |(copies, _)| copies);
    let last = records.iter_mut().rfind(|record| record.measured().is_some());
    if let Some(Outcome::Measured(most)) = last.map(|record| &mut record.outcome) {
        let estimate = estimate(&[vec![within as f64]], 0.0, Better::Neither, 0);
        most.also.insert(WITHIN.into(), Also { estimate });
    }
    records
}

fn id(source: &str, copies: u64) -> String {
    format!("cpu.scaling@source={source},copies={copies}")
}

fn record(source: &str, copies: u64, outcome: Outcome) -> CaseRecord {
    let params = Params(vec![("source".into(), source.into()), ("copies".into(), copies.to_string())]);
    CaseRecord { id: id(source, copies), probe: "cpu.scaling".into(), params, outcome }
}

#[cfg(test)]
#[path = "scaling_tests.rs"]
mod tests;
