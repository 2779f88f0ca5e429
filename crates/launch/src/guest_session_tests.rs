//! A session with somebody who stands for a guest, and for QEMU's monitor.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use rustix::pipe::pipe;
use serde_json::Value;

use super::*;

/// A session under way: what its agent is told and says here, the guest's end of its channel, and how it ends.
struct Under {
    input: Option<OwnedFd>,
    output: OwnedFd,
    guest: BufReader<UnixStream>,
    monitor: JoinHandle<()>,
    ended: JoinHandle<Result<(), SessionError>>,
}

fn begin() -> Under {
    let (channel, guest) = UnixStream::pair().unwrap();
    let (monitor, qemu) = UnixStream::pair().unwrap();
    let ((its_input, input), (output, its_output)) = (pipe().unwrap(), pipe().unwrap());
    let ended = thread::spawn(move || carry(channel.into(), Monitor::of(monitor.into()), its_input, its_output));
    Under { input: Some(input), output, guest: BufReader::new(guest), monitor: console(qemu), ended }
}

/// Answers for the console until the session is over.
fn console(qemu: UnixStream) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut answers = qemu.try_clone().unwrap();
        for line in BufReader::new(qemu).lines().map_while(Result::ok) {
            let request: Value = serde_json::from_str(&line).unwrap();
            let answer = serde_json::json!({"return": "one\n\u{1b}[2Jtwo\n", "id": request["id"]});
            let _ = answers.write_all(format!("{answer}\n").as_bytes());
        }
    })
}

impl Under {
    fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.guest.read_line(&mut line).unwrap();
        line
    }

    /// The guest says this; a session that is over hears nothing.
    fn says(&mut self, text: &str) {
        let _ = self.guest.get_mut().write_all(text.as_bytes());
    }

    /// The guest answers a knock, and is asked for an agent: the nonce.
    fn opens(&mut self) -> String {
        let knock = self.next_line();
        let nonce = knock.strip_prefix("hostmark-knock ").unwrap().trim().to_owned();
        self.says(&format!("hostmark-ready 00\nhostmark-ready {nonce}\n"));
        // Further knocks may have been sent meanwhile.
        while self.next_line() != format!("hostmark-begin {nonce}\n") {}
        nonce
    }

    fn ends(self) -> Result<(), SessionError> {
        let Under { input, output, guest, monitor, ended } = self;
        let result = ended.join().unwrap();
        drop((input, output, guest));
        monitor.join().unwrap();
        result
    }
}

#[test]
fn what_comes_before_the_answer_is_dropped_and_all_that_follows_is_carried() {
    let mut session = begin();
    session.says("[    0.000000] Linux version\n{\"hello\":1}\nhostmark-over 00 exit status: 1\n");
    let nonce = session.opens();
    rustix::io::write(session.input.as_ref().unwrap(), b"{\"facts\"}\nhalf").unwrap();
    assert_eq!(session.next_line(), "{\"facts\"}\n");
    // That of a session before is none of this one.
    session.says("hostmark-over 00 exit status: 1\nanswer\n");
    session.input = None;
    assert_eq!(session.next_line(), "half\n");
    assert_eq!(session.next_line(), format!("hostmark-end {nonce}\n"));
    session.says(&format!("more\nhostmark-over {nonce} exit status: 0\n"));
    let mut received = [0; 12];
    std::fs::File::from(session.output.try_clone().unwrap()).read_exact(&mut received).unwrap();
    assert_eq!(&received, b"answer\nmore\n");
    session.ends().unwrap();
}

#[test]
fn an_agent_that_fails_is_reported_with_the_console() {
    let mut session = begin();
    let nonce = session.opens();
    session.says(&format!("hostmark-over {nonce} signal: 9 (SIGKILL)\u{1b}\n"));
    let error = session.ends().unwrap_err().to_string();
    assert!(error.contains("ended by signal: 9 (SIGKILL)") && error.contains("ends with: one | two;"), "{error}");
    assert!(!error.contains('\u{1b}'), "{error}");
}

#[test]
fn a_guest_that_floods_instead_of_answering_is_given_up() {
    let mut session = begin();
    // Until nobody hears it any more.
    while session.guest.get_mut().write_all("garbage\u{ff}\n".as_bytes()).is_ok() {}
    let error = session.ends().unwrap_err();
    assert!(matches!(error, SessionError::Floods(_)), "{error}");
}

#[test]
fn a_channel_that_ends_is_no_end_of_an_agent() {
    let mut session = begin();
    session.opens();
    session.guest.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
    let error = session.ends().unwrap_err().to_string();
    assert!(error.contains("the guest has stopped: QEMU has ended; its console ends with: one | two; boot"), "{error}");
}

#[test]
fn who_is_left_before_the_guest_answers_goes_in_peace() {
    let mut session = begin();
    session.next_line();
    session.input = None;
    session.ends().unwrap();
}

fn carried(text: &str) -> ChannelPart {
    ChannelPart::Carried(text.as_bytes().to_vec())
}

fn word(word: &str, nonce: &str, more: &str) -> ChannelPart {
    ChannelPart::Word(word.into(), nonce.into(), more.into())
}

#[test]
fn words_are_distinguished_from_what_is_carried_wherever_the_stream_is_cut() {
    let text = b"mark-knock 1\nhostmark-knock 12\n{\"a\":\"hostmark-end 12\"}\nhostmark-over 12 exit status: 0\nrest";
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
