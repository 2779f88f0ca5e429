//! The words by which a session in a guest begins and ends. The channel is a serial port: it has neither a beginning nor an end of
//! its own, and whatever the kernel or its firmware has written there comes first.

/// Asks whether anybody is there. Asked again and again, since what comes before the guest listens is lost.
pub const KNOCK: &str = "hostmark-knock";
/// Answers a knock.
pub const READY: &str = "hostmark-ready";
/// Asks for an agent, to whom all that follows goes.
pub const BEGIN: &str = "hostmark-begin";
/// Says that this was all for the agent.
pub const END: &str = "hostmark-end";
/// Says that the agent has ended, and how.
pub const OVER: &str = "hostmark-over";
/// What each of these begins with, and no line of an agent does: those are JSON.
const OURS: &[u8] = b"hostmark-";
/// Bytes of a word with all that belongs to it, at most.
const LONGEST_WORD: usize = 200;

/// A word of a session: the nonce tells it from those of the sessions before.
pub fn line(word: &str, nonce: &str) -> String {
    format!("{word} {nonce}\n")
}

/// A part of what has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelPart {
    /// What is carried, whatever it is.
    Carried(Vec<u8>),
    /// One of our words, its nonce, and what else stands behind them.
    Word(String, String, String),
}

/// Tells our words from what is carried, in a stream that comes in parts.
#[derive(Debug, Default)]
pub struct Sieve {
    /// What may become a word; it began a line.
    held: Vec<u8>,
    /// Whether the line that is under way is carried.
    is_carrying: bool,
}

impl Sieve {
    /// Takes the next part.
    pub fn take(&mut self, part: &[u8]) -> Vec<ChannelPart> {
        let (mut pieces, mut carried) = (Vec::new(), Vec::new());
        for &byte in part {
            if self.is_carrying {
                carried.push(byte);
                self.is_carrying = byte != b'\n';
                continue;
            }
            self.held.push(byte);
            let begins = self.held.len().min(OURS.len());
            if self.held[..begins] != OURS[..begins] || self.held.len() > LONGEST_WORD {
                self.is_carrying = byte != b'\n';
                carried.append(&mut self.held);
            } else if byte == b'\n' {
                match word_of(&self.held) {
                    Some(word) => {
                        if !carried.is_empty() {
                            pieces.push(ChannelPart::Carried(std::mem::take(&mut carried)));
                        }
                        pieces.push(word);
                        self.held.clear();
                    }
                    None => carried.append(&mut self.held),
                }
            }
        }
        if !carried.is_empty() {
            pieces.push(ChannelPart::Carried(carried));
        }
        pieces
    }
}

fn word_of(line: &[u8]) -> Option<ChannelPart> {
    let text = std::str::from_utf8(line).ok()?.trim_end();
    let (word, rest) = text.split_once(' ')?;
    let (nonce, more) = rest.split_once(' ').unwrap_or((rest, ""));
    [KNOCK, READY, BEGIN, END, OVER]
        .contains(&word)
        .then(|| ChannelPart::Word(word.to_owned(), nonce.to_owned(), more.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(text: &str) -> ChannelPart {
        ChannelPart::Carried(text.as_bytes().to_vec())
    }

    fn word(word: &str, nonce: &str, more: &str) -> ChannelPart {
        ChannelPart::Word(word.into(), nonce.into(), more.into())
    }

    #[test]
    fn words_are_distinguished_from_what_is_carried_wherever_the_stream_is_cut() {
        let text =
            b"mark-knock 1\nhostmark-knock 12\n{\"a\":\"hostmark-end 12\"}\nhostmark-over 12 exit status: 0\nrest";
        let expected = [
            carried("mark-knock 1\n"),
            word(KNOCK, "12", ""),
            carried("{\"a\":\"hostmark-end 12\"}\n"),
            word(OVER, "12", "exit status: 0"),
            carried("rest"),
        ];
        for cut in 0..text.len() {
            let mut sieve = Sieve::default();
            let mut pieces: Vec<ChannelPart> = Vec::new();
            for piece in [&text[..cut], &text[cut..]].into_iter().flat_map(|part| sieve.take(part)) {
                match (pieces.last_mut(), piece) {
                    (Some(ChannelPart::Carried(before)), ChannelPart::Carried(more)) => before.extend(more),
                    (_, piece) => pieces.push(piece),
                }
            }
            assert_eq!(pieces, expected, "{cut}");
        }
    }

    #[test]
    fn what_only_begins_as_a_word_is_carried() {
        for text in ["hostmark-\n", "hostmark-sing 1\n", "hostmark-knock\n", "hostmark-\u{ff} 1\n", "hostmar\n", "\n"] {
            assert_eq!(Sieve::default().take(text.as_bytes()), [carried(text)], "{text:?}");
        }
        let long = format!("{KNOCK} {}\n", "1".repeat(LONGEST_WORD));
        let mut sieve = Sieve::default();
        assert_eq!(sieve.take(long.as_bytes()), [carried(&long)]);
        assert_eq!(sieve.take(b"hostmark-end 1\n"), [word(END, "1", "")]);
    }
}
