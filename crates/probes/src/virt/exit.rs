//! Probe virt.exit: from a guest into the hypervisor and back, by cause.

use crate::workloads::machine::tiny_guest::{ExitCause, Pass, TIMES, TinyGuest};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES, Quantity::WHOLE, Quantity::OVERHEAD],
    axes: &[Axis::choice("cause", "cpuid", Points::quick(&["cpuid", "msr", "hypercall", "port", "mmio", "hlt"]))],
    needs: &[Need::Kvm],
    measure: Measure::Run(measure),
    ..crate::texts::virt::EXIT
};

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("cause")?;
    let cause = ExitCause::of_name(&name).ok_or_else(|| RoundError::internal(say!("there is no cause '{name}'")))?;
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
