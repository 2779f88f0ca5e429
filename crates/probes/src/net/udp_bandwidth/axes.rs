//! The axes of a flow, and what they say.

use crate::workloads::network::datagrams::{DatagramPlan, HEADER_BYTES};
use hostmark_engine::prelude::*;

/// What the length of an IPv4 packet leaves beside its header and UDP's (RFC 768, RFC 791).
const LONGEST_DATAGRAM: usize = 65535 - 20 - 8;

/// Who sends: the far end, or the case.
pub const DIRECTION: Axis =
    Axis::choice("direction", "receive", Points::Listed { quick: &["receive"], standard: &["send"], thorough: &[] })
        .of_links();
/// Megabits (10^6) of datagrams a second that are sent at most.
pub const RATE: Axis =
    Axis::count("rate_mbit", "max", Points::Listed { quick: &["max"], standard: &["100"], thorough: &["10", "1000"] });
/// Who cuts what is sent into datagrams: the sender, or the kernel.
pub const SEGMENTATION: Axis =
    Axis::choice("segmentation", "none", Points::Listed { quick: &["none"], standard: &["gso"], thorough: &[] });

/// Who sends, and how, where `param` tells the value of an axis.
pub fn flow(param: impl Fn(&str) -> Result<String>) -> Result<(bool, DatagramPlan)> {
    let wrong =
        |axis: &Axis| RoundError::failed(ReasonCode::Internal, say!("there is no such {name}", name = axis.name));
    let datagram = param("datagram")?.parse()?;
    if datagram < HEADER_BYTES {
        return Err(RoundError::skipped(
            ReasonCode::NotApplicable,
            say!("a datagram holds its number and its time, 16 bytes"),
        ));
    }
    if datagram > LONGEST_DATAGRAM {
        return Err(RoundError::skipped(ReasonCode::NotApplicable, say!("a datagram holds 65507 bytes at most")));
    }
    let bits_a_second = match param(RATE.name)?.as_str() {
        "max" => None,
        megabits => Some(megabits.parse::<f64>()? * 1e6),
    };
    let is_cut = match param(SEGMENTATION.name)?.as_str() {
        "none" => false,
        "gso" => true,
        _ => return Err(wrong(&SEGMENTATION)),
    };
    let case_sends = match param(DIRECTION.name)?.as_str() {
        "receive" => false,
        "send" => true,
        _ => return Err(wrong(&DIRECTION)),
    };
    Ok((case_sends, DatagramPlan { datagram, bits_a_second, is_cut }))
}
