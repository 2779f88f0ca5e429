//! Further quantities, which a measurement yields beside its value; some of them the engine fills in.

use hostmark_model::{Better, QuantityInfo, Text, Unit};

/// A further quantity that the same measurement yields.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    pub name: &'static str,
    pub unit: Unit,
    pub better: Better,
    pub title: Text,
    pub source: ValueSource,
}

/// Source of a further quantity's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSource {
    /// The probe gives them in each round, by [`Case::also`] or by how it measures (what was subtracted, batches).
    ///
    /// [`Case::also`]: crate::case::Case::also
    Probe,
    /// The engine makes them of the value and the core's frequency beside it: a time in cycles of the core.
    CoreCycles,
    /// The same of a rate: so much in a cycle of the core.
    EachCoreCycle,
    /// The engine takes them from the histogram of single operations.
    Percentile,
    /// The engine takes the mean of all operations of the round whose median is the case's, as the percentiles.
    Mean,
    /// The engine takes the rate over all operations of all rounds, stalls included.
    Sustained,
}

impl Quantity {
    /// The value in cycles of the core's own clock beside it: the engine fills it in.
    pub const CORE_CYCLES: Quantity =
        Quantity::new("cycles", Unit::CoreCycles, Better::Lower, term!("core cycles"), ValueSource::CoreCycles);
    /// The value in ticks of the CPU's counter, which on most machines has one rate whatever the core's clock does. Filled in
    /// for operations that are measured in batches, as [`Quantity::BATCH_CYCLES`].
    pub const REFERENCE_CYCLES: Quantity =
        Quantity::given("reference_cycles", Unit::ReferenceCycles, Better::Lower, term!("reference cycles"));
    /// The same of a batch of ten thousand operations.
    pub const BATCH_CYCLES: Quantity =
        Quantity::given("batch_cycles", Unit::ReferenceCycles, Better::Lower, term!("reference cycles of 10,000"));
    /// Quantities of a probe whose operations are timed in batches.
    pub const OF_BATCHES: &[Quantity] = &[Self::CORE_CYCLES, Self::REFERENCE_CYCLES, Self::BATCH_CYCLES];
    /// A rate over the core's frequency beside it: the engine fills it in.
    pub const BYTES_PER_CYCLE: Quantity = Quantity::new(
        "bytes_per_cycle",
        Unit::Ratio,
        Better::Higher,
        term!("bytes per core cycle"),
        ValueSource::EachCoreCycle,
    );
    /// Time with the overhead in it, of a probe that measures what is left beyond another body.
    pub const WHOLE: Quantity = Quantity::given("whole", Unit::Nanoseconds, Better::Lower, term!("raw"));
    /// Overhead that was taken away, of a probe that measures what is left beyond another body.
    pub const OVERHEAD: Quantity =
        Quantity::given("overhead", Unit::Nanoseconds, Better::Lower, term!("of which overhead"));
    /// The time that half of the operations do not exceed. As the other percentiles it is filled in by the engine for
    /// probes whose operations are timed singly, where at least ten operations lie beyond it.
    pub const P50: Quantity = Quantity::percentile("p50", term!("p50"));
    /// The time that 90 % of the operations do not exceed.
    pub const P90: Quantity = Quantity::percentile("p90", term!("p90"));
    /// The time that 99 % of the operations do not exceed.
    pub const P99: Quantity = Quantity::percentile("p99", term!("p99"));
    /// The time that 99.9 % of the operations do not exceed.
    pub const P999: Quantity = Quantity::percentile("p999", term!("p99.9"));

    /// The mean of the middle round's operations: what their median hides, as a stall after a burst, is in it. Filled in by the
    /// engine, as [`Quantity::SUSTAINED`], for probes that measure times or rates.
    pub const MEAN: Quantity =
        Quantity::new("mean", Unit::Nanoseconds, Better::Lower, term!("mean"), ValueSource::Mean);
    /// Operations a second over all of a round's samples, stalls included.
    pub const SUSTAINED: Quantity = Quantity::new(
        "sustained",
        Unit::OperationsPerSecond,
        Better::Higher,
        term!("sustained rate"),
        ValueSource::Sustained,
    );
    /// The same in bytes, of a probe whose value is a rate of bytes.
    pub const SUSTAINED_BYTES: Quantity = Quantity { unit: Unit::BytesPerSecond, ..Quantity::SUSTAINED };

    /// Rate at which requests are due where they do not wait for each other (an open loop).
    pub const REQUESTS_DUE: Quantity =
        Quantity::given("rate", Unit::OperationsPerSecond, Better::Neither, term!("requests due"));

    /// Share of a case's disk requests that the lowest device below its filesystem did; a cache above it did the rest.
    pub const DEVICE_SHARE: Quantity =
        Quantity::given("device_share", Unit::Ratio, Better::Neither, term!("share that reached the device"));

    const fn new(name: &'static str, unit: Unit, better: Better, title: Text, source: ValueSource) -> Quantity {
        Quantity { name, unit, better, title, source }
    }

    /// A quantity of which the probe gives the values.
    pub const fn given(name: &'static str, unit: Unit, better: Better, title: Text) -> Quantity {
        Quantity::new(name, unit, better, title, ValueSource::Probe)
    }

    const fn percentile(name: &'static str, title: Text) -> Quantity {
        Quantity::new(name, Unit::Nanoseconds, Better::Lower, title, ValueSource::Percentile)
    }

    /// A rate over the core's frequency beside it: the engine fills it in.
    pub const OPERATIONS_PER_CYCLE: Quantity = Quantity::new(
        "operations_per_cycle",
        Unit::Ratio,
        Better::Higher,
        term!("operations per core cycle"),
        ValueSource::EachCoreCycle,
    );

    /// Tells whether a round gives its values under this name: the probe does, or the engine for the round as a whole.
    pub(crate) fn is_given_as(&self, name: &str) -> bool {
        self.name == name && matches!(self.source, ValueSource::Probe | ValueSource::Mean | ValueSource::Sustained)
    }

    pub(crate) fn info(&self) -> QuantityInfo {
        let title = self.title.to_owned_text();
        QuantityInfo { name: self.name.into(), unit: self.unit, better: self.better, title }
    }
}
