//! What is recorded of a host and of a run's settings, as a list of named facts that two runs can be held against.

use std::collections::BTreeSet;

use hostmark_model::{Audit, CacheKind, CaseRecord, HostFacts, NetworkPath, Resource, Run, Sight, Text, size_text};

use super::reason::ASKED;
use crate::network::{bits, peers, queue_text};

/// A fact as text; none where it is not known.
pub(crate) struct Fact {
    /// Its place in the run file.
    pub(crate) key: String,
    /// What it is called.
    pub(crate) label: Text<String>,
    /// What it is.
    pub(crate) value: Option<String>,
    /// Whether it is a list of words, of which only those that differ are worth reading.
    pub(crate) is_words: bool,
}

/// Collects facts.
#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, key: &str, en: &str, zh: &str, value: Option<String>) {
        let value = value.filter(|value| !value.is_empty());
        let label = Text { en: en.to_owned(), zh: zh.to_owned() };
        self.0.push(Fact { key: key.to_owned(), label, value, is_words: false });
    }

    fn text(&mut self, key: &str, en: &str, zh: &str, value: &str) {
        self.add(key, en, zh, Some(value.to_owned()));
    }

    fn shown<T: ToString>(&mut self, key: &str, en: &str, zh: &str, value: Option<T>) {
        self.add(key, en, zh, value.map(|value| value.to_string()));
    }

    fn words(&mut self, key: &str, en: &str, zh: &str, value: Option<String>) {
        self.add(key, en, zh, value);
        if let Some(fact) = self.0.last_mut() {
            fact.is_words = true;
        }
    }

    fn cpus(&mut self, key: &str, en: &str, zh: &str, value: &Option<Vec<usize>>) {
        let list = |ids: &Vec<usize>| match ids.as_slice() {
            [] => "-".to_owned(),
            ids => ids.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        };
        self.add(key, en, zh, value.as_ref().map(list));
    }

    fn bytes(&mut self, key: &str, en: &str, zh: &str, value: u64) {
        self.add(key, en, zh, (value > 0).then(|| size_text(value)));
    }
}

/// Every fact of a run: rule 22's, and what else is known of the machine. What a machine is doing, and what names one run
/// among others (id, time, seed), is none.
pub(crate) fn facts(run: &Run) -> Vec<Fact> {
    let mut facts = Facts::default();
    // What another tool's results do not carry is not known, whatever the word for nothing is.
    let is_known = run.imported.is_none() && !run.host.kernel.release.is_empty();
    kernel(&run.host, &mut facts);
    processor(&run.host, &mut facts);
    memory(&run.host, is_known, &mut facts);
    surroundings(&run.host, is_known, &mut facts);
    devices(&run.host, &mut facts);
    loopback(&run.host, &mut facts);
    links(run, &mut facts);
    guest(run, &mut facts);
    settings(run, &mut facts);
    facts.0
}

fn kernel(host: &HostFacts, facts: &mut Facts) {
    let kernel = &host.kernel;
    facts.text("host.hostname", "host", "主机", &host.hostname);
    facts.text("host.kernel.release", "kernel release", "内核版本", &kernel.release);
    facts.text("host.kernel.version", "kernel build", "内核构建", &kernel.version);
    facts.words("host.kernel.command_line", "kernel command line", "内核命令行", kernel.command_line.clone());
    for (name, state) in &kernel.vulnerabilities {
        let key = format!("host.kernel.vulnerabilities.{name}");
        let (en, zh) = (format!("mitigations ({name})"), format!("缓解措施（{name}）"));
        facts.text(&key, &en, &zh, state);
    }
    facts.add("host.kernel.clock_source", "clock source", "时钟源", kernel.clock_source.clone());
    facts.shown(
        "host.kernel.perf_event_paranoid",
        "perf_event_paranoid",
        "perf_event_paranoid",
        kernel.perf_event_paranoid,
    );
    facts.shown("host.kernel.io_uring_disabled", "io_uring_disabled", "io_uring_disabled", kernel.io_uring_disabled);
    facts.shown("host.kernel.audit", "audit", "审计", kernel.audit.and_then(Audit::name));
    facts.shown("host.kernel.audit_rules", "audit rules", "审计规则数", kernel.audit_rules);
    // The same machine after a reboot has its pages, and its kernel, elsewhere.
    facts.add("host.boot_id", "boot", "启动标识", host.boot_id.as_ref().map(|id| id.chars().take(8).collect()));
}

fn processor(host: &HostFacts, facts: &mut Facts) {
    let cpu = &host.cpu;
    facts.text("host.cpu.architecture", "architecture", "体系结构", &cpu.architecture);
    facts.add("host.cpu.model", "CPU model", "CPU 型号", cpu.model.clone());
    facts.add("host.cpu.microcode", "microcode", "微码", cpu.microcode.clone());
    let features = (!cpu.features.is_empty()).then(|| cpu.features.join(" "));
    facts.words("host.cpu.features", "CPU features", "CPU 特性", features);
    facts.shown("host.cpu.packages", "packages", "封装", (cpu.packages > 0).then_some(cpu.packages));
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    facts.shown("host.cpus.online", "CPUs online", "在线 CPU", (online > 0).then_some(online));
    let usable = host.usable_cpus().len();
    facts.shown("host.cpus.allowed", "CPUs usable", "可用 CPU", (usable > 0).then_some(usable));
    // Of all CPUs the number says as much.
    let allowed = (0 < usable && usable < online).then(|| host.usable_cpus());
    facts.cpus("host.cpus.allowed.list", "CPUs that may be used", "允许使用的 CPU", &allowed);
    let fastest = host.cpus.iter().filter_map(|cpu| cpu.max_hz).fold(0.0, f64::max);
    let fastest = (fastest > 0.0).then(|| format!("{:.0} MHz", fastest / 1e6));
    facts.add("host.cpus.max_hz", "frequency limit", "频率上限", fastest);
    facts.shown("host.cpu.smt_active", "SMT", "SMT", cpu.smt_active.map(on_off));
    facts.add("host.cpu.governor", "governor", "调频策略", cpu.governor.clone());
    facts.add("host.cpu.kinds", "kinds of core", "核心种类", kinds(host));
    facts.add("host.cpu.frequency_driver", "frequency driver", "调频驱动", cpu.frequency_driver.clone());
    facts.shown("host.cpu.turbo", "turbo", "睿频", cpu.turbo.map(on_off));
    facts.cpus("host.cpu.isolated", "isolated CPUs", "隔离的 CPU", &cpu.isolated);
    facts.cpus("host.cpu.tickless", "tickless CPUs", "无时钟滴答的 CPU", &cpu.tickless);
    facts.cpus("host.cpu.callback_free", "CPUs without RCU callbacks", "不执行 RCU 回调的 CPU", &cpu.callback_free);
    facts.add("host.caches", "caches", "缓存", caches(host));
}

/// The kinds of core with their clocks: `performance × 16 ≤ 5700 MHz, powersave; …`.
fn kinds(host: &HostFacts) -> Option<String> {
    let of_kind = |kind: &hostmark_model::CoreKindFact| {
        let most = kind.limit_hz.or(kind.max_hz).map(|hz| format!(" ≤ {:.0} MHz", hz / 1e6)).unwrap_or_default();
        let governor = kind.governor.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
        format!("{} × {}{most}{governor}", kind.name, kind.cpus.len())
    };
    let all: Vec<String> = host.cpu.kinds.iter().map(of_kind).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The kinds of caches: `L1d 32 KiB 8-way × 2, L1i …`.
fn caches(host: &HostFacts) -> Option<String> {
    let name = |cache: &hostmark_model::CacheFact| {
        let kind = match cache.kind {
            CacheKind::Data => "d",
            CacheKind::Instruction => "i",
            CacheKind::Unified => "",
        };
        let ways = cache.ways.map(|ways| format!(" {ways}-way")).unwrap_or_default();
        let size = match cache.size_bytes {
            0 => "of untold size".to_owned(),
            bytes => size_text(bytes),
        };
        format!("L{}{kind} {size}{ways}", cache.level)
    };
    let names: Vec<String> = host.caches.iter().map(name).collect();
    let kinds: BTreeSet<&String> = names.iter().collect();
    let counted = |kind: &&String| format!("{kind} × {}", names.iter().filter(|name| name == kind).count());
    (!names.is_empty()).then(|| kinds.iter().map(counted).collect::<Vec<_>>().join(", "))
}

fn memory(host: &HostFacts, is_known: bool, facts: &mut Facts) {
    let memory = &host.memory;
    facts.bytes("host.memory.total_bytes", "memory", "内存", memory.total_bytes);
    facts.shown("host.nodes", "memory nodes", "内存节点", (!host.nodes.is_empty()).then_some(host.nodes.len()));
    facts.bytes("host.memory.page_bytes", "base page", "基本页", memory.page_bytes);
    facts.bytes("host.memory.pmd_page_bytes", "huge page", "大页", memory.pmd_page_bytes.unwrap_or(0));
    facts.add(
        "host.memory.transparent_huge_pages",
        "transparent huge pages",
        "透明大页",
        memory.transparent_huge_pages.clone(),
    );
    facts.shown(
        "host.memory.transparent_huge_pages_forbidden",
        "transparent huge pages forbidden (prctl)",
        "透明大页被禁用（prctl）",
        memory.transparent_huge_pages_forbidden.map(|are_forbidden| if are_forbidden { "yes" } else { "no" }),
    );
    let defrag = memory.transparent_huge_page_defrag.clone();
    facts.add("host.memory.transparent_huge_page_defrag", "huge page defragmentation", "大页碎片整理", defrag);
    let reserved = memory.huge_pages.as_ref().map(|pages| {
        let some = pages.iter().filter(|pages| pages.count > 0);
        let text: Vec<String> =
            some.map(|pages| format!("{} × {}", pages.count, size_text(pages.page_bytes))).collect();
        if text.is_empty() { "0".to_owned() } else { text.join(", ") }
    });
    facts.add("host.memory.huge_pages", "reserved huge pages", "预留大页", reserved);
    facts.shown(
        "host.memory.swap_total_bytes",
        "swap",
        "交换空间",
        is_known.then(|| size_text(memory.swap_total_bytes)),
    );
    facts.shown("host.memory.swappiness", "vm.swappiness", "vm.swappiness", memory.swappiness);
    facts.shown("host.memory.overcommit", "vm.overcommit_memory", "vm.overcommit_memory", memory.overcommit);
    facts.shown("host.memory.numa_balancing", "NUMA balancing", "NUMA 自动平衡", memory.numa_balancing);
    facts.shown("host.memory.zone_reclaim_mode", "zone reclaim mode", "内存域回收模式", memory.zone_reclaim_mode);
    facts.shown("host.memory.same_page_merging", "same-page merging", "相同页合并", memory.same_page_merging);
}

fn surroundings(host: &HostFacts, is_known: bool, facts: &mut Facts) {
    let (virtualization, limits) = (&host.virtualization, &host.limits);
    // A run always looks for these: none found is a fact, where anything is known of the host.
    let or_none = |found: &Option<String>| found.clone().or_else(|| is_known.then(|| "none".to_owned()));
    let known = |unknown: bool, word: Option<String>| word.filter(|word| !unknown || word != "none");
    let of_container = known(virtualization.container_unknown, or_none(&virtualization.container));
    facts.add("host.virtualization.hypervisor", "hypervisor", "虚拟机监控程序", or_none(&virtualization.hypervisor));
    facts.add("host.virtualization.container", "container", "容器", of_container);
    facts.add(
        "host.virtualization.extension",
        "virtualization extension",
        "虚拟化扩展",
        or_none(&virtualization.extension),
    );
    let paging = virtualization.nested_paging.map(on_off);
    facts.shown("host.virtualization.nested_paging", "nested paging (EPT, NPT)", "嵌套分页（EPT、NPT）", paging);
    let tagged = virtualization.tagged_tlb.map(on_off);
    facts.shown("host.virtualization.tagged_tlb", "tagged TLB (VPID, ASID)", "带标记的 TLB（VPID、ASID）", tagged);
    let nested = virtualization.nested_guests.map(on_off);
    facts.shown("host.virtualization.nested_guests", "nested guests", "嵌套虚拟机", nested);
    let kvm = virtualization.kvm_permitted.map(on_off);
    facts.shown("host.virtualization.kvm_permitted", "access to /dev/kvm", "/dev/kvm 权限", kvm);
    facts.shown("host.limits.cgroup_version", "cgroup version", "cgroup 版本", limits.cgroup_version);
    let quota = limits.cpu_quota.map(|quota| quota.to_string());
    let limit_or_none = |limit: &Option<String>, resource| match limits.sight(resource) {
        Sight::Nothing => limit.as_ref().map(|limit| format!("{limit} or less")).or_else(|| Some("unknown".to_owned())),
        Sight::NotAbove if limit.is_none() => is_known.then(|| "none in the visible groups".to_owned()),
        Sight::Whole | Sight::NotAbove => or_none(limit),
    };
    facts.add("host.limits.cpu_quota", "CPU quota", "CPU 配额", limit_or_none(&quota, Resource::Cpu));
    let limit = limits.memory_limit_bytes.map(size_text);
    facts.add("host.limits.memory_limit_bytes", "memory limit", "内存限制", limit_or_none(&limit, Resource::Memory));
    facts.shown("host.limits.is_root", "root", "root 权限", limits.is_root.filter(|_| is_known).map(on_off));
    facts.add("host.limits.seccomp", "seccomp", "seccomp", limits.seccomp.clone());
    process(host, facts);
}

/// How the kernel treats the process that measured.
fn process(host: &HostFacts, facts: &mut Facts) {
    let process = &host.process;
    facts.add("host.process.policy", "scheduling policy", "调度策略", process.policy.clone());
    facts.shown("host.process.nice", "nice value", "nice 值", process.nice);
    facts.shown("host.process.priority", "real-time priority", "实时优先级", process.priority);
    facts.shown("host.process.uclamp_min", "uclamp.min", "uclamp.min", process.uclamp_min);
    facts.shown("host.process.uclamp_max", "uclamp.max", "uclamp.max", process.uclamp_max);
    facts.shown("host.process.traced", "traced (ptrace)", "被跟踪（ptrace）", process.traced.map(on_off));
    facts.shown("host.process.no_new_privs", "no_new_privs", "no_new_privs", process.no_new_privs.map(on_off));
    let bounds: Vec<String> = process.resource_limits.iter().map(|(name, bound)| format!("{name}={bound}")).collect();
    facts.words("host.process.resource_limits", "resource limits", "资源限制", Some(bounds.join(" ")));
}

fn devices(host: &HostFacts, facts: &mut Facts) {
    let firmware = &host.firmware;
    facts.add("host.firmware.vendor", "maker", "厂商", firmware.vendor.clone());
    facts.add("host.firmware.product", "model", "机型", firmware.product.clone());
    facts.add("host.firmware.bios_version", "firmware", "固件", firmware.bios_version.clone());
    let module = |module: &hostmark_model::MemoryModule| {
        let rate = module.transfers_per_s.map(|rate| format!(" {} MT/s", rate / 1_000_000)).unwrap_or_default();
        format!("{} {}{rate}", module.kind.as_deref().unwrap_or("?"), size_text(module.size_bytes))
    };
    let modules: Vec<String> = firmware.memory_modules.iter().map(module).collect();
    facts.add("host.firmware.memory_modules", "memory modules", "内存条", Some(modules.join(", ")));
    for directory in &host.storage.directories {
        let purpose = match directory.purpose {
            hostmark_model::Purpose::Scratch => ("scratch", "scratch filesystem", "临时目录的文件系统"),
            hostmark_model::Purpose::Data => continue,
        };
        let (name, en, zh) = purpose;
        let whole = |part: &Option<String>| part.clone().unwrap_or_default();
        let what = format!("{} {}", whole(&directory.filesystem), whole(&directory.device)).trim().to_owned();
        facts.add(&format!("host.storage.directories.{name}"), en, zh, Some(what));
        let stack = (directory.stack.len() > 1).then(|| directory.stack.join(" on "));
        let key = format!("host.storage.directories.{name}.stack");
        facts.add(&key, "scratch filesystem lies on", "临时目录的存储层次", stack);
        let options = Some(directory.options.join(" "));
        facts.words(&format!("host.storage.directories.{name}.options"), "mount options", "挂载选项", options);
    }
}

/// What a packet meets that the machine sends to itself.
fn loopback(host: &HostFacts, facts: &mut Facts) {
    let lo = &host.loopback;
    facts.shown("host.loopback.mtu_bytes", "loopback MTU", "环回接口 MTU", lo.mtu_bytes);
    let queue = lo.queue.as_ref().map(queue_text);
    facts.add("host.loopback.queue", "loopback queue", "环回接口队列", queue);
    facts.shown("host.loopback.filter_rules", "packet-filter rules", "包过滤规则数", lo.filter_rules);
    let programs =
        lo.programs.as_ref().map(|programs| if programs.is_empty() { "none".into() } else { programs.join(", ") });
    facts.add("host.loopback.programs", "programs on loopback", "环回接口上的程序", programs);
}

/// Both ends of the link to each peer.
fn links(run: &Run, facts: &mut Facts) {
    for peer in peers(run) {
        let ends = [("path", "to", "至", &peer.path), ("path_back", "from", "来自", &peer.path_back)];
        for (field, en, zh, path) in ends {
            if let Some(path) = path {
                let key = format!("peers.{}.{field}", peer.name);
                link(&key, &format!("{en} {}", peer.name), &format!("{zh} {}", peer.name), path, facts);
            }
        }
    }
}

fn link(key: &str, en: &str, zh: &str, path: &NetworkPath, facts: &mut Facts) {
    let mut add = |field: &str, name: &str, in_chinese: &str, value: Option<String>| {
        facts.add(&format!("{key}.{field}"), &format!("{name} {en}"), &format!("{in_chinese}（{zh}）"), value);
    };
    add("driver", "network driver", "网卡驱动", path.driver.clone());
    add("bits_per_s", "link speed", "链路速率", path.link_bits_per_s().map(bits));
    add("mtu_bytes", "MTU", "MTU", path.mtu_bytes.map(|mtu| mtu.to_string()));
    add("path_mtu_bytes", "path MTU", "路径 MTU", path.path_mtu_bytes.map(|mtu| mtu.to_string()));
    let queue = path.queue.as_ref();
    add("queue.kind", "queueing discipline", "队列规则", queue.map(|queue| queue.kind.clone()));
    add("queue.bits_per_s", "rate limit", "限速", queue.and_then(|queue| queue.bits_per_s).map(bits));
    add("congestion_control", "congestion control", "拥塞控制", path.congestion_control.clone());
    let is_on = |on: Option<bool>| on.map(|on| if on { "on" } else { "off" }.to_owned());
    add("offloads.tso", "TSO", "TSO", is_on(path.offloads.tso));
    add("offloads.gro", "GRO", "GRO", is_on(path.offloads.gro));
}

/// The virtual machine: what was asked of it and what it is made of, not what it did.
fn guest(run: &Run, facts: &mut Facts) {
    let Some(guest) = &run.guest else { return };
    facts.text("guest.accel", "accelerator", "加速方式", &guest.accel);
    facts.text("guest.vmm", "virtual machine monitor", "虚拟机监控程序", &guest.vmm);
    facts.text("guest.machine", "machine type", "机器类型", &guest.machine);
    facts.text("guest.cpu", "virtual CPU model", "虚拟 CPU 型号", &guest.cpu);
    facts.shown("guest.cpus", "virtual CPUs", "虚拟 CPU", Some(guest.cpus));
    facts.shown("guest.nodes", "virtual memory nodes", "虚拟内存节点", Some(guest.nodes));
    facts.bytes("guest.memory", "memory of the guest", "虚拟机内存", guest.memory);
    facts.text("guest.backing", "pages behind its memory", "其内存之下的页", &guest.backing);
    facts.cpus("guest.pinned", "CPUs that it is pinned to", "绑定的 CPU", &Some(guest.pinned.clone()));
    facts.add("guest.disk", "disk of the guest", "虚拟机磁盘", guest.disk.clone());
    facts.add("guest.net", "network of the guest", "虚拟机网络", guest.net.clone());
    facts.text("guest.channel", "channel of the guest", "虚拟机通道", &guest.channel);
    facts.words("guest.append", "kernel's arguments", "内核参数", Some(guest.append.clone()));
    for (name, text) in &guest.host {
        facts.text(&format!("guest.host.{name}"), &format!("host: {name}"), &format!("宿主机：{name}"), text);
    }
    for (name, digest) in &guest.digests {
        let digest: String = digest.chars().take(12).collect();
        let (key, en) = (format!("guest.digests.{name}"), format!("{name} (SHA-256)"));
        facts.text(&key, &en, &format!("{name}（SHA-256）"), &digest);
    }
}

fn settings(run: &Run, facts: &mut Facts) {
    let (tool, settings) = (&run.tool, &run.settings);
    facts.text("tool.version", "tool version", "工具版本", &tool.version);
    let imported = run.imported.as_ref().map_or("hostmark", |imported| imported.format.as_str());
    facts.text("imported.format", "measured by", "测量工具", imported);
    if run.imported.is_some() {
        let measured = || run.cases.iter().filter_map(CaseRecord::measured);
        for key in ASKED {
            let values: BTreeSet<&str> = measured().filter_map(|one| one.notes.get(key).map(String::as_str)).collect();
            let word = values.into_iter().collect::<Vec<_>>().join(", ");
            facts.words(&format!("asked.{key}"), key, key, Some(word));
        }
        return;
    }
    // A dozen digits tell two programs apart; the file has all.
    let digest = run.tool.digest.as_ref().map(|digest| digest.chars().take(12).collect());
    facts.add("tool.digest", "program (SHA-256)", "程序（SHA-256）", digest);
    facts.text("tool.target", "target", "目标平台", &tool.target);
    facts.text("tool.libc", "libc", "libc", &tool.libc);
    facts.shown("tool.static", "static linking", "静态链接", Some(on_off(tool.is_static)));
    facts.shown("settings.profile", "profile", "档", Some(settings.profile.name().to_owned()));
    facts.text("settings.clock.source", "clock", "计时时钟", &settings.clock.source);
    facts.shown("settings.cpu", "CPU of single-threaded cases", "单线程用例所在 CPU", Some(settings.cpu));
    let all = settings.table.as_ref().map_or_else(|| "all".to_owned(), |table| format!("--table {table}"));
    let filters = if settings.filters.is_empty() { all } else { settings.filters.join(" ") };
    facts.words("settings.filters", "filters", "筛选", Some(filters));
    let set: Vec<String> = settings.set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let set = if set.is_empty() { "none".to_owned() } else { set.join(" ") };
    facts.words("settings.set", "options set", "设置的选项", Some(set));
}

fn on_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}
