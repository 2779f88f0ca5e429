//! Probe process.fork_resident: what a fork costs by the memory that the parent has resident.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[STANDSTILL],
    axes: &[
        Axis::size(
            "resident",
            "67108864",
            Points::quick(&["67108864"])
                .standard(&["4096", "4194304", "16777216", "268435456", "1073741824"])
                .thorough(&["1048576", "134217728", "536870912"]),
        ),
        Axis::choice("page", "base", Points::quick(&["base"]).standard(&["pmd"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["resident", "page"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::process::FORK_RESIDENT
};

const STANDSTILL: Quantity =
    Quantity::given("call", Unit::Nanoseconds, Better::Lower, term!("fork() blocks the parent"));

fn measure(case: &mut Case) -> Result<()> {
    let pages = match case.param::<String>("page")?.as_str() {
        "pmd" => case.may_have_huge_pages().map(|()| Pages::Pmd)?,
        _ => Pages::Base,
    };
    let resident = case.param("resident")?;
    let _resident = case.buffer(resident, pages, None)?;
    let _left_out = super::small_parent(case);
    let mut calls_ns = Vec::new();
    case.timed(|clock| {
        let start = clock.start();
        let child = workloads::processes::program::forked()?;
        let made = clock.end();
        child.wait()?;
        let ended = clock.end();
        calls_ns.push(clock.ns(made.since(start)));
        Ok(ended.since(start))
    })
    .time()?;
    // The first was thrown away with its sample.
    case.also(STANDSTILL.name, calls_ns.into_iter().skip(1))
}
