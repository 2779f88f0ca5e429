//! Limits of the link to another host, from the facts of both ends and the measurements between them.

pub(super) mod both_ways;
pub(super) mod bufferbloat;
pub(super) mod cpu;
pub(super) mod full;
pub(super) mod loss;
pub(super) mod path_mtu;
pub(super) mod rate_limit;
pub(super) mod window;

use hostmark_model::{Lang, Text, Unit};
use hostmark_say::say;

use super::evidence::Proven;
use super::short::peer;
use crate::format::value;
use crate::network::{Capacity, Direction, LinkDirection};
use crate::words;

/// The probe that all but one of these rules read.
const TCP: &str = "net.tcp_bandwidth";
/// A rate within this share of what is possible is all that is possible.
const CLOSE: f64 = 0.05;

/// `TCP to db-18`, `TCP from db-18`.
fn way(flow: &LinkDirection) -> Text<String> {
    let name = &flow.peer.name;
    match flow.direction {
        Direction::Send => words(say!("TCP to {name}")),
        Direction::Receive => words(say!("TCP from {name}")),
    }
}

/// The same with room for figures beside it in a line.
fn way_in_short(flow: &LinkDirection) -> Text<String> {
    let peer = peer(&flow.peer.name);
    match flow.direction {
        Direction::Send => words(say!("TCP to {peer}")),
        Direction::Receive => words(say!("TCP from {peer}")),
    }
}

/// `eth0`, `eth0 of db-18`.
fn place(flow: &LinkDirection, capacity: &Capacity) -> Text<String> {
    let interface = capacity.interface.as_deref().unwrap_or("?");
    match capacity.is_far {
        false => words(say!("{interface}")),
        true => words(say!("{interface} of {name}", name = flow.peer.name)),
    }
}

fn rate(bytes_per_s: f64) -> String {
    value(bytes_per_s, Unit::BytesPerSecond, Lang::En)
}

/// Proven rate of the fastest case.
fn proven(flow: &LinkDirection) -> Option<Proven> {
    Proven::of_case(flow.fastest?)
}

/// A further quantity of the fastest case.
fn also(flow: &LinkDirection, name: &str) -> Option<Proven> {
    Proven::also(flow.fastest?, name)
}

/// Tells whether a rate is proven to be all that is possible.
fn reaches(rate: Proven, possible: f64) -> bool {
    rate.low >= possible * (1.0 - CLOSE)
}

/// Tells whether it is proven to be less.
fn falls_short(rate: Proven, possible: f64) -> bool {
    rate.high < possible * (1.0 - CLOSE)
}

/// The case that a conclusion on a flow stands on.
fn cases(flow: &LinkDirection) -> Vec<String> {
    flow.fastest.iter().map(|case| case.id.clone()).collect()
}
