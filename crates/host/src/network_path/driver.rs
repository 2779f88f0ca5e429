//! Driver of an interface: speed, offloads, rings, interrupts, queues (ethtool).

use std::ffi::CString;

use hostmark_model::{Channels, InterruptModeration, NetworkInterface, NetworkPath, Offloads, Rings};
use hostmark_sys::netlink::{Question, ask_driver};

use super::{Link, text};

/// ETH_FLAG_LRO of linux/ethtool.h.
const LRO: u32 = 1 << 15;
/// Drivers without an answer write all bits.
const UNKNOWN_SPEED: u32 = u32::MAX;

/// Fills in what the driver of the interface with this name tells.
pub(super) fn read(name: &str, path: &mut NetworkPath) {
    let Ok(name) = CString::new(name) else { return };
    let ask = |question| ask_driver(&name, question).ok();
    let is_on = |question| ask(question).map(|words| words[1] != 0);
    path.offloads = Offloads {
        tso: is_on(Question::Tso),
        gso: is_on(Question::Gso),
        gro: is_on(Question::Gro),
        lro: ask(Question::Flags).map(|words| words[1] & LRO != 0),
        transmit_checksum: is_on(Question::TransmitChecksum),
        receive_checksum: is_on(Question::ReceiveChecksum),
        scatter_gather: is_on(Question::ScatterGather),
    };
    if let Some(words) = ask(Question::Driver) {
        path.driver = driver(&words).or(path.driver.take());
    }
    if let Some(words) = ask(Question::Link) {
        (path.bits_per_s, path.full_duplex) = link(&words);
    }
    path.rings = ask(Question::Rings).map(|words| rings(&words));
    path.moderation = ask(Question::Moderation).map(|words| moderation(&words));
    path.channels = ask(Question::Channels).map(|words| channels(&words));
}

/// An interface with what its driver tells, where it has a device.
pub(crate) fn interface(of: Link) -> NetworkInterface {
    let Link { name, has_device, state, mtu_bytes } = of;
    let own = CString::new(name.as_str()).ok().filter(|_| has_device);
    let ask = |question| ask_driver(own.as_deref()?, question).ok();
    let driver = ask(Question::Driver).and_then(|words| driver(&words));
    // A link that is down has no speed.
    let is_up = state.as_deref() == Some("up");
    let bits_per_s = is_up.then(|| ask(Question::Link)).flatten().and_then(|words| link(&words).0);
    NetworkInterface { name, driver, bits_per_s, mtu_bytes, state }
}

/// Parses an ethtool_drvinfo: 32 bytes of name behind the question's number.
fn driver(words: &[u32]) -> Option<String> {
    let bytes: Vec<u8> = words.get(1..9)?.iter().flat_map(|word| word.to_ne_bytes()).collect();
    text(&bytes)
}

/// Parses an ethtool_link_settings: megabits a second, then a byte that is 1 where both directions share the wire's time.
fn link(words: &[u32]) -> (Option<u64>, Option<bool>) {
    let [_, megabits, ways, ..] = words else { return (None, None) };
    let speed = Some(*megabits).filter(|megabits| *megabits != 0 && *megabits != UNKNOWN_SPEED);
    let duplex = match ways.to_ne_bytes()[0] {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    };
    (speed.map(|megabits| u64::from(megabits) * 1_000_000), duplex)
}

/// Parses an ethtool_ringparam: the most of four rings, then what each has.
fn rings(words: &[u32]) -> Rings {
    let [receive_max, transmit_max, receive, transmit] = at(words, [1, 4, 5, 8]);
    Rings { receive, receive_max, transmit, transmit_max }
}

fn moderation(words: &[u32]) -> InterruptModeration {
    let [receive_us, receive_frames, transmit_us, transmit_frames] = at(words, [1, 2, 5, 6]);
    let [adaptive_receive, adaptive_transmit] = at(words, [10, 11]).map(|word| word != 0);
    InterruptModeration {
        receive_us,
        receive_frames,
        transmit_us,
        transmit_frames,
        adaptive_receive,
        adaptive_transmit,
    }
}

/// Parses an ethtool_channels: the most of four, then what there are.
fn channels(words: &[u32]) -> Channels {
    let [receive, transmit, combined] = at(words, [5, 6, 8]);
    Channels { combined, receive, transmit }
}

fn at<const N: usize>(words: &[u32], places: [usize; N]) -> [u32; N] {
    places.map(|place| words.get(place).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drivers_words_are_read_by_their_places() {
        let mut words = [0_u32; 64];
        for (word, number) in words.iter_mut().zip(100..) {
            *word = number;
        }
        assert_eq!(rings(&words), Rings { receive: 105, receive_max: 101, transmit: 108, transmit_max: 104 });
        assert_eq!(channels(&words), Channels { combined: 108, receive: 105, transmit: 106 });
        let moderated = moderation(&words);
        assert_eq!(
            (moderated.receive_us, moderated.receive_frames, moderated.transmit_us, moderated.transmit_frames),
            (101, 102, 105, 106)
        );
        assert!(moderated.adaptive_receive && moderated.adaptive_transmit);
        words[10] = 0;
        assert!(!moderation(&words).adaptive_receive && moderation(&words).adaptive_transmit);
    }

    #[test]
    fn a_speed_that_no_driver_knows_is_absent() {
        assert_eq!(link(&[0x4c, 10_000, 1]), (Some(10_000_000_000), Some(true)));
        assert_eq!(link(&[0x4c, 1000, 0]), (Some(1_000_000_000), Some(false)));
        for unknown in [0, u32::MAX] {
            assert_eq!(link(&[0x4c, unknown, 0xff]), (None, None));
        }
        assert_eq!(link(&[]), (None, None));
    }

    #[test]
    fn a_drivers_name_ends_at_its_first_zero() {
        let mut words = vec![3, u32::from_ne_bytes(*b"veth"), 0];
        words.resize(64, u32::MAX);
        assert_eq!(driver(&words).as_deref(), Some("veth"));
        assert_eq!(driver(&[3, u32::MAX]), None);
        assert_eq!(driver(&[3; 64]), None);
    }
}
