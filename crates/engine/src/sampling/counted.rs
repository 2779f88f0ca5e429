//! Performance counters beside a value: after a round's samples its loop runs again under them, untimed.

use std::collections::BTreeMap;
use std::io;

use hostmark_host::{CorePmu, EnergyMeter, NamedEvent, NoEnergy, Root};
use hostmark_model::{Better, Text, Unit, errno_name};

use crate::quantity::Quantity;
use crate::round_error::Result;
use crate::sampling::sampler::{Body, short_of};
use crate::sys::call::errno;
use crate::sys::perf_event::{PerfEvent, PerfGroup};
use crate::texts::sampling::uncounted as texts;

/// Groups whose values are the hardware's: their disturbed samples leave the estimate, and what the kernel does meanwhile is not counted.
pub(crate) const HARDWARE_GROUPS: [&str; 2] = ["cpu", "memory"];

const fn per_operation(name: &'static str, title: Text) -> Quantity {
    Quantity::given(name, Unit::Ratio, Better::Lower, title)
}

const CYCLES: Quantity = per_operation("counted_cycles", term!("cycles as counted"));
const INSTRUCTIONS: Quantity = per_operation("instructions", term!("instructions"));
const IPC: Quantity =
    Quantity::given("instructions_per_cycle", Unit::Ratio, Better::Neither, term!("instructions per cycle"));
const BRANCH_MISSES: Quantity = per_operation("branch_misses", term!("branch misses"));
const FRONTEND_STALLS: Quantity = per_operation("frontend_stalls", term!("front-end stall cycles"));
const BACKEND_STALLS: Quantity = per_operation("backend_stalls", term!("back-end stall cycles"));
const L1D_MISSES: Quantity = per_operation("l1d_misses", term!("L1d read misses"));
const LLC_MISSES: Quantity = per_operation("llc_misses", term!("last-level cache read misses"));
const DTLB_MISSES: Quantity = per_operation("dtlb_misses", term!("dTLB read misses"));
const PAGE_FAULTS: Quantity = per_operation("page_faults", term!("page faults"));
const SWITCHES: Quantity = per_operation("context_switches", term!("context switches"));
const MIGRATIONS: Quantity = per_operation("migrations", term!("migrations"));
const ENERGY: Quantity =
    Quantity::given("package_energy", Unit::Joules, Better::Lower, term!("energy of the whole package"));

const fn of_slots(name: &'static str, title: Text) -> Quantity {
    Quantity::given(name, Unit::Ratio, Better::Neither, title)
}

const TOP_DOWN: [Quantity; 4] = [
    of_slots("slots_retiring", term!("share of slots that retire")),
    of_slots("slots_bad_speculation", term!("share of slots lost to wrong guesses")),
    of_slots("slots_frontend_bound", term!("share of slots that the front end left empty")),
    of_slots("slots_backend_bound", term!("share of slots that the back end held up")),
];
/// Kernel names of the top-down events, where it has them: each counts slots, of which the first are all.
const TOP_DOWN_EVENTS: [&str; 5] =
    ["slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"];
/// Shares of all slots whose sum lies further from 1 than this are none.
const SLOTS_ASTRAY: f64 = 0.03;

/// Groups of events that are counted at the same time. Counters of the processor are few: more of them would take turns.
const GROUPS: [&[(Quantity, PerfEvent)]; 8] = [
    &[(CYCLES, PerfEvent::CYCLES), (INSTRUCTIONS, PerfEvent::INSTRUCTIONS)],
    &[
        (PAGE_FAULTS, PerfEvent::PAGE_FAULTS),
        (SWITCHES, PerfEvent::CONTEXT_SWITCHES),
        (MIGRATIONS, PerfEvent::MIGRATIONS),
    ],
    &[(BRANCH_MISSES, PerfEvent::BRANCH_MISSES)],
    &[(L1D_MISSES, PerfEvent::L1D_MISSES)],
    &[(LLC_MISSES, PerfEvent::LLC_MISSES)],
    &[(DTLB_MISSES, PerfEvent::DTLB_MISSES)],
    &[(FRONTEND_STALLS, PerfEvent::FRONTEND_STALLS)],
    &[(BACKEND_STALLS, PerfEvent::BACKEND_STALLS)],
];

/// All that a run with counters may say beside a value of any probe.
pub(crate) const QUANTITIES: [Quantity; 17] = [
    CYCLES,
    INSTRUCTIONS,
    IPC,
    BRANCH_MISSES,
    FRONTEND_STALLS,
    BACKEND_STALLS,
    L1D_MISSES,
    LLC_MISSES,
    DTLB_MISSES,
    PAGE_FAULTS,
    SWITCHES,
    MIGRATIONS,
    TOP_DOWN[0],
    TOP_DOWN[1],
    TOP_DOWN[2],
    TOP_DOWN[3],
    ENERGY,
];

/// Values by the quantity's name; those of counters are of one iteration.
pub(crate) type Counted = BTreeMap<&'static str, f64>;

/// Does some work under counters, and says how much each grew; none where there is no such counter.
pub(crate) type Count<'a> = dyn FnMut(&[PerfEvent], &mut dyn FnMut() -> Result<()>) -> Result<Option<Vec<u64>>> + 'a;

/// Runs `work` under the kernel's counters of this thread.
pub(crate) fn by_kernel(events: &[PerfEvent], work: &mut dyn FnMut() -> Result<()>) -> Result<Option<Vec<u64>>> {
    let Ok(group) = PerfGroup::open(events) else { return Ok(None) };
    let (done, grown) = group.count(work);
    done.map(|()| grown)
}

pub(crate) struct Wanted<'a> {
    /// Root of the tree in which the kernel names some.
    pub root: &'a Root,
    /// PMU of the core that the thread runs on.
    pub pmu: Option<CorePmu>,
    /// True where the kernel's work is a part of the measured one.
    pub in_kernel: bool,
}

/// Counts what an iteration of a body does, as long as there is time.
pub(crate) fn count(
    wanted: &Wanted,
    iterations: u64,
    body: &mut Body<'_>,
    counter: &mut Count<'_>,
    has_time: &dyn Fn() -> bool,
) -> Result<Counted> {
    let mut counted = Counted::new();
    for group in GROUPS.iter().take_while(|_| has_time()) {
        let events: Vec<PerfEvent> = group.iter().map(|(_, event)| wanted.event(*event)).collect();
        let values = of_an_iteration(&events, iterations, body, counter)?;
        let named = group.iter().map(|(quantity, _)| quantity.name);
        counted.extend(named.zip(values.into_iter().flatten()));
    }
    if has_time()
        && let Some(events) = wanted.top_down()
    {
        let slots = of_an_iteration(&events, iterations, body, counter)?;
        counted.extend(slots.into_iter().flat_map(|slots| shares(&slots)));
    }
    if let (Some(instructions), Some(cycles)) = (counted.get(INSTRUCTIONS.name), counted.get(CYCLES.name))
        && *cycles > 0.0
    {
        counted.insert(IPC.name, instructions / cycles);
    }
    Ok(counted)
}

/// Divides the counts of an iteration of `times` operations to those of one. Shares stay as they are.
pub(crate) fn share(counted: &mut Counted, times: u64) {
    let is_share = |name: &str| name == IPC.name || TOP_DOWN.iter().any(|share| share.name == name);
    counted.iter_mut().filter(|(name, _)| !is_share(name)).for_each(|(_, value)| *value /= times as f64);
}

impl Wanted<'_> {
    /// A counter of this core, as far as that is allowed to see.
    pub(crate) fn event(&self, event: PerfEvent) -> PerfEvent {
        let is_software = event == event.of_device(1);
        let event = match &self.pmu {
            Some(pmu) if pmu.is_one_of_several => event.of_device(pmu.number),
            _ => event,
        };
        // What the kernel counts itself happens in it.
        PerfEvent { in_kernel: is_software || self.in_kernel, ..event }
    }

    fn top_down(&self) -> Option<Vec<PerfEvent>> {
        let pmu = self.pmu.as_ref()?;
        let event = |name: &&str| {
            let NamedEvent { kind, config } = pmu.event(self.root, name)?;
            Some(PerfEvent { kind, config, in_kernel: self.in_kernel })
        };
        TOP_DOWN_EVENTS.iter().map(event).collect()
    }
}

/// Returns each counter's growth in an iteration, by two lengths, so that switching the counters is in neither; none below zero.
fn of_an_iteration(
    events: &[PerfEvent],
    iterations: u64,
    body: &mut Body<'_>,
    counter: &mut Count<'_>,
) -> Result<Option<Vec<f64>>> {
    let short = short_of(iterations);
    // Both go the same way, so that it is in neither.
    let mut of = |n: u64| counter(events, &mut || if n > 0 { body(n) } else { Ok(()) });
    let Some((long_grown, short_grown)) = of(iterations)?.zip(of(short)?) else { return Ok(None) };
    let difference = |(long, short): (u64, u64)| long.saturating_sub(short) as f64;
    let pairs = long_grown.into_iter().zip(short_grown);
    Ok(Some(pairs.map(|pair| difference(pair) / (iterations - short) as f64).collect()))
}

fn shares(slots: &[f64]) -> Vec<(&'static str, f64)> {
    let [all, parts @ ..] = slots else { return Vec::new() };
    let shares: Vec<f64> = parts.iter().map(|part| part / all).collect();
    match (shares.iter().sum::<f64>() - 1.0).abs() < SLOTS_ASTRAY {
        true => TOP_DOWN.iter().map(|share| share.name).zip(shares).collect(),
        false => Vec::new(),
    }
}

/// A package's counter of energy has moved so often at least: both ends of what is counted lie at such a move.
const LEAST_MOVES: u32 = 20;

/// The energy of an iteration, between two moves of the counter, which moves once a millisecond. None in too little time.
pub(crate) fn energy(
    meter: &EnergyMeter,
    iterations: u64,
    body: &mut Body<'_>,
    has_time: &dyn Fn() -> bool,
) -> Result<Counted> {
    let Some(mut last) = meter.read_uj() else { return Ok(Counted::new()) };
    let (mut begun, mut moves, mut since, mut done, mut used_uj) = (false, 0, 0, 0, 0);
    while has_time() {
        body(iterations)?;
        since += iterations;
        let Some(now) = meter.read_uj().filter(|now| *now != last) else { continue };
        if begun {
            let Some(used) = meter.used_uj(last, now) else { return Ok(Counted::new()) };
            (moves, done, used_uj) = (moves + 1, done + since, used_uj + used);
        }
        (begun, last, since) = (true, now, 0);
    }
    let joules = (moves >= LEAST_MOVES).then(|| used_uj as f64 * 1e-6 / done as f64);
    Ok(joules.map(|joules| (ENERGY.name, joules)).into_iter().collect())
}

/// Returns what a run with counters has to do without on this CPU, and why.
pub fn missing(root: &Root, cpu: usize) -> Vec<Text<String>> {
    of(root, cpu, &|event| PerfGroup::open(&[event]).err())
}

fn of(root: &Root, cpu: usize, refused: &dyn Fn(PerfEvent) -> Option<io::Error>) -> Vec<Text<String>> {
    let wanted = Wanted { root, pmu: CorePmu::of_cpu(root, cpu), in_kernel: true };
    let hardware = wanted.event(PerfEvent::CYCLES);
    let of_programs = refused(PerfEvent { in_kernel: false, ..hardware });
    let of_kernel = || refused(hardware).map(|error| (OF_KERNEL, error));
    let of_hardware = of_programs.map(|error| (OF_HARDWARE, error)).or_else(of_kernel);
    let of_software = refused(PerfEvent::PAGE_FAULTS).map(|error| (OF_SOFTWARE, error));
    let refusals = of_hardware.into_iter().chain(of_software).map(|(what, error)| untold(what, &error));
    refusals.chain(EnergyMeter::of_cpu(root, cpu).err().map(|why| no_energy(&why))).collect()
}

const OF_HARDWARE: Text = term!("no counters of the processor");
const OF_KERNEL: Text = term!("no counters of the processor outside the groups cpu and memory");
const OF_SOFTWARE: Text = term!("no counters of the kernel");

fn untold(what: Text, error: &io::Error) -> Text<String> {
    let why = match errno(error).and_then(errno_name) {
        Some("ENOENT" | "EOPNOTSUPP" | "ENODEV") => {
            term!("the machine shows none; a hypervisor can give its guests some (a virtual PMU)").to_owned_text()
        }
        // What the kernel's own level forbids it calls so; filters of system calls say the other.
        Some("EACCES") => term!("kernel.perf_event_paranoid forbids it; set it to 1, or run as root").to_owned_text(),
        Some("EPERM") => {
            term!("a filter of system calls forbids perf_event_open, as container engines do; run outside, or allow it")
                .to_owned_text()
        }
        Some("ENOSYS") => term!("this kernel has no perf_event_open").to_owned_text(),
        _ => Text { en: error.to_string(), zh: error.to_string() },
    };
    Text { en: format!("{}: {}", what.en, why.en), zh: format!("{}：{}", what.zh, why.zh) }
}

fn no_energy(why: &NoEnergy) -> Text<String> {
    match why {
        NoEnergy::Untold => {
            term!("no energy: the machine shows no counter of it (RAPL), as most guests of hypervisors").to_owned_text()
        }
        NoEnergy::Forbidden(path) => texts::no_energy!(path),
    }
}

#[cfg(test)]
#[path = "counted_tests.rs"]
mod tests;
