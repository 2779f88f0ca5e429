//! Tests of clients with and without the token.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::*;
use crate::agent::parse_request;
use crate::mutated::{Mutator, trials};
use crate::supervise::now;

/// A file with this in it, which has this mode.
fn read(text: &[u8], mode: u32) -> Result<Token, TokenError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    Token::read(&path)
}

#[test]
fn a_token_is_read_as_it_was_printed_and_two_differ() {
    let token = Token::fresh().unwrap();
    assert_eq!(token.hex().len(), 64);
    assert_eq!(read(format!("\n {}\n", token.hex()).as_bytes(), 0o600).unwrap(), token);
    assert_eq!(read(token.hex().to_uppercase().as_bytes(), 0o400).unwrap(), token);
    assert_ne!(Token::fresh().unwrap(), token);
    assert_eq!(format!("{token:?}"), "Token");
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    let text = Token::fresh().unwrap().hex();
    for mode in [0o640, 0o604, 0o660, 0o602, 0o644, 0o610] {
        let error = read(text.as_bytes(), mode).unwrap_err().to_string();
        assert!(error.contains(&format!("(mode {mode:03o}); run chmod 600")), "{error}");
    }
}

#[test]
fn what_is_no_token_is_refused_and_never_quoted() {
    let text = Token::fresh().unwrap().hex();
    let long = text.repeat(1000);
    let accented = format!("é{}", &text[2..]);
    for wrong in ["", &text[1..], &format!("{text}0"), &long, &format!("+{}", &text[1..]), &accented] {
        let error = read(wrong.as_bytes(), 0o600).unwrap_err().to_string();
        assert!(error.contains("holds no token") && !error.contains(&text[8..16]), "{error}");
    }
    assert!(matches!(read(&[0xff; 64], 0o600), Err(TokenError::NoToken { .. })));
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(Token::read(directory.path()), Err(TokenError::NoFile { .. })));
    assert!(matches!(Token::read(&directory.path().join("none")), Err(TokenError::Unread { .. })));
    let pipe = directory.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    assert!(matches!(Token::read(&pipe), Err(TokenError::NoFile { .. })));
}

fn token() -> Token {
    Token::fresh().unwrap()
}

/// A record's bytes without its length.
fn bare(record: &[u8]) -> Vec<u8> {
    let mut records = Records::of_at_most(LONGEST_RECORD);
    records.take(record).unwrap();
    records.whole().unwrap()
}

/// Both ends of a channel: who dials, and who serves.
fn ends(token: &Token) -> (Channel, Channel) {
    let greeting = Greeting::fresh().unwrap();
    let (dialling, first) = Dialling::begin(token, &Greeting::of(&bare(&greeting.record())).unwrap()).unwrap();
    let (server, answer) = Admitted::of(token, &greeting, &bare(&first)).unwrap().answer().unwrap();
    (dialling.answered(&bare(&answer)).unwrap(), server)
}

#[test]
fn what_is_sealed_at_one_end_is_opened_at_the_other() {
    let (mut client, mut server) = ends(&token());
    for carried in [vec![], b"{}\n".to_vec(), vec![7; MOST_CARRIED]] {
        let (mut there, mut back) = (Vec::new(), Vec::new());
        client.seal(&carried, &mut there).unwrap();
        server.seal(&carried, &mut back).unwrap();
        assert_ne!(there, back);
        assert_eq!(server.open(&bare(&there)).unwrap(), carried);
        assert_eq!(client.open(&bare(&back)).unwrap(), carried);
    }
}

#[test]
fn another_token_and_another_connection_are_refused_at_the_first_message() {
    let (ours, other) = (token(), token());
    let (greeting, later) = (Greeting::fresh().unwrap(), Greeting::fresh().unwrap());
    let first = |token: &Token| bare(&Dialling::begin(token, &greeting).unwrap().1);
    assert!(Admitted::of(&ours, &greeting, &first(&ours)).is_ok());
    assert_eq!(Admitted::of(&ours, &greeting, &first(&other)).err(), Some(ChannelError::Token));
    // What was heard in one connection is worth nothing in the next.
    assert_eq!(Admitted::of(&ours, &later, &first(&ours)).err(), Some(ChannelError::Token));
    let long = [first(&ours), vec![0]].concat();
    assert_eq!(Admitted::of(&ours, &greeting, &long).err(), Some(ChannelError::Token));
}

#[test]
fn a_server_without_the_token_is_no_server_of_ours() {
    let (ours, other) = (token(), token());
    let greeting = Greeting::fresh().unwrap();
    let (dialling, _) = Dialling::begin(&ours, &greeting).unwrap();
    let theirs = bare(&Dialling::begin(&other, &greeting).unwrap().1);
    let (_, answer) = Admitted::of(&other, &greeting, &theirs).unwrap().answer().unwrap();
    assert_eq!(dialling.answered(&bare(&answer)).err(), Some(ChannelError::Token));
}

#[test]
fn a_record_again_and_one_out_of_order_are_refused() {
    let (mut client, mut server) = ends(&token());
    let mut sealed = vec![Vec::new(); 3];
    sealed.iter_mut().for_each(|record| client.seal(b"x", record).unwrap());
    server.open(&bare(&sealed[0])).unwrap();
    assert_eq!(server.open(&bare(&sealed[0])).err(), Some(ChannelError::Altered));
    assert_eq!(server.open(&bare(&sealed[2])).err(), Some(ChannelError::Altered));
    assert!(client.open(&bare(&sealed[1])).is_err(), "its own record came back");
}

#[test]
fn a_greeting_of_another_version_says_which() {
    let ours = bare(&Greeting::fresh().unwrap().record());
    assert!(Greeting::of(&ours).is_ok());
    let mut later = [ours.clone(), b"more".to_vec()].concat();
    later[MAGIC.len()] = 9;
    assert_eq!(Greeting::of(&later).err(), Some(ChannelError::Version(9)));
    for strange in [&ours[..GREETING - 1], &ours[..MAGIC.len()], b"SSH-2.0-OpenSSH", b"", &[&ours[..], b"x"].concat()] {
        assert_eq!(Greeting::of(strange).err(), Some(ChannelError::Strange));
    }
}

#[test]
fn a_record_that_is_too_long_is_refused_by_its_length_alone() {
    let mut records = Records::of_at_most(HANDSHAKE_MESSAGE);
    assert_eq!(records.wants(), 2);
    assert_eq!(records.take(&[0xff]), Ok(()));
    assert_eq!(records.take(&[0xff]), Err(ChannelError::Altered));
    let mut records = Records::of_at_most(HANDSHAKE_MESSAGE);
    records.take(&[0]).unwrap();
    assert_eq!((records.wants(), records.whole()), (1, None));
    records.take(&[3, 1]).unwrap();
    assert_eq!((records.wants(), records.whole()), (2, None));
    records.take(&[2, 3]).unwrap();
    assert_eq!((records.whole(), records.wants()), (Some(vec![1, 2, 3]), 2));
}

/// The shortest time of many.
fn shortest(times: usize, mut one: impl FnMut() -> Duration) -> Duration {
    (0..times).map(|_| one()).min().unwrap()
}

#[test]
fn a_wrong_token_costs_less_than_a_quarter_of_a_multiplication_on_the_curve() {
    let (ours, other) = (token(), token());
    let greeting = Greeting::fresh().unwrap();
    let wrong = bare(&Dialling::begin(&other, &greeting).unwrap().1);
    let right = bare(&Dialling::begin(&ours, &greeting).unwrap().1);
    let refusal = shortest(2000, || {
        let begin = now();
        assert!(Admitted::of(&ours, &greeting, &wrong).is_err());
        begin.elapsed()
    });
    let multiplication = shortest(200, || {
        let admitted = Admitted::of(&ours, &greeting, &right).unwrap();
        let begin = now();
        drop(admitted.answer().unwrap());
        begin.elapsed() / 2
    });
    // Shown by --nocapture.
    let shown = format!("refusal {refusal:?}, multiplication {multiplication:?}\n");
    let _ = std::io::Write::write_all(&mut std::io::stdout(), shown.as_bytes());
    assert!(refusal * 4 < multiplication, "{shown}");
}

/// Changes some bytes, or the length, of what is as it should be. Whether it is another one now.
fn garble(draw: &mut Mutator, bytes: &mut Vec<u8>) -> bool {
    let before = bytes.clone();
    for _ in 0..=draw.below(3) {
        let at = draw.below(bytes.len().max(1));
        match draw.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), draw.below(256) as u8),
            2 => bytes.extend(vec![draw.below(256) as u8; draw.below(300)]),
            3 if bytes.len() > 1 => {
                let from = draw.below(bytes.len());
                bytes.swap(at, from);
            }
            4 => *bytes = vec![draw.below(256) as u8; draw.below(100)],
            _ if at < bytes.len() => bytes[at] ^= 1 << draw.below(8),
            _ => {}
        }
    }
    *bytes != before
}

/// Gives the bytes to `records` in parts, as a socket does: the records in them, up to where they are refused.
fn received(draw: &mut Mutator, bytes: &[u8], most: usize) -> Vec<Vec<u8>> {
    let (mut records, mut whole, mut rest) = (Records::of_at_most(most), Vec::new(), bytes);
    while !rest.is_empty() {
        let (part, later) = rest.split_at((1 + draw.below(records.wants())).min(rest.len()).min(records.wants()));
        if records.take(part).is_err() {
            break;
        }
        assert!(records.bytes.len() <= 2 + most);
        whole.extend(records.whole());
        rest = later;
    }
    whole
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn whatever_comes_in_a_handshake_or_after_it_is_refused_or_is_what_was_sent() {
    let mut draw = Mutator::new(0x5eed_cafe);
    let (ours, greeting) = (token(), Greeting::fresh().unwrap());
    let first = Dialling::begin(&ours, &greeting).unwrap().1;
    let (mut client, mut server) = ends(&ours);
    let (mut let_in, mut refused, mut opened, mut altered, mut requests) = (0, 0, 0, 0, 0);
    let lines: [&[u8]; 4] =
        [b"{\"hello\":{\"protocol\":3}}", b"\"facts\"", b"{\"heard\":{\"lines\":3}}", b"{\"kept\":{\"run\":\"last\"}}"];
    for trial in 0..trials(20_000) {
        let mut bytes = first.clone();
        if trial % 2 == 0 {
            let is_other = garble(&mut draw, &mut bytes);
            for record in received(&mut draw, &bytes, HANDSHAKE_MESSAGE) {
                let is_ours = record == bare(&first);
                assert_eq!(Admitted::of(&ours, &greeting, &record).is_ok(), is_ours, "{is_other}");
                if is_ours { let_in += 1 } else { refused += 1 }
            }
            continue;
        }
        let mut line = lines[draw.below(lines.len())].to_vec();
        if draw.below(2) == 0 {
            garble(&mut draw, &mut line);
        }
        let mut sealed = Vec::new();
        client.seal(&line, &mut sealed).unwrap();
        let intact = sealed.clone();
        let is_other = draw.below(2) == 0 && garble(&mut draw, &mut sealed);
        let mut is_open = false;
        for record in received(&mut draw, &sealed, LONGEST_RECORD) {
            match server.open(&record) {
                Ok(carried) => {
                    assert_eq!((&carried, &record), (&line, &bare(&intact)), "{is_other}");
                    requests += usize::from(parse_request(&String::from_utf8_lossy(&carried)).is_ok());
                    (is_open, opened) = (true, opened + 1);
                }
                Err(error) => {
                    assert_eq!(error, ChannelError::Altered);
                    altered += 1;
                }
            }
        }
        if !is_open {
            // The next one counts on from the one that was lost.
            (client, server) = ends(&ours);
        }
    }
    let shown = format!(
        "first messages: {let_in} right, {refused} refused; records: {opened} opened ({requests} requests), {altered} refused\n"
    );
    let _ = std::io::Write::write_all(&mut std::io::stdout(), shown.as_bytes());
    assert!(refused > 1000 && opened > 1000 && altered > 500 && requests > 500, "{shown}");
}
