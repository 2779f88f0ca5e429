//! Two processes that talk to each other, far slower on two CPUs than on one.

use hostmark_model::{CaseRecord, Lang, Run, Text, Unit};

use super::evidence::{Proven, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, TRACED, YIELDS};
use crate::format::{number, value};

const PIPE: &str = "ipc.pipe";
const HERE: &str = "same_cpu";
const WHERE: &str = "cpus";
/// A CPU that sleeps is woken by an interrupt: two to four times what a switch takes is what hardware makes of it. Beyond that something
/// else is in the way.
const FACTOR: f64 = 5.0;

pub(super) static RULE: Rule = Rule {
    id: "ipc.across_cpus",
    shown: Demonstration::Try("idle-poll"),
    probes: &[PIPE],
    cure: Some(Text {
        en: "Let two processes that wait for each other share a CPU (taskset, a cpuset). Or hand over more at a time, or let the reader spin \
             for some microseconds before it sleeps. In a guest idle=poll, or haltpoll as its cpuidle governor, keeps the CPU awake; the \
             host's kvm.halt_poll_ns does the same from outside.",
        zh: "让互相等待的两个进程共用一个 CPU（taskset、cpuset）。或每次多传一些，或让读方先自旋几微秒再睡眠。虚拟机中可用 idle=poll，或把 \
             cpuidle 调速器设为 haltpoll，使 CPU 保持唤醒；宿主机的 kvm.halt_poll_ns 从外部起同样作用。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &TRACED] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let placed = |case: &&CaseRecord| case.probe == PIPE && case.peer().is_none();
    let place = |case: &CaseRecord| case.params.get(WHERE).unwrap_or_default().to_owned();
    let known = |case: &'_ CaseRecord| Some((case.id.clone(), place(case), Proven::of_case(case)?));
    let all: Vec<(String, String, Proven)> = run.cases.iter().filter(placed).filter_map(known).collect();
    let (here_id, _, here) = all.iter().find(|(_, at, _)| at == HERE)?;
    // The nearest of the others, by what it takes: what is far is slow by itself.
    let others = all.iter().filter(|(_, at, _)| at != HERE && at != "free");
    let (id, _, across) = others.min_by(|one, other| one.2.value.total_cmp(&other.2.value))?;
    if across.low < FACTOR * here.high {
        return None;
    }
    let times = number(across.value / here.value);
    let [near, far] = [here, across].map(|proven| value(proven.value, Unit::Nanoseconds, Lang::En));
    let why = match run.host.virtualization.hypervisor.is_some() {
        true => Text {
            en: "the CPU that waits goes idle, which leaves the guest, and waking it is an interrupt that the hypervisor delivers",
            zh: "等待的 CPU 进入空闲即退出虚拟机，唤醒它需要由虚拟机监控程序投递中断",
        },
        false => Text {
            en: "the CPU that waits goes idle, and leaves a deep idle state when an interrupt wakes it",
            zh: "等待的 CPU 进入较深的空闲状态，由中断唤醒后才退出",
        },
    };
    let text = Text {
        en: format!(
            "A round trip through a pipe takes {far} between two CPUs and {near} on one, {times} times as long: {}. Pipelines, requests \
             to a local server and hand-overs between threads pay it each time they wait.",
            why.en
        ),
        zh: format!(
            "管道往返在两个 CPU 之间需 {far}，在同一 CPU 上为 {near}，是其 {times} 倍：{}。流水线、对本机服务的请求、线程间的交接，每次等待都要付出这一代价。",
            why.zh
        ),
    };
    let short = short(
        format!("Pipe round trip: {far} between two CPUs, {near} on one ({times}x)"),
        format!("管道往返：两个 CPU 之间 {far}，同一 CPU 上 {near}，相差 {times} 倍"),
    );
    Some(Conclusion { short, text, cases: vec![id.clone(), here_id.clone()], cost: lost(across.value, here.value) })
}
