//! How many CPUs may be used, and how much of them.

use hostmark_model::{HostWeight, Text};

use super::{HostRule, text};
use crate::format::number;

pub(super) static QUOTA: HostRule = HostRule {
    id: "host.cpu_quota",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "lift the quota: docker --cpus, systemd CPUQuota=, Kubernetes limits.cpu",
        zh: "取消配额：docker --cpus、systemd CPUQuota=、Kubernetes limits.cpu",
    },
    see: |host, _| {
        let (usable, quota) = (host.usable_cpus().len(), host.limits.cpu_quota?);
        if usable == 0 || quota >= usable as f64 {
            return None;
        }
        let quota = number(quota);
        text(
            format!("a quota of {quota} CPU for {usable} usable: the kernel stops runs again and again"),
            format!("CPU 配额为 {quota}，可用 CPU 为 {usable} 个：内核会反复暂停繁忙的运行"),
        )
    },
};

pub(super) static SINGLE: HostRule = HostRule {
    id: "host.single_cpu",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "allow a second CPU (taskset, cpuset, a larger instance)",
        zh: "再放开一个 CPU（taskset、cpuset 或更大的实例）",
    },
    see: |host, _| {
        (host.usable_cpus().len() == 1).then_some(())?;
        text(
            "one usable CPU: whatever else runs takes its time from the measurement",
            "仅有一个可用 CPU：其他任何任务都会挤占测量时间",
        )
    },
};

pub(super) static SIBLINGS: HostRule = HostRule {
    id: "host.smt_siblings",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "echo off > /sys/devices/system/cpu/smt/control, or one thread a core",
        zh: "echo off > /sys/devices/system/cpu/smt/control，或每个核心只用一个线程",
    },
    see: |host, _| {
        let online = |id: &usize| host.cpus.iter().any(|cpu| cpu.id == *id && cpu.online);
        let shares = |id: &usize| {
            let cpu = host.cpus.iter().find(|cpu| cpu.id == *id);
            cpu.is_some_and(|cpu| cpu.siblings.iter().any(|other| other != id && online(other)))
        };
        let shared = host.usable_cpus().iter().filter(|id| shares(id)).count();
        if host.cpu.smt_active == Some(false) || shared == 0 {
            return None;
        }
        text(
            format!("SMT is on, {shared} usable CPUs share cores: a busy sibling slows a probe"),
            format!("SMT 已开启，{shared} 个可用 CPU 共用核心：繁忙的兄弟线程会拖慢探测"),
        )
    },
};
