//! Probe net.open_loop: round trips that begin when they are due, whether or not the last one is over.

mod carriers;
mod requests;

use carriers::{Datagrams, StreamCarrier};
use hostmark_engine::prelude::*;
use requests::RequestPlan;

use super::udp::questions::LOST;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, Quantity::REQUESTS_DUE, LOST],
    related: &["net.tcp", "net.udp", "sched.wakeup", "sched.noise"],
    axes: &[
        Axis::count("load", "50", Points::Listed { quick: &["50"], standard: &["10", "80"], thorough: &[] }),
        Axis::choice("protocol", "tcp", Points::Listed { quick: &["tcp"], standard: &["udp"], thorough: &[] }),
        Axis::count("outstanding", "1", Points::Listed { quick: &["1"], standard: &["64"], thorough: &["8"] }),
        Axis::count("rate", "auto", Points::Listed { quick: &["auto"], standard: &[], thorough: &[] }),
        Axis::placements(
            "cpus",
            "same_cache",
            Points::Listed {
                quick: &["same_cache"],
                standard: &["smt_sibling", "other_cache", "same_package_other_node", "other_node"],
                thorough: &[],
            },
        ),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["load", "protocol"] },
        FullFactorial { from: Profile::Thorough, axes: &["protocol", "outstanding"] },
    ],
    blocking: true,
    needs: &[Need::Cpus(2)],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &ECHO, measure },
    ..crate::texts::net::OPEN_LOOP
};

/// Sends back what comes.
static ECHO: Service = Service { name: "echo", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    match serving.param::<String>("protocol")?.as_str() {
        "udp" => super::udp::serve(serving),
        _ => super::tcp::serve(serving),
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let plan = RequestPlan {
        outstanding: case.param("outstanding")?,
        load: case.param::<f64>("load")? / 100.0,
        fixed: case.param::<String>("rate")?.parse().ok(),
        grant_ns: case.grant_ns(),
    };
    let (rate, lost) = match case.param::<String>("protocol")?.as_str() {
        "udp" => plan.measure::<Datagrams>(case)?,
        _ => plan.measure::<StreamCarrier>(case)?,
    };
    case.also(LOST.name, lost)?;
    case.also(Quantity::REQUESTS_DUE.name, [rate])
}
