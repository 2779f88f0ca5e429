//! Context switches between the two sides of a transfer: what a bandwidth pays beside its copies.

use std::cell::Cell;

use hostmark_engine::prelude::*;

use crate::workloads::machine::busy::Switches;

pub const SWITCHES: Quantity =
    Quantity::given("switches", Unit::Ratio, Better::Lower, term!("context switches per MiB"));
/// Wake-ups of the sides that slept.
pub const WAKE_UPS: Quantity = Quantity::given("wake_ups", Unit::Ratio, Better::Lower, term!("wake-ups per MiB"));

pub const MIB: f64 = (1 << 20) as f64;

/// The turns of this process, and of another one of this machine, from now on.
#[derive(Debug)]
pub struct ContextSwitches {
    other: Option<u32>,
    begun: Option<[Switches; 2]>,
    bytes: Cell<u64>,
}

impl ContextSwitches {
    /// Begins to count those of this process, and of the process `other`, which otherwise counts its own.
    pub fn begin(other: Option<u32>) -> ContextSwitches {
        ContextSwitches { other, begun: both(other), bytes: Cell::new(0) }
    }

    #[inline]
    pub fn moved(&self, bytes: u64) {
        self.bytes.set(self.bytes.get() + bytes);
    }

    /// Gives the case the turns for what was moved, where the kernel tells them.
    pub fn give(&self, case: &mut Case) -> Result<()> {
        self.give_beside(case, Switches::default())
    }

    /// The same beside what another side counted of itself.
    pub fn give_beside(&self, case: &mut Case, counted: Switches) -> Result<()> {
        let (Some(before), Some(after)) = (self.begun, both(self.other)) else { return Ok(()) };
        let sides = [after[0].since(before[0]), after[1].since(before[1]), counted];
        let each_mib = |count: u64| count as f64 * MIB / self.bytes.get().max(1) as f64;
        let wake_ups = sides.iter().map(|side| side.voluntary).sum();
        let switches = sides.iter().map(|side| side.voluntary + side.involuntary).sum();
        case.also(SWITCHES.name, [each_mib(switches)])?;
        case.also(WAKE_UPS.name, [each_mib(wake_ups)])
    }
}

fn both(other: Option<u32>) -> Option<[Switches; 2]> {
    let of_other = other.map_or(Ok(Switches::default()), |other| Switches::of(Some(other)));
    Some([Switches::of(None).ok()?, of_other.ok()?])
}
