//! Group virt: what it costs to leave a guest for its hypervisor, and what the hypervisor takes.

crate::group!("virt": exit = EXIT cpuid = CPUID port = PORT timer = TIMER steal = STEAL);

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::workloads::machine::busy::Stolen;
use crate::workloads::machine::timer::Alarm;
use crate::workloads::machine::tiny_guest::{self, ExitCause, Pass, Port, TIMES, TinyGuest};

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Virtualization");

/// Probe virt.exit: from a guest into the hypervisor and back, by cause.
pub static EXIT: Probe = Probe {
    also: &[Quantity::CORE_CYCLES, Quantity::WHOLE, Quantity::OVERHEAD],
    axes: &[Axis::choice("cause", "cpuid", Points::quick(&["cpuid", "msr", "hypercall", "port", "mmio", "hlt"]))],
    needs: &[Need::Kvm],
    measure: Measure::Run(measure_exit),
    ..crate::texts::virt::EXIT
};

fn measure_exit(case: &mut Case) -> Result<()> {
    let (name, cause): (String, ExitCause) = (case.param("cause")?, case.param("cause")?);
    let unable = |error| RoundError::unable(ReasonCode::Kernel, say!("KVM here cannot do {name}"), error);
    let mut guest = TinyGuest::new(cause).map_err(unable)?;
    // Whether KVM can do both is known once it did.
    guest.pass(Pass::Empty).and_then(|()| guest.pass(Pass::Loaded)).map_err(unable)?;
    case.note("handled_in", if cause.is_for_user_space() { "user space" } else { "kernel" });
    case.note("nested", if guest.is_nested() { "yes" } else { "no" });
    let guest = std::cell::RefCell::new(guest);
    let passes = |pass, times| -> Result<()> {
        let mut guest = guest.borrow_mut();
        (0..times).try_for_each(|_| guest.pass(pass)).map_err(RoundError::from)
    };
    case.loops(|times| passes(Pass::Loaded, times)).beyond(|times| passes(Pass::Empty, times)).each(TIMES).time()
}

/// Probe virt.cpuid: cpuid inside a guest, which the hypervisor answers.
pub static CPUID: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    needs: &[Need::Guest],
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_cpuid),
    ..crate::texts::virt::CPUID
};

fn measure_cpuid(case: &mut Case) -> Result<()> {
    if tiny_guest::cpuid().is_none() {
        return Err(RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no cpuid")));
    }
    case.loops(|times| {
        for _ in 0..times {
            std::hint::black_box(tiny_guest::cpuid());
        }
    })
    .time()
}

/// Probe virt.port: a write to an I/O port inside a guest.
pub static PORT: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    needs: &[Need::Guest, Need::Root],
    measure: Measure::Run(measure_port),
    ..crate::texts::virt::PORT
};

fn measure_port(case: &mut Case) -> Result<()> {
    let port = Port::open().or_lacking(|| say!("the kernel gives no I/O port"))?;
    case.calls(|| port.write()).time()
}

/// Probe virt.timer: what it costs to set the CPU's timer, which a guest does by leaving it.
pub static TIMER: Probe = Probe {
    also: &[CALL, Quantity::P90, Quantity::P99, Quantity::MEAN],
    limit: Limit::KernelEntry,
    measure: Measure::Run(measure_timer),
    ..crate::texts::virt::TIMER
};

const CALL: Quantity = Quantity::given("call", Unit::Nanoseconds, Better::Lower, term!("the call alone"));

/// Distance of a timer that ends before the next tick of every usual rate, nine times of ten and more.
const NEXT: Duration = Duration::from_micros(100);
/// Distance of a timer that ends after everything that the kernel waits for.
const LATER: Duration = Duration::from_secs(3600);
/// Least distance of settings, ns. Settings within [`NEXT`] of a tick touch no hardware and are short: without a pace they would be many.
const PACE_NS: f64 = 60e3;

fn measure_timer(case: &mut Case) -> Result<()> {
    let (later, next) = (Alarm::new()?, Alarm::new()?);
    let mut call_ns = Vec::new();
    let mut last = None;
    case.timed(|clock| {
        let mut start = clock.start();
        while last.is_some_and(|last| clock.ns(start.since(last)) < PACE_NS) {
            start = clock.start();
        }
        last = Some(start);
        let timed = |alarm: &Alarm, ahead| -> Result<Ticks> {
            let start = clock.start();
            alarm.set(ahead)?;
            Ok(clock.end().since(start))
        };
        call_ns.push(clock.ns(timed(&later, LATER)?));
        timed(&next, NEXT)
    })
    .singly()
    .time()?;
    case.also(CALL.name, call_ns)
}

/// Probe virt.steal: the share of the CPUs' time that the hypervisor gives to others while all of them are busy.
pub static STEAL: Probe = Probe {
    unit: Unit::Ratio,
    axes: &[Axis::all_threads("threads", Points::quick(&["all"]).standard(&["1"]))],
    needs: &[Need::Guest],
    measure: Measure::Run(measure_steal),
    ..crate::texts::virt::STEAL
};

/// A round looks for so long, ns: 25 of the kernel's steps.
const WINDOW_NS: f64 = 250e6;

fn measure_steal(case: &mut Case) -> Result<()> {
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    let read = || Stolen::read(&cpus).or_lacking(|| say!("the kernel does not tell stolen time"));
    let is_reported = Stolen::read(&[]).is_ok_and(|all| all.ns > 0);
    case.note("stolen_since_boot", if is_reported { "yes" } else { "nothing" });
    let step = Stolen::STEP_NS as f64 / (WINDOW_NS * cpus.len() as f64);
    case.note("smallest_share", format!("{step:.4}"));
    let others: Vec<Cpu> = case.thread_cpus().into_iter().skip(1).collect();
    case.search(|clock| {
        let is_over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            let works = others.iter().map(|&cpu| {
                move || {
                    threads::bind(cpu)?;
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                    Ok(())
                }
            });
            let others = threads::start(scope, works)?;
            let shared = || -> Result<f64> {
                let (before, start) = (read()?, clock.start());
                while clock.ns(clock.end().since(start)) < WINDOW_NS {}
                let (after, passed_ns) = (read()?, clock.ns(clock.end().since(start)));
                Ok(after.ns.saturating_sub(before.ns) as f64 / (passed_ns * cpus.len() as f64))
            };
            let share = shared();
            is_over.store(true, Ordering::Relaxed);
            threads::join(others).and(share).map(Some)
        })
    })
}
