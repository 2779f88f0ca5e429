//! HTTP/1.1 (RFC 9112) as far as a GET of a file takes it: requests, the heads of responses, and where a head ends.

use std::io::{self, Read, Write};

use hostmark_engine::prelude::{Message, received, say};

pub const LONGEST_HEAD: usize = 4096;
const END: &[u8] = b"\r\n\r\n";

/// Error in the head of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// Head without an end within the bytes that it may have.
    Long,
    /// Head whose first line is not that of a request, or of a response.
    FirstLine,
    /// A field without a colon, or with a value that its name does not allow.
    Field,
    /// The server answered with this status and not with 200.
    Status(u16),
    /// Head that does not tell how long the body is.
    Length,
}

impl From<Malformed> for Message {
    fn from(malformed: Malformed) -> Message {
        match malformed {
            Malformed::Long => say!("a head of HTTP does not end in time"),
            Malformed::FirstLine => say!("the first line is not one of HTTP/1.1"),
            Malformed::Field => say!("a field of HTTP is not as it should be"),
            Malformed::Status(status) => say!("the server of HTTP answered with status {status}"),
            Malformed::Length => say!("a response of HTTP does not tell its length"),
        }
    }
}

impl From<Malformed> for io::Error {
    fn from(malformed: Malformed) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Message::from(malformed))
    }
}

/// The request for a file; `keep`: whether the connection is to stand after it.
pub fn get(name: &str, keep: bool) -> Vec<u8> {
    let close = if keep { "" } else { "Connection: close\r\n" };
    format!("GET /{name} HTTP/1.1\r\nHost: localhost\r\n{close}\r\n").into_bytes()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The name of a file, without the slash: never a path.
    pub name: &'a str,
    /// True where the connection is kept open.
    pub keep: bool,
}

/// Reads a request's head, to the empty line at its end.
#[inline]
pub fn asked(head: &[u8]) -> Result<Asked<'_>, Malformed> {
    let mut lines = lines(head)?;
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some("GET"), Some(target), Some("HTTP/1.1"), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Malformed::FirstLine);
    };
    let name = target.strip_prefix('/').filter(|name| is_name(name)).ok_or(Malformed::FirstLine)?;
    let mut keep = true;
    for line in lines {
        let (field, value) = line.split_once(':').ok_or(Malformed::Field)?;
        if field.eq_ignore_ascii_case("connection") {
            keep = !value.trim().eq_ignore_ascii_case("close");
        }
    }
    Ok(Asked { name, keep })
}

/// Letters, digits and underscores: nothing that leads out of a directory.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Writes the head of a response into `out`: 200 with so many bytes to come, or 404 without any.
#[inline]
pub fn respond(out: &mut Vec<u8>, length: Option<u64>, keep: bool) -> io::Result<()> {
    let status = if length.is_some() { "200 OK" } else { "404 Not Found" };
    let close = if keep { "" } else { "Connection: close\r\n" };
    write!(out, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{close}\r\n", length.unwrap_or(0))
}

/// Returns the length of the body that follows a response's head.
#[inline]
pub fn length(head: &[u8]) -> Result<u64, Malformed> {
    let mut lines = lines(head)?;
    let status = lines.next().unwrap_or_default().strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    match status.and_then(|status| status.parse().ok()).ok_or(Malformed::FirstLine)? {
        200 => {}
        status => return Err(Malformed::Status(status)),
    }
    for line in lines {
        let (field, value) = line.split_once(':').ok_or(Malformed::Field)?;
        if field.eq_ignore_ascii_case("content-length") {
            return value.trim().parse().map_err(|_| Malformed::Field);
        }
    }
    Err(Malformed::Length)
}

fn lines(head: &[u8]) -> Result<impl Iterator<Item = &str>, Malformed> {
    let text = std::str::from_utf8(head).map_err(|_| Malformed::FirstLine)?;
    Ok(text.strip_suffix("\r\n\r\n").ok_or(Malformed::Long)?.split("\r\n"))
}

/// Reads into `bytes`, which holds `have`, until there is a whole head: its end and the bytes now. None at an empty end of stream.
#[inline]
pub fn read_head(stream: &mut impl Read, bytes: &mut [u8], mut have: usize) -> io::Result<Option<(usize, usize)>> {
    loop {
        if let Some(at) = bytes[..have].windows(END.len()).position(|window| window == END) {
            return Ok(Some((at + END.len(), have)));
        }
        if have >= LONGEST_HEAD.min(bytes.len()) {
            return Err(Malformed::Long.into());
        }
        match received(|| stream.read(&mut bytes[have..]))? {
            0 if have == 0 => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => have += more,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_laid_out_as_the_rfc_says_and_read_back() {
        assert_eq!(get("page_1", true), b"GET /page_1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(get("a", false), b"GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        for keep in [true, false] {
            assert_eq!(asked(&get("page_1", keep)), Ok(Asked { name: "page_1", keep }));
        }
        let other = b"GET /x HTTP/1.1\r\nhost:a\r\nCONNECTION:  Close \r\n\r\n";
        assert_eq!(asked(other), Ok(Asked { name: "x", keep: false }));
    }

    #[test]
    fn a_request_for_anything_but_a_file_is_refused() {
        for line in ["GET / ", "GET /../a ", "GET a ", "GET /a/b ", "POST /a ", "GET /a  ", "GET /%2e ", ""] {
            let head = format!("{line}HTTP/1.1\r\n\r\n");
            assert_eq!(asked(head.as_bytes()), Err(Malformed::FirstLine), "{line}");
        }
        assert_eq!(asked(b"GET /a HTTP/1.0\r\n\r\n"), Err(Malformed::FirstLine));
        assert_eq!(asked(b"GET /a HTTP/1.1\r\nno colon\r\n\r\n"), Err(Malformed::Field));
        assert_eq!(asked(b"GET /a HTTP/1.1\r\n"), Err(Malformed::Long));
        assert_eq!(asked(b"\xff\r\n\r\n"), Err(Malformed::FirstLine));
    }

    #[test]
    fn a_response_reports_its_length() {
        let mut head = Vec::new();
        respond(&mut head, Some(1024), true).unwrap();
        assert_eq!(head, b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n");
        assert_eq!(length(&head), Ok(1024));
        head.clear();
        respond(&mut head, None, false).unwrap();
        assert_eq!(head, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        assert_eq!(length(&head), Err(Malformed::Status(404)));
    }

    #[test]
    fn a_response_that_is_none_is_refused() {
        assert_eq!(length(b"HTTP/1.1 200 OK\r\nDate: now\r\n\r\n"), Err(Malformed::Length));
        assert_eq!(length(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), Err(Malformed::Field));
        assert_eq!(length(b"HTTP/1.1 200 OK\r\nnothing\r\n\r\n"), Err(Malformed::Field));
        assert_eq!(length(b"HTTP/2 200\r\n\r\n"), Err(Malformed::FirstLine));
        assert_eq!(length(b"HTTP/1.1 abc\r\n\r\n"), Err(Malformed::FirstLine));
        assert_eq!(length(b"HTTP/1.1 200 OK\r\nContent-Length: 1"), Err(Malformed::Long));
    }

    #[test]
    fn a_head_ends_where_its_empty_line_is_however_it_arrives() {
        let stream = [&get("a", true)[..], b"more"].concat();
        let end = stream.len() - 4;
        let mut bytes = [0; LONGEST_HEAD];
        assert_eq!(read_head(&mut &stream[..], &mut bytes, 0).unwrap(), Some((end, end + 4)));
        // The first part is there already.
        bytes[..7].copy_from_slice(&stream[..7]);
        assert_eq!(read_head(&mut &stream[7..], &mut bytes, 7).unwrap(), Some((end, end + 4)));
        assert_eq!(read_head(&mut &b""[..], &mut bytes, 0).unwrap(), None);
        let cut = read_head(&mut &stream[..9], &mut bytes, 0).unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
        let endless = read_head(&mut io::repeat(b'x'), &mut bytes, 0).unwrap_err();
        assert_eq!(endless.kind(), io::ErrorKind::InvalidData);
    }
}
