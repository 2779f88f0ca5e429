//! Everything that a run needs before its first round, whether it is a new one or goes on (`hostmark run --resume`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::words;
use hostmark_engine::clock::Calibration;
use hostmark_engine::plan::{Plan, Request, limits_of};
use hostmark_engine::sys::usage;
use hostmark_engine::{Header, Journal, PastRound, Wall, plan};
use hostmark_launch::program::{OWN, digest_of};
use hostmark_model::{
    BegunRun, CaseId, EACH_POINT, Elsewhere, Exit, HostFacts, Inputs, Profile, Run, RunRequest, SCHEMA, Settings, Tool,
};
use hostmark_present::tables;
use hostmark_present::tables::NamedTable;
use hostmark_probes::CATALOGUE;
use hostmark_say::say;

use super::inputs::{check_command, scratch};
use super::{MeasuredMachine, damaged, inputs};
use crate::command::EndsWith;
use crate::command::runs::chosen;
use crate::command::runs::kept::RunDestination;
use crate::language::refuse;
use crate::store;
use crate::store::{JOURNAL, RunFiles};

const MOST_CPUS: usize = 1 << 16;
const MOST_BYTES: u64 = 1 << 50;

/// Preparations for a run's first round.
pub struct Ready {
    pub plan: Plan,
    pub run: Run,
    /// The host as it is now, which may have less memory than when the run was planned.
    pub host: HostFacts,
    pub calibration: Calibration,
    /// Rounds measured before the run was cut short.
    pub past: Vec<PastRound>,
    pub scratch: PathBuf,
}

impl Ready {
    /// A run that nobody has begun; its name is its id until it has another.
    pub fn fresh(
        request: &RunRequest,
        mut host: HostFacts,
        machine: &MeasuredMachine,
        wall: &dyn Wall,
    ) -> Result<Ready> {
        let had = || Duration::from_nanos(usage::cpu_ns_of_process().unwrap_or_default());
        let check_share = || check_cpu_share(request, wall.report_delay(), had());
        check_share()?;
        machine.note_busy(&request.inputs, &mut host);
        let id = uuid::Uuid::now_v7();
        let (plan, host) = planned_here(request, host, machine, id)?;
        inputs::check_command(&plan.request.inputs)?;
        let calibration = machine.clock(&host);
        // Others may have begun meanwhile.
        check_share()?;
        let mut run = begin(&plan, host.clone(), &calibration, id);
        run.settings.table.clone_from(&request.table);
        run.disturbances.extend(super::chosen(&host, plan.cpu));
        let scratch = inputs::scratch(&plan.request.inputs);
        Ok(Ready { plan, run, host, calibration, past: Vec::new(), scratch })
    }
}

/// Part of the CPU time that a run needs besides its rounds, at least, which it has had when it knows the host's facts.
const SPENT_ON_FACTS: u32 = 4;

/// Waits that matter at least, and the most for the CPU time that it had: beside 16 threads that spin on 2 CPUs it waits 8 times as long.
const LEAST_WAITED: Duration = Duration::from_secs(2);
const MOST_WAITED: u32 = 20;

/// Refuses a run that knows the host's facts, and waited so long for a CPU for them that its limit would be over before a first round, or
/// before what is left at its end is done.
fn check_cpu_share(request: &RunRequest, waited: Duration, had: Duration) -> Result<()> {
    let limit = limits_of(request.profile, &request.inputs).limit;
    if waited * SPENT_ON_FACTS < limit && waited < LEAST_WAITED.max(had * MOST_WAITED) {
        return Ok(());
    }
    let (waited, limit) = (waited.as_secs_f64(), limit.as_secs());
    let nothing = say!(
        "nothing can be measured in {limit} s: before its first round this process has waited {waited:.1} s for a CPU, because \
         others go first; raise cpu.weight or cpu.shares of its control group, or stop them"
    );
    Err(EndsWith(Exit::NothingSelected, nothing).into())
}

/// The plan of what was asked, and the host as the run may use it, with a look at its memory where a case fills that for long.
pub fn planned_here(
    request: &RunRequest,
    host: HostFacts,
    machine: &MeasuredMachine,
    id: uuid::Uuid,
) -> Result<(Plan, HostFacts)> {
    let (plan, mut host) = planned(request, host, id)?;
    if plan.cases.iter().any(|case| case.skip.is_none() && case.has_long_set_up()) {
        host.memory_look = machine.memory_look(&host);
        return planned(request, host, id);
    }
    Ok((plan, host))
}

/// The plan without that look.
pub fn planned(request: &RunRequest, mut host: HostFacts, id: uuid::Uuid) -> Result<(Plan, HostFacts)> {
    if let Some(list) = &request.inputs.cpus {
        plan::keep_to_cpus(&mut host, list)?;
    }
    let table = request.table.as_deref();
    let request = Request {
        filters: request.filters.clone(),
        profile: request.profile,
        seed: request.seed.unwrap_or(id.as_u64_pair().1 & 0xffff_ffff),
        set: request.set.clone(),
        inputs: request.inputs.clone(),
    };
    let table = meant(table, &request)?;
    if let Some(table) = table {
        check_set(table, &host, &request.set)?;
    }
    let plan = fitted(&host, request, table)?;
    Ok((plan, host))
}

/// The run before anything is measured.
pub fn begin(plan: &Plan, host: HostFacts, calibration: &Calibration, id: uuid::Uuid) -> Run {
    let request = &plan.request;
    let limits = plan.profile_limits();
    Run {
        schema: SCHEMA.into(),
        id: id.to_string(),
        name: id.to_string(),
        started: store::now().to_string(),
        tool: Tool {
            version: env!("CARGO_PKG_VERSION").into(),
            target: target(),
            libc: if cfg!(target_env = "musl") { "musl" } else { "glibc" }.into(),
            is_static: cfg!(target_feature = "crt-static"),
            digest: own_digest(),
        },
        settings: Settings {
            profile: request.profile,
            seed: request.seed,
            filters: request.filters.clone(),
            table: None,
            rounds: limits.rounds,
            limit_s: if request.inputs.command.is_empty() { limits.limit.as_secs_f64() } else { 0.0 },
            clock: calibration.facts(),
            cpu: plan.cpu,
            set: inputs::settings_set(request),
            inputs: request.inputs.clone(),
        },
        host,
        probes: plan.probes(),
        ..Run::default()
    }
}

/// SHA-256 of this program, hexadecimal: read once. None where it cannot read itself.
pub fn own_digest() -> Option<String> {
    static DIGEST: OnceLock<Option<String>> = OnceLock::new();
    DIGEST.get_or_init(|| digest_of(Path::new(OWN)).ok()).clone()
}

/// The target that this program was built for.
pub fn target() -> String {
    let environment = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    format!("{}-unknown-linux-{environment}", std::env::consts::ARCH)
}

/// Identity of this binary: its version, and the size and the time of its file.
pub fn binary() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata);
    let stamp = file.map(|file| format!("{} {}.{:09}", file.len(), file.mtime(), file.mtime_nsec()));
    format!("{} {}", env!("CARGO_PKG_VERSION"), stamp.unwrap_or_else(|_| "unknown".into()))
}

/// The rows of STREAM's table beside its first, which is the probe's default.
const STREAM: [plan::TableCell; 3] =
    [stream(&[("kernel", "scale")]), stream(&[("kernel", "add")]), stream(&[("kernel", "triad")])];

const CURVES: [plan::TableCell; 4] =
    [curve("memory.read"), curve("memory.write"), curve("memory.copy"), curve("memory.fill")];

const fn curve(probe: &'static str) -> plan::TableCell {
    plan::TableCell { probe, at: &[("size", EACH_POINT)] }
}

const fn stream(at: &'static [(&'static str, &'static str)]) -> plan::TableCell {
    plan::TableCell { probe: "memory.stream", at }
}

/// The plan of a request within its profile's time: the first screen, bandwidth by size and STREAM come first, the cells of lmbench's
/// tables right behind the defaults.
/// Of a table that is named its cells alone.
pub fn fitted(host: &HostFacts, request: Request, table: Option<&NamedTable>) -> Result<Plan> {
    let mut plan = match table {
        None => plan::plan(CATALOGUE, host, request)?,
        Some(table) => plan::plan_table(CATALOGUE, host, request, &cells(table, host))?,
    };
    let cells = hostmark_analysis::lmbench::cells().map(|point| plan::TableCell { probe: point.probe, at: point.at });
    let first = hostmark_analysis::constants::cases().map(|of| plan::TableCell { probe: of.probe, at: of.at });
    plan.fit(host, &first.chain(CURVES).chain(STREAM).collect::<Vec<_>>(), &cells.collect::<Vec<_>>());
    Ok(plan)
}

pub fn planned_before(run: &Run) -> Result<Plan> {
    if !is_machine(&run.host) {
        refuse!("the run is of a machine that cannot be; measure anew");
    }
    let request = Request {
        filters: run.settings.filters.clone(),
        profile: run.settings.profile,
        seed: run.settings.seed,
        set: Inputs::axes(&run.settings.set).map(|(key, value)| format!("{key}={value}")).collect(),
        inputs: run.settings.inputs.clone(),
    };
    let table = meant(run.settings.table.as_deref(), &request)?;
    fitted(&run.host, request, table)
}

/// Tells whether a machine's facts are plausible: the plan multiplies its sizes.
pub fn is_machine(host: &HostFacts) -> bool {
    let HostFacts { cpus, caches, nodes, memory, .. } = host;
    let sizes = [memory.total_bytes, memory.available_bytes, memory.page_bytes, memory.pmd_page_bytes.unwrap_or(0)];
    let of_caches = caches.iter().flat_map(|cache| [cache.size_bytes, cache.line_bytes.unwrap_or(0)]);
    let mut sizes = sizes.into_iter().chain(nodes.iter().map(|node| node.memory_bytes)).chain(of_caches);
    sizes.all(|bytes| bytes <= MOST_BYTES) && cpus.len() <= MOST_CPUS && cpus.iter().all(|cpu| cpu.id < MOST_CPUS)
}

/// A journal that a run goes on with.
pub struct Begun {
    pub kept: RunDestination,
    pub header: Header<Run>,
    pub past: Vec<PastRound>,
    /// The journal as it was named, for sentences.
    shown: String,
}

impl Begun {
    /// Opens the journal that a person named; the run goes to `out`, else to the file that it was begun for.
    pub fn open(named: &str, out: Option<RunFiles>) -> Result<Begun> {
        let path = store::find_journal(named)?;
        let shown = path.display().to_string();
        let (journal, mut header, past) = Journal::resume::<Run>(&path)
            .map_err(|error| anyhow::anyhow!("{shown} {}", crate::language::spoken(&error.message())))?;
        header.run.disturbances.extend(damaged(header.damaged));
        if !lies_beside(&header, &path) {
            refuse!("{shown} names no run file; measure anew");
        }
        let file = PathBuf::from(OsStr::from_bytes(&header.origin.file.0));
        let resume = chosen::line(&path, &header.run.settings.inputs, header.origin.elsewhere.as_ref());
        let place = match out {
            Some(mut out) => {
                header.run.name.clone_from(&out.name);
                out.journal = path;
                out
            }
            None => RunFiles::of_journal(&path, &file, &header.run)?,
        };
        Ok(Begun {
            kept: RunDestination { place: Some(place), journal: Some(journal), resume, is_lost: false },
            header,
            past,
            shown,
        })
    }

    /// Place where the run is measured; none: on this machine.
    pub fn elsewhere(&self) -> Option<&Elsewhere> {
        self.header.origin.elsewhere.as_ref()
    }

    /// Refuses unless the person has typed what the journal would have executed and written to.
    pub fn check_typed(&self, on: Option<&str>, inputs: &Inputs) -> Result<()> {
        let Header { run, origin, .. } = &self.header;
        chosen::check(
            &self.shown,
            (&run.settings.inputs, origin.elsewhere.as_ref()),
            on,
            inputs,
            self.kept.resume.as_deref(),
        )
    }

    /// Request for the other machine that measures.
    pub fn request(&self) -> RunRequest {
        let Header { run, cases, .. } = &self.header;
        let begun = BegunRun { run: run.clone(), cases: cases.clone(), rounds: self.past.len() };
        let settings = &run.settings;
        RunRequest {
            filters: settings.filters.clone(),
            profile: settings.profile,
            seed: Some(settings.seed),
            set: Vec::new(),
            table: settings.table.clone(),
            inputs: settings.inputs.clone(),
            via: Vec::new(),
            begun: Some(Box::new(begun)),
        }
    }

    /// Everything for the rest of the run, on this machine.
    pub fn ready(
        self,
        host: HostFacts,
        within: &[String],
        machine: &MeasuredMachine,
    ) -> Result<(Ready, RunDestination)> {
        let Begun { kept, header, past, shown } = self;
        match (header.run.settings.inputs.isolate.as_slice(), within) {
            (before, now) if before == now => {}
            ([], _) => refuse!("{shown} was begun outside of all layers; leave out --isolate"),
            (before, _) => {
                refuse!("{shown} was begun within layers; add --isolate {before}", before = before.join(","))
            }
        }
        if header.origin.binary != binary() {
            refuse!("{shown} was begun by another build of hostmark; go on with that one, or measure anew");
        }
        Ok((go_on(header.run, &header.cases, past, host, &shown, machine)?, kept))
    }
}

/// Prepares the rest of a run on the machine where it began. `shown` is the name that a person knows it by.
pub fn go_on(
    mut run: Run,
    cases: &[String],
    past: Vec<PastRound>,
    host: HostFacts,
    shown: &str,
    machine: &MeasuredMachine,
) -> Result<Ready> {
    if run.host.boot_id != host.boot_id {
        refuse!("{shown} was begun before this host was started anew; measure anew");
    }
    let Ok(plan) = planned_before(&run) else {
        refuse!("{shown} has a plan that this host no longer has; measure anew");
    };
    if plan.cases.len() != cases.len() || !plan.cases.iter().zip(cases).all(|(case, id)| case.id.to_string() == *id) {
        refuse!("{shown} has another plan than its settings give; measure anew");
    }
    check_command(&run.settings.inputs)?;
    let usable = host.usable_cpus();
    let mut cpus = plan.cases.iter().filter(|case| case.skip.is_none()).flat_map(|case| &case.cpus);
    if let Some(cpu) = cpus.find(|cpu| !usable.contains(cpu)) {
        refuse!("{shown} needs CPU {cpu}, which cannot be used any more; allow it, or measure anew");
    }
    let calibration = machine.clock(&host);
    let (before, now) = (&run.settings.clock.source, calibration.facts().source);
    if *before != now {
        refuse!("{shown} was timed by {before}, and this host now has {now}; measure anew");
    }
    // Planned for the host as it was, and careful with the memory that it has now.
    let host = HostFacts { memory: host.memory, limits: host.limits, ..run.host.clone() };
    let at = store::now();
    run.disturbances
        .push(words(say!("the run was cut short after {past:round} and went on at {at}", past = past.len())));
    let scratch = scratch(&run.settings.inputs);
    Ok(Ready { plan, run, host, calibration, past, scratch })
}

/// Tells whether the run's file lies beside its journal under the same name, and is no other.
fn lies_beside(header: &Header<Run>, journal: &Path) -> bool {
    let file = Path::new(OsStr::from_bytes(&header.origin.file.0));
    let mut beside = file.file_stem().unwrap_or_default().to_owned();
    beside.push(JOURNAL);
    file.file_name() == Some(file.as_os_str()) && journal.file_name() == Some(&beside)
}

/// The time of a run, of a clock that may have begun before it.
pub struct RunWall<'a> {
    pub wall: &'a dyn Wall,
    /// The time that had passed on the clock, and its delay, when the run began.
    pub before: [Duration; 2],
    /// The time that the run had used when it was cut short.
    pub used: Duration,
}

impl Wall for RunWall<'_> {
    fn elapsed(&self) -> Duration {
        self.used + self.wall.elapsed().saturating_sub(self.before[0])
    }

    fn report_delay(&self) -> Duration {
        self.wall.report_delay().saturating_sub(self.before[1])
    }
}

fn named(name: &str) -> Result<&'static NamedTable> {
    if let Some(table) = tables::table_named(name) {
        return Ok(table);
    }
    let names: Vec<&str> = tables::TABLES.iter().map(|table| table.name).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    refuse!("no table is called '{name}'; choose {names}", names = format!("{} or {last}", others.join(", ")));
}

/// The table whose cells a request means: the one of this name, or in a glance that asks for nothing else that of the first screen.
pub fn meant(name: Option<&str>, request: &Request) -> Result<Option<&'static NamedTable>> {
    let is_glance =
        request.profile == Profile::Glance && request.filters.is_empty() && request.inputs.command.is_empty();
    name.map_or(Ok(is_glance.then_some(&tables::GLANCE)), |name| named(name).map(Some))
}

pub fn cells(table: &NamedTable, host: &HostFacts) -> Vec<CaseId> {
    table.cells(host, hostmark_host::single(host).unwrap_or_default())
}

/// Refuses points in the place of those that make the table.
pub fn check_set(table: &NamedTable, host: &HostFacts, set: &[String]) -> Result<()> {
    let cells = cells(table, host);
    let is_of_table = |typed: &&String| {
        let place = typed.split('=').next().unwrap_or_default();
        let (probe, axis) = place.split_once(':').map_or((None, place), |(probe, axis)| (Some(probe), axis));
        let is_meant = |id: &str| probe.is_none_or(|probe| probe == id || id.split('.').next() == Some(probe));
        let fixed = |value: &str| value != hostmark_model::EACH_POINT;
        cells.iter().any(|cell| is_meant(&cell.probe) && cell.params.get(axis).is_some_and(fixed))
    };
    match set.iter().find(is_of_table) {
        Some(typed) => {
            refuse!("--table {table} has points of its own there; leave out --set {typed}", table = table.name)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use hostmark_model::Profile::{Glance, Quick};

    use super::*;

    #[test]
    fn a_run_whose_time_would_be_over_before_its_first_round_is_refused() {
        let checked = |profile, waited, had_ms| {
            let request = RunRequest { profile, ..RunRequest::default() };
            let (waited, had) = (Duration::from_secs(waited), Duration::from_millis(had_ms));
            check_cpu_share(&request, waited, had).map_err(|error| error.to_string())
        };
        let refused = checked(Glance, 11, 900).unwrap_err();
        assert!(refused.contains("in 10 s: before its first round this process has waited 11.0 s"), "{refused}");
        assert_eq!([checked(Glance, 1, 10), checked(Quick, 11, 900)], [Ok(()), Ok(())]);
        // It gets next to nothing: what is left at its end would take as long again.
        assert!(checked(Quick, 3, 100).unwrap_err().contains("in 60 s: "));
    }
}
