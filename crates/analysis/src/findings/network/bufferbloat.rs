//! Small requests that wait behind a bulk flow in a long queue.

use hostmark_model::{CaseRecord, Lang, Peer, Run, Unit};
use hostmark_say::say;

use super::super::evidence::{Proven, lost};
use super::super::short::{peer as short_name, short};
use super::super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use super::rate;
use crate::format::value;
use crate::network::{cases_to, peers};
use crate::texts::findings::network::bufferbloat as texts;
use crate::words;

const RATE_LATENCY: &str = "net.rate_latency";

pub(in super::super) static RULE: Rule = Rule {
    id: "net.bufferbloat",
    shown: Demonstration::Explain("net.rate_latency"),
    probes: &[RATE_LATENCY],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

/// Least delay of a request by the load, ns, and the least factor, to blame the queue.
const ADDED_NS: f64 = 5e6;
const TIMES: f64 = 3.0;

fn draw(run: &Run) -> Vec<Conclusion> {
    let of = |peer: &Peer| {
        let cases = cases_to(run, RATE_LATENCY, peer);
        let found = cases.filter_map(|case| Some((waited(case)?, case)));
        found
            .max_by(|one, other| one.0.added.total_cmp(&other.0.added))
            .map(|(waited, case)| conclude(&peer.name, &waited, case))
    };
    peers(run).filter_map(of).collect()
}

/// Times of a request, ns.
struct Waited {
    idle: f64,
    loaded: f64,
    added: f64,
}

fn waited(case: &CaseRecord) -> Option<Waited> {
    let (loaded, idle) = (Proven::of_case(case)?, Proven::also(case, "idle")?);
    let is_long = loaded.low - idle.high >= ADDED_NS && loaded.low >= idle.high * TIMES;
    is_long.then_some(Waited { idle: idle.value, loaded: loaded.value, added: loaded.value - idle.value })
}

fn conclude(peer: &str, waited: &Waited, case: &CaseRecord) -> Conclusion {
    let time = |ns: f64| value(ns, Unit::Nanoseconds, Lang::En);
    let (loaded, idle) = (time(waited.loaded), time(waited.idle));
    let flow = case.measured().and_then(|measured| Some(measured.also.get("rate")?.estimate.value()));
    let flow = flow.filter(|rate| rate.is_finite() && *rate > 0.0);
    let queue = |bytes_per_s: f64| value(waited.added / 1e9 * bytes_per_s, Unit::Bytes, Lang::En);
    let flow = match flow {
        Some(flow) => words(say!(
            ", of {flow}, fills the link: {queued} wait in its queue",
            flow = rate(flow),
            queued = queue(flow)
        )),
        None => words(say!(" fills the link")),
    };
    let text = texts::text!(peer, loaded, idle, flow);
    let peer = short_name(peer);
    let short = short(texts::short!(peer, loaded, idle));
    Conclusion { short, text, cases: vec![case.id.clone()], cost: lost(waited.loaded, waited.idle) }
}
