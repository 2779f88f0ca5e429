//! What is said of a run before its values: what machine it is of, where it was measured, and what a reader must know of it.

use hostmark_analysis::bilingual::{COMMA, Words, each, fixed, joined, same};
use hostmark_analysis::consistency;
use hostmark_analysis::duration::duration_s;
use hostmark_analysis::escape::visible;
use hostmark_analysis::findings::host::{limits_unseen, yields};
use hostmark_analysis::findings::steal::stolen_ns;
use hostmark_analysis::format::{number, percent, value};
use hostmark_analysis::guest;
use hostmark_analysis::reasons;
use hostmark_model::{
    CaseRecord, Event, FlagKind, Gap, Lang, LostRound, Measured, Outcome, Run, Text, Unit, counted, out_of_memory,
};

use crate::flags::Flags;
use crate::words;

/// Share of disturbed samples, unsettled rounds or stolen time that the run as a whole should know of.
const NOTABLE: f64 = 0.01;

/// How far the clock's rate may move: the calibration itself is no better than this.
const CLOCK_DRIFT: f64 = 1e-4;

/// What measured.
pub(crate) fn tool(run: &Run) -> String {
    match &run.imported {
        Some(_) => run.tool.version.clone(),
        None => format!("hostmark {}", run.tool.version),
    }
}

/// What machine it is of, without its name: the processor with its CPUs and memory first.
pub(crate) fn machine(run: &Run) -> Vec<Words> {
    let host = &run.host;
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    let usable = host.usable_cpus().len();
    let bytes = |bytes: u64, lang| value(bytes as f64, Unit::Bytes, lang);
    let mut parts: Vec<Words> = host.cpu.named_model().map(same).into_iter().collect();
    if online > 0 {
        let cpus = counted(online, "CPU");
        // One package and one node are what everybody expects.
        parts.push(match host.cpu.packages {
            packages @ 2.. => Words {
                en: format!("{cpus} of {packages} packages"),
                zh: format!("{packages} 个封装共 {online} 个 CPU"),
            },
            _ => Words { en: cpus, zh: format!("{online} 个 CPU") },
        });
        if usable < online {
            parts.push(Words { en: format!("{usable} usable"), zh: format!("可用 {usable} 个") });
        }
        if let Some(quota) = host.limits.cpu_quota.filter(|quota| *quota < usable as f64).map(number) {
            parts.push(Words { en: format!("quota {quota} CPU"), zh: format!("配额 {quota} 个 CPU") });
        }
    }
    if let nodes @ 2.. = host.nodes.len() {
        parts.push(Words { en: format!("{nodes} nodes"), zh: format!("{nodes} 个节点") });
    }
    if let total @ 1.. = host.memory.total_bytes {
        parts.push(each(|lang| bytes(total, lang)));
        parts.extend(host.limits.memory_limit_bytes.filter(|limit| *limit < total).map(|limit| Words {
            en: format!("limit {}", bytes(limit, Lang::En)),
            zh: format!("上限 {}", bytes(limit, Lang::Zh)),
        }));
    }
    let hypervisor = host.virtualization.hypervisor.as_ref().map(|name| {
        let name = if name == "kvm" { "KVM" } else { name };
        Words { en: format!("{name} guest"), zh: format!("{name} 虚拟机") }
    });
    let container = host.virtualization.container.as_ref();
    let container = container.map(|name| Words { en: format!("in {name}"), zh: format!("{name} 容器") });
    let facts = std::iter::once(joined(&parts, COMMA)).chain(host.kernel.named().map(same));
    facts.chain(hypervisor).chain(container).filter(|fact| !fact.en.is_empty()).collect()
}

/// Where it was measured, if not where it was ordered.
pub(crate) fn place(run: &Run) -> Option<Words> {
    let of = |place: &String| Words { en: format!("measured at '{place}'"), zh: format!("测量位置：'{place}'") };
    run.place.as_ref().map(of)
}

pub(crate) fn whole_seconds(seconds: f64) -> Option<String> {
    match seconds {
        s if !(0.0..1e9).contains(&s) => None,
        s if s >= 120.0 => Some(format!("{:.0} min", s / 60.0)),
        s => Some(format!("{s:.0} s")),
    }
}

/// What a reader must know before the values, without the grade and its reasons.
pub(crate) fn warnings(run: &Run) -> Vec<Words> {
    [contradictions(run), ended(run, Reasons::Below), disturbed(run)].concat()
}

/// Why the values cannot be believed at all: what measured is no such machine, or the file cannot be true.
pub(crate) fn contradictions(run: &Run) -> Vec<Words> {
    guest::warning(run).into_iter().chain(consistency::warning(run).as_ref().map(shown)).collect()
}

/// The text of a file, escaped.
fn shown(text: &Words) -> Words {
    each(|lang| visible(text.get(lang)))
}

/// What could not be estimated again, a sentence each, after who did.
fn reestimated(run: &Run) -> Vec<Words> {
    let Some(again) = &run.again else { return Vec::new() };
    let version = visible(&again.version);
    let head = Words {
        en: format!("estimated again from its recorded rounds by hostmark {version}"),
        zh: format!("由 hostmark {version} 根据已记录的轮次重新估计"),
    };
    let gap = |Gap { what, cases }: &Gap| Words {
        en: format!("{} ({})", visible(&what.en), counted(cases.len(), "case")),
        zh: format!("{}（{} 个用例）", visible(&what.zh), cases.len()),
    };
    std::iter::once(head).chain(again.gaps.iter().map(gap)).collect()
}

/// Where a reader finds why a case has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reasons {
    Below,
    InFull,
}

/// Whether all was measured that was to be; a sentence for what was not.
pub(crate) fn ended(run: &Run, reasons: Reasons) -> Vec<Words> {
    let mut all = reestimated(run);
    if let Some(why) = &run.interrupted {
        all.push(Words {
            en: format!("this run ended early: {why}"),
            zh: format!("本次运行提前结束：{}", reasons::localized(why, Lang::Zh)),
        });
    } else if run.finished.is_none() {
        all.push(fixed(Text { en: "this run has not finished", zh: "本次运行尚未结束" }));
    }
    let count = |wanted: fn(&Outcome) -> bool| run.cases.iter().filter(|case| wanted(&case.outcome)).count();
    let failed = count(|outcome| matches!(outcome, Outcome::Failed { .. }));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped { .. }));
    if failed > 0 {
        let (cases, were) = (counted(run.cases.len(), "case"), if skipped == 1 { "was" } else { "were" });
        let place = match reasons {
            Reasons::Below => Text { en: "each says why below", zh: "原因见下文" },
            Reasons::InFull => Text { en: "--full says why", zh: "原因：--full" },
        };
        all.push(Words {
            en: format!("{failed} of {cases} failed and {skipped} {were} skipped; {}", place.en),
            zh: format!("{} 个用例中 {failed} 个失败、{skipped} 个已跳过，{}", run.cases.len(), place.zh),
        });
        all.extend((reasons == Reasons::InFull).then(|| first_failed(run)).flatten());
    }
    all
}

/// The first case that failed, and why: whoever sees no more than the answer, in a job's log, knows where to look.
fn first_failed(run: &Run) -> Option<Words> {
    run.cases.iter().find_map(|case| match &case.outcome {
        Outcome::Failed { reason } => Some(each(|lang| {
            let separator = if lang == Lang::Zh { "：" } else { ": " };
            format!("{}{separator}{}", visible(&case.id), visible(&reasons::brief(reason, lang)))
        })),
        _ => None,
    })
}

/// What disturbed the run, a sentence each.
pub(crate) fn disturbed(run: &Run) -> Vec<Words> {
    let (host, clock) = (&run.host, &run.settings.clock);
    let mut all = Vec::new();
    if let Some(why) = clock.why() {
        all.push(Words {
            en: format!("the clock is {} and not the CPU's counter: {why}", clock.source),
            zh: format!("时钟为 {}，未使用 CPU 计数器：{}", clock.source, reasons::localized(&why, Lang::Zh)),
        });
    }
    if let Some(drift) = clock.drift.filter(|drift| drift.abs() > CLOCK_DRIFT) {
        let parts = |lang| value(drift.abs() * 1e6, Unit::Count, lang);
        all.push(Words {
            en: format!("the clock's rate moved by {} parts in a million during the run", parts(Lang::En)),
            zh: format!("运行期间时钟频率变化了百万分之 {}", parts(Lang::Zh)),
        });
    }
    let usable = host.usable_cpus().len();
    if let Some(quota) = host.limits.cpu_quota.filter(|quota| *quota < usable as f64).map(number) {
        all.push(Words {
            en: format!("a CPU quota of {quota} for {} stops this run now and then", counted(usable, "CPU")),
            zh: format!("CPU 配额为 {quota}（共 {usable} 个 CPU），运行会不时被暂停"),
        });
    }
    all.extend([yields(host), limits_unseen(host)].iter().flatten().map(shown));
    let is_killed = |round: &&LostRound| matches!(round.events.last(), Some(Event::Failed { reason }) if reason.contains(&out_of_memory().to_string()));
    let killed = run.lost_rounds.iter().filter(is_killed).count();
    if killed > 0 {
        let rounds = counted(killed, "round");
        all.push(Words {
            en: format!("{rounds} lost as a worker was killed, not by hostmark: probably out of memory"),
            zh: format!("{killed} 轮因工作进程被杀死而丢失，且并非 hostmark 所为：很可能内存不足"),
        });
    }
    all.extend(run.disturbances.iter().map(shown));
    noise(run, &mut all);
    all
}

fn noise(run: &Run, all: &mut Vec<Words>) {
    let measured: Vec<_> = run.cases.iter().filter_map(CaseRecord::measured).collect();
    let steal_ns: f64 = run.cases.iter().filter_map(stolen_ns).sum();
    let of_run = duration_s(run).filter(|seconds| *seconds > 0.0).map(|seconds| steal_ns / 1e9 / seconds);
    if steal_ns > 0.0 && of_run.is_none_or(|share| share >= NOTABLE / 10.0) {
        let share = of_run.map_or_else(String::new, |share| format!(" {}", percent(share)));
        all.push(each(|lang| {
            let time = value(steal_ns, Unit::Nanoseconds, lang);
            match lang {
                Lang::En => format!("steal{share}: the hypervisor gave {time} of this run to others"),
                Lang::Zh => format!("CPU steal{share}：宿主机把本次运行中的 {time} 分给了其他虚拟机"),
            }
        }));
    }
    let sum = |of: fn(&Measured) -> u64| measured.iter().fold(0u64, |sum, m| sum.saturating_add(of(m)));
    let (disturbed, left_out) = (sum(|m| m.noise.disturbed), sum(|m| m.noise.left_out));
    let share = disturbed as f64 / sum(Measured::taken).max(1) as f64;
    if disturbed > 0 && share >= NOTABLE {
        let share = percent(share);
        all.push(Words {
            en: format!("{share} of samples were disturbed (migrated or preempted); {left_out} discarded"),
            zh: format!("{share} 的样本受扰（被迁移或被抢占）；已丢弃 {left_out} 个"),
        });
    }
    let rounds = sum(|m| u64::from(m.estimate.rounds));
    let unsettled = sum(|m| u64::from(m.noise.unsettled_rounds));
    if unsettled > 0 && unsettled as f64 >= NOTABLE * rounds as f64 {
        all.push(Words {
            en: format!("in {unsettled} of {} the CPU frequency did not settle", counted(rounds, "round")),
            zh: format!("{rounds} 轮中有 {unsettled} 轮 CPU 频率未稳定"),
        });
    }
    let Flags { counts, common, measured } = Flags::of(run);
    // The unsettled rounds were told above.
    for (kind, count) in counts.iter().filter(|(kind, _)| common.contains(kind) && **kind != FlagKind::Unsettled) {
        let flag = words::flag(*kind);
        all.push(Words {
            en: format!("{count} of {}: {}", counted(measured, "value"), flag.en),
            zh: format!("{measured} 个数值中 {count} 个：{}", flag.zh),
        });
    }
}
