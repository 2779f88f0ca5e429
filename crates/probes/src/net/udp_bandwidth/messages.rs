//! What the two ends of a flow tell each other beside it: each may be lost, and is asked for again.

use crate::workloads::network::datagrams::{NO_NUMBER, Sent};

use super::quantities::Received;

/// Bytes of each.
pub const MESSAGE_BYTES: usize = 8 * WORDS;
const WORDS: usize = 10;
/// Words of an account.
pub const NUMBERS: usize = WORDS - 2;

/// A message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Message {
    /// The far end is to send.
    Begin,
    /// It is to send no more, and to tell what became of this flow.
    Ask(u64),
    /// What became of a flow.
    Account(u64, [u64; NUMBERS]),
}

const BEGIN: u64 = 1 << 56;
const ASK: u64 = 2 << 56;
const ACCOUNT: u64 = 3 << 56;
const KINDS: u64 = 0xff << 56;

impl Message {
    /// As a datagram.
    pub fn bytes(self) -> [u8; MESSAGE_BYTES] {
        let (kind, numbers) = match self {
            Message::Begin => (BEGIN, [0; NUMBERS]),
            Message::Ask(flow) => (ASK | flow, [0; NUMBERS]),
            Message::Account(flow, numbers) => (ACCOUNT | flow, numbers),
        };
        let mut bytes = [0; MESSAGE_BYTES];
        let words = [NO_NUMBER, kind].into_iter().chain(numbers);
        bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        bytes
    }

    /// What a datagram says; none where it is no message.
    pub fn read(bytes: &[u8]) -> Option<Message> {
        let bytes: &[u8; MESSAGE_BYTES] = bytes.try_into().ok()?;
        let word = |index: usize| bytes.as_chunks().0.get(index).map_or(0, |&word| u64::from_le_bytes(word));
        if word(0) != NO_NUMBER {
            return None;
        }
        let flow = word(1) & !KINDS;
        match word(1) & KINDS {
            BEGIN => Some(Message::Begin),
            ASK => Some(Message::Ask(flow)),
            ACCOUNT => Some(Message::Account(flow, std::array::from_fn(|index| word(index + 2)))),
            _ => None,
        }
    }

    /// The account of a receiver.
    pub fn of_received(flow: u64, report: Received) -> Message {
        let Received { datagrams, span_ns, jitter_ns, reordered, cpu_ns, most_joined, dropped, counted } = report;
        Message::Account(flow, [datagrams, span_ns, jitter_ns, reordered, cpu_ns, most_joined, dropped, counted])
    }

    /// The account of a sender, and the largest packet that it knows of on the way.
    pub fn of_sent(flow: u64, report: Sent, path_mtu: u32) -> Message {
        let Sent { datagrams, passed_ns, blocked_ns, cpu_ns } = report;
        Message::Account(flow, [datagrams, passed_ns, blocked_ns, cpu_ns, path_mtu.into(), 0, 0, 0])
    }
}

/// What a receiver told.
pub fn received(numbers: [u64; NUMBERS]) -> Received {
    let [datagrams, span_ns, jitter_ns, reordered, cpu_ns, most_joined, dropped, counted] = numbers;
    Received { datagrams, span_ns, jitter_ns, reordered, cpu_ns, most_joined, dropped, counted }
}

/// What a sender told, with the largest packet that it knows of on the way.
pub fn sent(numbers: [u64; NUMBERS]) -> (Sent, u32) {
    let [datagrams, passed_ns, blocked_ns, cpu_ns, path_mtu, ..] = numbers;
    (Sent { datagrams, passed_ns, blocked_ns, cpu_ns }, u32::try_from(path_mtu).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_nothing_else_is_one() {
        let account = Message::of_sent(7, Sent { datagrams: 1, passed_ns: 2, blocked_ns: 3, cpu_ns: 4 }, 1500);
        for message in [Message::Begin, Message::Ask(9), account] {
            assert_eq!(Message::read(&message.bytes()), Some(message));
        }
        let Message::Account(7, numbers) = account else { panic!("{account:?}") };
        assert_eq!(sent(numbers), (Sent { datagrams: 1, passed_ns: 2, blocked_ns: 3, cpu_ns: 4 }, 1500));
        let mut other = Message::Begin.bytes();
        // The number of a datagram of the flow.
        other[0] = 0;
        for bytes in [&other[..], &[], &[0xff; MESSAGE_BYTES], &Message::Begin.bytes()[1..]] {
            assert_eq!(Message::read(bytes), None);
        }
    }
}
