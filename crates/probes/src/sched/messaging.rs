//! Probe sched.messaging: many processes that all send to one another.

use crate::workloads::handover::token_ring::{Crowd, Gathered, MessageChannel};
use crate::workloads::processes::program;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    axes: &[
        Axis::count("groups", "1", Points::quick(&["1"]).standard(&["4", "10"]).thorough(&["20"])),
        Axis::choice("channel", "socket", Points::quick(&["socket"]).standard(&["pipe"])),
        Axis::placements("cpus", "free", Points::quick(&["free"]).standard(&["same_cpu"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["groups", "channel", "cpus"] }],
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::sched::MESSAGING
};

fn measure(case: &mut Case) -> Result<()> {
    let channel = match case.param::<String>("channel")?.as_str() {
        "pipe" => MessageChannel::Pipe,
        _ => MessageChannel::Socket,
    };
    let crowd = Crowd { groups: case.param("groups")?, senders: 20, messages: 100, bytes: 100, channel };
    let members = crowd.groups as u64 * 2 * crowd.senders as u64;
    case.may_fill(members * program::LEAST_BYTES)?;
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    let gathered = Gathered::new(crowd, &cpus)
        .map_err(|error| RoundError::lacking(say!("cannot start so many processes"), &error))?;
    case.calls(|| gathered.burst()).each(crowd.total()).time()
}
