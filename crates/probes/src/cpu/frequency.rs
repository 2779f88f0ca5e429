//! Probe cpu.frequency: the core's actual clock under load.

use hostmark_engine::prelude::*;

use crate::kernels::arith;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Core frequency", zh: "核心频率" },
    revision: 1,
    unit: Unit::Hertz,
    better: Better::Higher,
    also: &[],
    explain: Explain {
        what: Text {
            en: "A chain of dependent additions of two registers runs on one core, or on every usable CPU at once. Each \
                 addition takes exactly one core cycle, so that additions a second are the core's frequency. With \
                 several threads the value is the mean of all CPUs over the time that they have in common.",
            zh: "在一个核心上，或同时在所有可用 CPU 上，运行一串相互依赖的寄存器加法。每次加法恰好一个核心周期，\
                 因此每秒加法次数就是核心频率。多线程时，数值是各 CPU 在共同时间窗口内的平均值。",
        },
        why: Text {
            en: "The name plate and the kernel's cpufreq files tell a nominal or a requested clock; this is the one that \
                 your program gets, turbo, power limits and a neighbour's appetite included. Every latency in cycles \
                 stands on it.",
            zh: "型号标称值和内核 cpufreq 文件给出的是标称或请求的频率；这里测的是程序真正得到的频率，包含睿频、功耗限制和\
                 邻居的影响。所有以周期表示的延迟都以它为基础。",
        },
        reading: Text {
            en: "Compare one thread with all: a drop is the power or turbo limit. SMT siblings share one core's adders \
                 without loss here, since a dependent chain leaves them mostly idle. A value below the nominal clock \
                 points to a power-saving governor, thermal throttling or a busy host.",
            zh: "对比单线程与全部线程：下降来自功耗或睿频限制。SMT 兄弟线程在此共享加法器而不受损失，因为依赖链让加法器大多\
                 空闲。若低于标称频率，可能是节能调频策略、过热降频，或宿主机繁忙。",
        },
    },
    axes: &[Axis::threads("threads", Points::OfHost(one_and_all))],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["mhz"],
    section: crate::section::CORE,
    measure: Measure::Run(measure),
};

fn one_and_all(host: &HostFacts, _: Profile) -> Vec<u64> {
    vec![1, host.usable_cpus().len() as u64]
}

fn measure(case: &mut Case) -> Result<()> {
    match case.thread_cpus().as_slice() {
        [] | [_] => case.rate(1, add),
        cpus => {
            // Of n threads each counts an n-th, so that the sum over all is their mean.
            let share = cpus.len() as u64;
            case.parallel(cpus, 1, |_| Ok(move |n| add(n * share)))
        }
    }
}

fn add(n: u64) {
    std::hint::black_box(arith::add_chain(n, 1, std::hint::black_box(1)));
}
