//! Facts recorded of a host and of a run's settings, as a list by name, to compare two runs.

use std::collections::{BTreeMap, BTreeSet};

use hostmark_model::imported::ASKED;
use hostmark_model::{
    Audit, CacheKind, CaseRecord, CpuFact, HostFacts, Message, NetworkPath, Resource, Run, Sight, Text, size_text,
};
use hostmark_say::say;

use crate::network::{bits, peers, queue_text};
use crate::words;

/// A fact as text; none where it is not known.
pub(crate) struct Fact {
    pub(crate) key: String,
    pub(crate) label: Text<String>,
    pub(crate) value: Option<String>,
    /// True where it is a list of words, of which only the differing ones are shown.
    pub(crate) is_words: bool,
}

#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, key: &str, label: impl Into<Text<String>>, value: Option<String>) {
        let value = value.filter(|value| !value.is_empty());
        self.0.push(Fact { key: key.to_owned(), label: label.into(), value, is_words: false });
    }

    fn text(&mut self, key: &str, label: impl Into<Text<String>>, value: &str) {
        self.add(key, label, Some(value.to_owned()));
    }

    fn shown<T: ToString>(&mut self, key: &str, label: impl Into<Text<String>>, value: Option<T>) {
        self.add(key, label, value.map(|value| value.to_string()));
    }

    /// Settings by name, each a fact.
    fn each(&mut self, key: &str, settings: &BTreeMap<String, String>) {
        for (name, value) in settings {
            let label = Text { en: name.clone(), zh: name.clone() };
            self.text(&format!("{key}.{name}"), label, value);
        }
    }

    fn words(&mut self, key: &str, label: impl Into<Text<String>>, value: Option<String>) {
        self.add(key, label, value);
        if let Some(fact) = self.0.last_mut() {
            fact.is_words = true;
        }
    }

    fn cpus(&mut self, key: &str, label: impl Into<Text<String>>, value: &Option<Vec<usize>>) {
        let list = |ids: &Vec<usize>| match ids.as_slice() {
            [] => "-".to_owned(),
            ids => ids.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        };
        self.add(key, label, value.as_ref().map(list));
    }

    fn bytes(&mut self, key: &str, label: impl Into<Text<String>>, value: u64) {
        self.add(key, label, (value > 0).then(|| size_text(value)));
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
    facts.text("host.hostname", term!("host"), &host.hostname);
    facts.text("host.kernel.release", term!("kernel release"), &kernel.release);
    facts.text("host.kernel.version", term!("kernel build"), &kernel.version);
    facts.words("host.kernel.command_line", term!("kernel command line"), kernel.command_line.clone());
    for (name, state) in &kernel.vulnerabilities {
        let key = format!("host.kernel.vulnerabilities.{name}");
        let label = words(say!("mitigations ({name})"));
        facts.text(&key, label, state);
    }
    facts.add("host.kernel.clock_source", term!("clock source"), kernel.clock_source.clone());
    facts.shown("host.kernel.perf_event_paranoid", Text::name("perf_event_paranoid"), kernel.perf_event_paranoid);
    facts.shown("host.kernel.io_uring_disabled", Text::name("io_uring_disabled"), kernel.io_uring_disabled);
    facts.shown("host.kernel.audit", term!("audit"), kernel.audit.and_then(Audit::name));
    facts.shown("host.kernel.audit_rules", term!("audit rules"), kernel.audit_rules);
    facts.each("host.kernel.sysctls", &kernel.sysctls);
    // The same machine after a reboot has its pages, and its kernel, elsewhere.
    facts.add("host.boot_id", term!("boot"), host.boot_id.as_ref().map(|id| id.chars().take(8).collect()));
}

fn processor(host: &HostFacts, facts: &mut Facts) {
    let cpu = &host.cpu;
    facts.text("host.cpu.architecture", term!("architecture"), &cpu.architecture);
    facts.add("host.cpu.model", term!("CPU model"), cpu.model.clone());
    facts.add("host.cpu.microcode", term!("microcode"), cpu.microcode.clone());
    let features = (!cpu.features.is_empty()).then(|| cpu.features.join(" "));
    facts.words("host.cpu.features", term!("CPU features"), features);
    facts.shown("host.cpu.packages", term!("packages"), (cpu.packages > 0).then_some(cpu.packages));
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    facts.shown("host.cpus.online", term!("CPUs online"), (online > 0).then_some(online));
    let usable = host.usable_cpus().len();
    facts.shown("host.cpus.allowed", term!("CPUs usable"), (usable > 0).then_some(usable));
    // Of all CPUs the number says as much.
    let allowed = (0 < usable && usable < online).then(|| host.usable_cpus());
    facts.cpus("host.cpus.allowed.list", term!("CPUs that may be used"), &allowed);
    let most = |of: fn(&CpuFact) -> Option<f64>| {
        let fastest = host.cpus.iter().filter_map(of).fold(0.0, f64::max);
        (fastest > 0.0).then(|| format!("{:.0} MHz", fastest / 1e6))
    };
    facts.add("host.cpus.max_hz", term!("frequency limit"), most(|cpu| cpu.max_hz));
    facts.add("host.cpus.limit_hz", Text::name("scaling_max_freq"), most(|cpu| cpu.limit_hz.or(cpu.max_hz)));
    facts.shown("host.cpu.smt_active", Text::name("SMT"), cpu.smt_active.map(on_off));
    facts.add("host.cpu.governor", term!("governor"), cpu.governor.clone());
    facts.add("host.cpu.kinds", term!("kinds of core"), kinds(host));
    facts.add("host.cpu.frequency_driver", term!("frequency driver"), cpu.frequency_driver.clone());
    facts.shown("host.cpu.turbo", term!("turbo"), cpu.turbo.map(on_off));
    facts.cpus("host.cpu.isolated", term!("isolated CPUs"), &cpu.isolated);
    facts.cpus("host.cpu.tickless", term!("tickless CPUs"), &cpu.tickless);
    facts.cpus("host.cpu.callback_free", term!("CPUs without RCU callbacks"), &cpu.callback_free);
    facts.add("host.caches", term!("caches"), caches(host));
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
    facts.bytes("host.memory.total_bytes", term!("memory"), memory.total_bytes);
    facts.shown("host.nodes", term!("memory nodes"), (!host.nodes.is_empty()).then_some(host.nodes.len()));
    facts.bytes("host.memory.page_bytes", term!("base page"), memory.page_bytes);
    facts.bytes("host.memory.pmd_page_bytes", term!("huge page"), memory.pmd_page_bytes.unwrap_or(0));
    facts.add(
        "host.memory.transparent_huge_pages",
        term!("transparent huge pages"),
        memory.transparent_huge_pages.clone(),
    );
    facts.shown(
        "host.memory.transparent_huge_pages_forbidden",
        term!("transparent huge pages forbidden (prctl)"),
        memory.transparent_huge_pages_forbidden.map(|are_forbidden| if are_forbidden { "yes" } else { "no" }),
    );
    let defrag = memory.transparent_huge_page_defrag.clone();
    facts.add("host.memory.transparent_huge_page_defrag", term!("huge page defragmentation"), defrag);
    let reserved = memory.huge_pages.as_ref().map(|pages| {
        let some = pages.iter().filter(|pages| pages.count > 0);
        let text: Vec<String> =
            some.map(|pages| format!("{} × {}", pages.count, size_text(pages.page_bytes))).collect();
        if text.is_empty() { "0".to_owned() } else { text.join(", ") }
    });
    facts.add("host.memory.huge_pages", term!("reserved huge pages"), reserved);
    facts.shown("host.memory.swap_total_bytes", term!("swap"), is_known.then(|| size_text(memory.swap_total_bytes)));
    facts.shown("host.memory.swappiness", Text::name("vm.swappiness"), memory.swappiness);
    facts.shown("host.memory.overcommit", Text::name("vm.overcommit_memory"), memory.overcommit);
    facts.shown("host.memory.numa_balancing", term!("NUMA balancing"), memory.numa_balancing);
    facts.shown("host.memory.zone_reclaim_mode", term!("zone reclaim mode"), memory.zone_reclaim_mode);
    facts.shown("host.memory.same_page_merging", term!("same-page merging"), memory.same_page_merging);
}

fn surroundings(host: &HostFacts, is_known: bool, facts: &mut Facts) {
    let (virtualization, limits) = (&host.virtualization, &host.limits);
    // A run always looks for these: none found is a fact, where anything is known of the host.
    let or_none = |found: &Option<String>| found.clone().or_else(|| is_known.then(|| "none".to_owned()));
    let known = |unknown: bool, word: Option<String>| word.filter(|word| !unknown || word != "none");
    let of_container = known(virtualization.container_unknown, or_none(&virtualization.container));
    facts.add("host.virtualization.hypervisor", term!("hypervisor"), or_none(&virtualization.hypervisor));
    facts.add("host.virtualization.container", term!("container"), of_container);
    facts.add("host.virtualization.extension", term!("virtualization extension"), or_none(&virtualization.extension));
    let paging = virtualization.nested_paging.map(on_off);
    facts.shown("host.virtualization.nested_paging", term!("nested paging (EPT, NPT)"), paging);
    let tagged = virtualization.tagged_tlb.map(on_off);
    facts.shown("host.virtualization.tagged_tlb", term!("tagged TLB (VPID, ASID)"), tagged);
    let nested = virtualization.nested_guests.map(on_off);
    facts.shown("host.virtualization.nested_guests", term!("nested guests"), nested);
    let kvm = virtualization.kvm_permitted.map(on_off);
    facts.shown("host.virtualization.kvm_permitted", term!("access to /dev/kvm"), kvm);
    facts.shown("host.limits.cgroup_version", term!("cgroup version"), limits.cgroup_version);
    let quota = limits.cpu_quota.map(|quota| quota.to_string());
    let limit_or_none = |limit: &Option<String>, resource| match limits.sight(resource) {
        Sight::Nothing => limit.as_ref().map(|limit| format!("{limit} or less")).or_else(|| Some("unknown".to_owned())),
        Sight::NotAbove if limit.is_none() => is_known.then(|| "none in the visible groups".to_owned()),
        Sight::Whole | Sight::NotAbove => or_none(limit),
    };
    facts.add("host.limits.cpu_quota", term!("CPU quota"), limit_or_none(&quota, Resource::Cpu));
    let limit = limits.memory_limit_bytes.map(size_text);
    facts.add("host.limits.memory_limit_bytes", term!("memory limit"), limit_or_none(&limit, Resource::Memory));
    facts.shown("host.limits.is_root", term!("root"), limits.is_root.filter(|_| is_known).map(on_off));
    facts.add("host.limits.seccomp", Text::name("seccomp"), limits.seccomp.clone());
    facts.each("host.limits.group_settings", &limits.group_settings);
    process(host, facts);
}

/// Adds the scheduling facts of the process that measured.
fn process(host: &HostFacts, facts: &mut Facts) {
    let process = &host.process;
    facts.add("host.process.policy", term!("scheduling policy"), process.policy.clone());
    facts.shown("host.process.nice", term!("nice value"), process.nice);
    facts.shown("host.process.priority", term!("real-time priority"), process.priority);
    facts.shown("host.process.uclamp_min", Text::name("uclamp.min"), process.uclamp_min);
    facts.shown("host.process.uclamp_max", Text::name("uclamp.max"), process.uclamp_max);
    facts.shown("host.process.traced", term!("traced (ptrace)"), process.traced.map(on_off));
    facts.shown("host.process.no_new_privs", Text::name("no_new_privs"), process.no_new_privs.map(on_off));
    let mut attributes = process.attributes.clone();
    // Its number is another in each run; that there is one is a fact above.
    attributes.remove("tracer");
    facts.each("host.process.attributes", &attributes);
    let bounds: Vec<String> = process.resource_limits.iter().map(|(name, bound)| format!("{name}={bound}")).collect();
    facts.words("host.process.resource_limits", term!("resource limits"), Some(bounds.join(" ")));
}

fn devices(host: &HostFacts, facts: &mut Facts) {
    let firmware = &host.firmware;
    facts.add("host.firmware.vendor", term!("maker"), firmware.vendor.clone());
    facts.add("host.firmware.product", term!("model"), firmware.product.clone());
    facts.add("host.firmware.bios_version", term!("firmware"), firmware.bios_version.clone());
    let module = |module: &hostmark_model::MemoryModule| {
        let rate = module.transfers_per_s.map(|rate| format!(" {} MT/s", rate / 1_000_000)).unwrap_or_default();
        format!("{} {}{rate}", module.kind.as_deref().unwrap_or("?"), size_text(module.size_bytes))
    };
    let modules: Vec<String> = firmware.memory_modules.iter().map(module).collect();
    facts.add("host.firmware.memory_modules", term!("memory modules"), Some(modules.join(", ")));
    for directory in &host.storage.directories {
        let purpose = match directory.purpose {
            hostmark_model::Purpose::Scratch => ("scratch", term!("scratch filesystem")),
            hostmark_model::Purpose::Data => continue,
        };
        let (name, label) = purpose;
        let whole = |part: &Option<String>| part.clone().unwrap_or_default();
        let what = format!("{} {}", whole(&directory.filesystem), whole(&directory.device)).trim().to_owned();
        facts.add(&format!("host.storage.directories.{name}"), label, Some(what));
        let stack = (directory.stack.len() > 1).then(|| directory.stack.join(" on "));
        let key = format!("host.storage.directories.{name}.stack");
        facts.add(&key, term!("scratch filesystem lies on"), stack);
        let options = Some(directory.options.join(" "));
        facts.words(&format!("host.storage.directories.{name}.options"), term!("mount options"), options);
    }
}

/// Adds the facts of the loopback interface.
fn loopback(host: &HostFacts, facts: &mut Facts) {
    let lo = &host.loopback;
    facts.shown("host.loopback.mtu_bytes", term!("loopback MTU"), lo.mtu_bytes);
    let queue = lo.queue.as_ref().map(queue_text);
    facts.add("host.loopback.queue", term!("loopback queue"), queue);
    facts.shown("host.loopback.filter_rules", term!("packet-filter rules"), lo.filter_rules);
    let programs =
        lo.programs.as_ref().map(|programs| if programs.is_empty() { "none".into() } else { programs.join(", ") });
    facts.add("host.loopback.programs", term!("programs on loopback"), programs);
    facts.each("host.loopback.sysctls", &lo.sysctls);
}

/// Both ends of the link to each peer.
fn links(run: &Run, facts: &mut Facts) {
    for peer in peers(run) {
        let ends = [("path", term!("to"), &peer.path), ("path_back", term!("from"), &peer.path_back)];
        for (field, way, path) in ends {
            if let Some(path) = path {
                let key = format!("peers.{}.{field}", peer.name);
                let way = Text { en: format!("{} {}", way.en, peer.name), zh: format!("{} {}", way.zh, peer.name) };
                link(&key, &way, path, facts);
            }
        }
    }
}

fn link(key: &str, way: &Text<String>, path: &NetworkPath, facts: &mut Facts) {
    let mut add = |field: &str, name: Text, value: Option<String>| {
        let label = words(say!("{name} {way}"));
        facts.add(&format!("{key}.{field}"), label, value);
    };
    add("driver", term!("network driver"), path.driver.clone());
    add("bits_per_s", term!("link speed"), path.link_bits_per_s().map(bits));
    add("mtu_bytes", Text::name("MTU"), path.mtu_bytes.map(|mtu| mtu.to_string()));
    add("path_mtu_bytes", term!("path MTU"), path.path_mtu_bytes.map(|mtu| mtu.to_string()));
    let queue = path.queue.as_ref();
    add("queue.kind", term!("queueing discipline"), queue.map(|queue| queue.kind.clone()));
    // Rates of other kinds, as hfsc, are not read.
    let is_read = |kind| ["cake", "fq", "fq_codel", "htb", "noqueue", "pfifo_fast", "tbf"].contains(&kind);
    let rate =
        queue.and_then(|queue| queue.bits_per_s.map(bits).or_else(|| is_read(&*queue.kind).then(|| "none".into())));
    add("queue.bits_per_s", term!("rate limit"), rate);
    add("congestion_control", term!("congestion control"), path.congestion_control.clone());
    let is_on = |on: Option<bool>| on.map(|on| if on { "on" } else { "off" }.to_owned());
    add("offloads.tso", Text::name("TSO"), is_on(path.offloads.tso));
    add("offloads.gro", Text::name("GRO"), is_on(path.offloads.gro));
    for (name, value) in &path.settings {
        facts.text(&format!("{key}.settings.{name}"), words(say!("{name} {way}")), value);
    }
}

/// The virtual machine: what was asked of it and what it is made of, not what it did.
fn guest(run: &Run, facts: &mut Facts) {
    let Some(guest) = &run.guest else { return };
    facts.text("guest.accel", term!("accelerator"), &guest.accel);
    facts.text("guest.vmm", term!("virtual machine monitor"), &guest.vmm);
    facts.text("guest.machine", term!("machine type"), &guest.machine);
    facts.text("guest.cpu", term!("virtual CPU model"), &guest.cpu);
    facts.shown("guest.cpus", term!("virtual CPUs"), Some(guest.cpus));
    facts.shown("guest.nodes", term!("virtual memory nodes"), Some(guest.nodes));
    facts.bytes("guest.memory", term!("memory of the guest"), guest.memory);
    facts.text("guest.backing", term!("pages behind its memory"), &guest.backing);
    facts.cpus("guest.pinned", term!("CPUs that it is pinned to"), &Some(guest.pinned.clone()));
    facts.add("guest.disk", term!("disk of the guest"), guest.disk.clone());
    facts.add("guest.net", term!("network of the guest"), guest.net.clone());
    facts.text("guest.channel", term!("channel of the guest"), &guest.channel);
    facts.words("guest.append", term!("kernel's arguments"), Some(guest.append.clone()));
    for (name, text) in &guest.host {
        let label = words(say!("host: {name}"));
        facts.text(&format!("guest.host.{name}"), label, text);
    }
    for (name, digest) in &guest.digests {
        let digest: String = digest.chars().take(12).collect();
        let label = words(say!("{name} (SHA-256)"));
        facts.text(&format!("guest.digests.{name}"), label, &digest);
    }
}

fn settings(run: &Run, facts: &mut Facts) {
    let (tool, settings) = (&run.tool, &run.settings);
    facts.text("tool.version", term!("tool version"), &tool.version);
    let imported = run.imported.as_ref().map_or("hostmark", |imported| imported.format.as_str());
    facts.text("imported.format", term!("measured by"), imported);
    if run.imported.is_some() {
        let notes = run.cases.iter().filter_map(CaseRecord::measured).flat_map(|one| &one.notes);
        let mut asked: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (key, value) in notes.chain(&settings.set) {
            let option = key.strip_prefix(ASKED).or_else(|| settings.set.contains_key(key).then_some(key));
            if let Some(option) = option {
                asked.entry(option).or_default().insert(value);
            }
        }
        for (option, values) in asked {
            let values = values.into_iter().collect::<Vec<_>>().join(", ");
            facts.words(&format!("{ASKED}{option}"), words(Message::plain(option)), Some(values));
        }
        return;
    }
    // A dozen digits tell two programs apart; the file has all.
    let digest = run.tool.digest.as_ref().map(|digest| digest.chars().take(12).collect());
    facts.add("tool.digest", term!("program (SHA-256)"), digest);
    facts.text("tool.target", term!("target"), &tool.target);
    facts.text("tool.libc", Text::name("libc"), &tool.libc);
    facts.shown("tool.static", term!("static linking"), Some(on_off(tool.is_static)));
    facts.shown("settings.profile", term!("profile"), Some(settings.profile.name().to_owned()));
    facts.text("settings.clock.source", term!("clock"), &settings.clock.source);
    facts.shown("settings.cpu", term!("CPU of single-threaded cases"), Some(settings.cpu));
    let all = settings.table.as_ref().map_or_else(|| "all".to_owned(), |table| format!("--table {table}"));
    let filters = if settings.filters.is_empty() { all } else { settings.filters.join(" ") };
    facts.words("settings.filters", term!("filters"), Some(filters));
    let set: Vec<String> = settings.set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let set = if set.is_empty() { "none".to_owned() } else { set.join(" ") };
    facts.words("settings.set", term!("options set"), Some(set));
}

fn on_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}
