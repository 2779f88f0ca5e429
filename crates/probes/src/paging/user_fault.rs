//! Probe paging.user_fault: a page fault that another thread of the process serves (userfaultfd).

use crate::workloads::mappings::protection::{Becomes, ServedMemory};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::P50, Quantity::P99, Quantity::MEAN],
    axes: &[
        Axis::placements(
            "cpus",
            "same_cpu",
            Points::quick(&["same_cpu"]).standard(&["same_cache"]).thorough(&[
                "smt_sibling",
                "other_cache",
                "same_package_other_node",
                "other_node",
            ]),
        ),
        Axis::choice("by", "copy", Points::quick(&["copy"]).standard(&["zeros"])),
        Axis::count("server_delay_us", "none", Points::quick(&["none"]).thorough(&["100"])),
    ],
    limit: Limit::HandOvers(2),
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::paging::USER_FAULT
};

/// Pages that fault before all are given back.
const PAGES: usize = 64;

fn measure(case: &mut Case) -> Result<()> {
    let becomes = if case.param::<String>("by")? == "zeros" { Becomes::Zeros } else { Becomes::Copy };
    let delay_ns = match case.param::<String>("server_delay_us")?.as_str() {
        "none" => 0,
        delay_us => delay_us.parse::<u64>()?.saturating_mul(1000),
    };
    let there = case.thread_cpus().last().copied();
    case.may_fill(((PAGES + 1) * Pages::Base.bytes()) as u64)?;
    let (memory, server) =
        ServedMemory::new(PAGES).map_err(|error| RoundError::lacking(say!("userfaultfd is not available"), &error))?;
    let (mut page, mut faults) = (PAGES, PAGES as u64);
    let measured = std::thread::scope(|scope| {
        let serve = move || {
            there.map_or(Ok(()), threads::bind)?;
            Ok(server.serve(becomes, delay_ns)?)
        };
        let serving = threads::start(scope, [serve])?;
        (0..PAGES).for_each(|page| memory.touch(page));
        let measured = case
            .timed(|clock| {
                if page == PAGES {
                    memory.give_back()?;
                    page = 0;
                }
                let start = clock.start();
                memory.touch(page);
                let took = clock.end().since(start);
                (page, faults) = (page + 1, faults + 1);
                Ok(took)
            })
            .singly()
            .time();
        memory.end();
        Ok::<_, RoundError>((threads::join(serving)?, measured))
    });
    let (served, measured) = measured?;
    measured?;
    match served.iter().sum::<u64>() {
        served if served == faults => Ok(()),
        served => {
            let text = say!("{faults} pages were touched, and {served} faults served");
            Err(RoundError::wrong(text))
        }
    }
}
