//! What lets somebody into a server: 32 random bytes, and the file that holds them.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;
use rustix::fs::OFlags;

use crate::program::hex;
use crate::transport_error::shown;

pub const TOKEN_BYTES: usize = 32;
/// Bytes of a token's file at most: its digits, and blanks around them.
const LONGEST_FILE: u64 = 256;
/// What others may do with the file: nothing.
const OF_OTHERS: u32 = 0o077;

/// A token. It is never shown but by [`Token::hex`].
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; TOKEN_BYTES]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Why a file gives no token. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    Unread {
        file: String,
        /// Why.
        error: io::Error,
    },
    /// It is a directory, a pipe or a device.
    NoFile { file: String },
    /// It belongs to somebody else, who could change it.
    OfAnother { file: String },
    /// Others may read or write it.
    Open { file: String, mode: u32 },
    /// Its contents are no token.
    NoToken { file: String },
}

impl From<&TokenError> for Message {
    fn from(error: &TokenError) -> Message {
        match error {
            TokenError::Unread { file, error } => {
                say!("the token file {file} cannot be read ({error}); name one that is there and yours")
            }
            TokenError::NoFile { file } => say!("the token file {file} is no regular file; write the token to one"),
            TokenError::OfAnother { file } => {
                say!("the token file {file} belongs to another user; use one of your own")
            }
            TokenError::Open { file, mode } => say!(
                "the token file {file} is open to others (mode {mode:03o}); run chmod 600 on it, and make a new token"
            ),
            TokenError::NoToken { file } => say!(
                "the token file {file} holds no token; write the 64 hexadecimal digits to it that hostmark serve prints"
            ),
        }
    }
}

displays_its_message!(TokenError);

impl Token {
    /// A new one.
    pub fn fresh() -> io::Result<Token> {
        random().map(Token)
    }

    /// These bytes.
    pub(crate) fn bytes(&self) -> &[u8; TOKEN_BYTES] {
        &self.0
    }

    /// Its 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// The one of these digits, between blanks.
    pub fn of(text: &str) -> Option<Token> {
        let digits = text.trim().as_bytes();
        let mut bytes = [0; TOKEN_BYTES];
        if digits.len() != 2 * TOKEN_BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
        }
        Some(Token(bytes))
    }

    /// The one in this file, which nobody else may read or change.
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        let file = shown(&path.to_string_lossy());
        let unread = |error| TokenError::Unread { file: file.clone(), error };
        // A pipe that nobody writes to must not be waited for.
        let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits();
        let opened = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path).map_err(unread)?;
        let about = opened.metadata().map_err(unread)?;
        if !about.is_file() {
            return Err(TokenError::NoFile { file });
        }
        let us = rustix::process::geteuid().as_raw();
        if about.uid() != us && about.uid() != 0 {
            return Err(TokenError::OfAnother { file });
        }
        // What root has prepared for a group that we are in is root's decision.
        let closed_to = if about.uid() == us { OF_OTHERS } else { 0o027 };
        if about.mode() & closed_to != 0 {
            return Err(TokenError::Open { file, mode: about.mode() & 0o777 });
        }
        let mut text = String::new();
        match opened.take(LONGEST_FILE).read_to_string(&mut text) {
            Err(error) if error.kind() != io::ErrorKind::InvalidData => Err(unread(error)),
            _ => Token::of(&text).ok_or(TokenError::NoToken { file }),
        }
    }
}

/// Random bytes from the kernel.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(more) => filled += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

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
}
