//! Probe ipc.io_uring: a message over a socket of which one step, send, poll or receive, is made by io_uring, beside plain calls.

use crate::workloads::network::uring_messages::{By, Messages, Step};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    axes: &[
        Axis::choice("op", "receive", Points::quick(&["receive"]).thorough(&["send", "poll"])),
        Axis::choice("by", "ring", Points::quick(&["ring", "call", "registered", "multishot"])),
        Axis::count("batch", "16", Points::quick(&["16"]).thorough(&["1", "64"])),
        Axis { points: Points::quick(&["call"]).thorough(&["polled"]), ..crate::submission::SUBMISSION },
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Thorough, axes: &["op", "by"] },
        FullFactorial { from: Profile::Thorough, axes: &["by", "batch"] },
        FullFactorial { from: Profile::Thorough, axes: &["by", "submission"] },
    ],
    limit: Limit::KernelEntry,
    core_bound: crate::submission::CORE_BOUND,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::IO_URING
};

fn measure(case: &mut Case) -> Result<()> {
    let batch: u32 = case.param("batch")?;
    let step = match case.param::<String>("op")?.as_str() {
        "send" => Step::Send,
        "poll" => Step::Poll,
        _ => Step::Receive,
    };
    let by = match case.param::<String>("by")?.as_str() {
        "call" => By::Call,
        "registered" => By::Registered,
        "multishot" if step == Step::Send => {
            return Err(RoundError::not_applicable(say!("to be sent, each message needs an entry")));
        }
        "multishot" => By::Multishot,
        _ => By::Ring,
    };
    let poller = crate::submission::poller(case, by != By::Call)?;
    let what = match by {
        By::Multishot => say!("io_uring with multishot requests is not available"),
        _ => say!("io_uring is not available"),
    };
    let mut messages = Messages::new(batch, (step, by), poller).map_err(|error| RoundError::lacking(what, &error))?;
    case.calls(|| messages.pass()).each(u64::from(batch)).time()
}
