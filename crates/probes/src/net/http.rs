//! Probe net.http: a small file is fetched by HTTP/1.1, over a connection that stands or over one made for it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;

use hostmark_engine::prelude::sys::call::named;
use hostmark_engine::prelude::*;

use crate::authenticated::{AuthenticatedListener, connect, gone};
use crate::kernels::http::{LONGEST_HEAD, Malformed, asked, get, length, read_head, respond};
use crate::workloads;

pub static PROBE: Probe = Probe {
    also: super::TAILS,
    axes: &[
        Axis::choice("connection", "keep_alive", Points::quick(&["keep_alive"]).standard(&["close"])),
        Axis::size("size", "1024", Points::quick(&["1024"]).standard(&["128", "10240", "65536"])),
        super::ENDS,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["connection", "size"] }],
    limit: Limit::HandOvers(2),
    blocking: true,
    measure: Measure::Between { service: &SERVER, measure },
    ..crate::texts::net::HTTP
};

const NAME: &str = "page";

fn measure(case: &mut Case) -> Result<()> {
    let size: usize = case.param("size")?;
    let keep = case.param::<String>("connection")? == "keep_alive";
    case.may_fill(size as u64)?;
    let far = case.far_end()?;
    let request = get(NAME, keep);
    let mut bytes = vec![0; LONGEST_HEAD + size];
    let mut stream = connect(far)?;
    if keep {
        return super::exchanges(case, || fetch(&mut stream, &request, &mut bytes, size));
    }
    let address = far.address;
    super::exchanges(case, || {
        let mut stream = workloads::network::socket::connect(address, super::PATIENCE)?;
        fetch(&mut stream, &request, &mut bytes, size)?;
        // The server closes first: its end of the stream is part of the response.
        if received(|| stream.read(&mut bytes))? == 0 { Ok(()) } else { Err(super::wrong_answer()) }
    })
}

/// Sends a request and reads the whole response, which has to be of so many bytes.
fn fetch(stream: &mut TcpStream, request: &[u8], bytes: &mut [u8], size: usize) -> io::Result<()> {
    stream.write_all(request).call("sendto")?;
    let (head, have) = read_head(stream, bytes, 0)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    if length(&bytes[..head])? != size as u64 || have > head + size {
        return Err(super::wrong_answer());
    }
    stream.read_exact(&mut bytes[have..head + size]).call("recvfrom")
}

/// Sends the file to whoever asks for it.
pub static SERVER: Service = Service { name: "http", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    let size: usize = serving.param("size")?;
    // The file, and what either side holds of it.
    serving.may_fill(3 * size as u64)?;
    let folder = serving.scratch_dir()?;
    workloads::storage::files::write(&folder.join(NAME), &vec![b'x'; size], 0o600)?;
    let keep = serving.param::<String>("connection")? == "keep_alive";
    let door = AuthenticatedListener::open(serving)?;
    if keep {
        return Ok(door.serve(|stream| session(stream, &folder))?);
    }
    let (_known, client) = door.admit()?;
    loop {
        let stream = door.accept_of(client)?;
        stream.set_nodelay(true).call("setsockopt")?;
        gone(session(stream, &folder))?;
    }
}

/// Answers requests until the client is gone or wants no more.
fn session(mut stream: TcpStream, folder: &Path) -> io::Result<()> {
    let (mut bytes, mut have, mut out) = ([0; LONGEST_HEAD], 0, Vec::new());
    while let Some((head, read)) = read_head(&mut stream, &mut bytes, have)? {
        let request = asked(&bytes[..head])?;
        out.clear();
        match File::open(folder.join(request.name)) {
            Ok(mut file) => {
                let size = file.metadata().call("statx")?.len();
                respond(&mut out, Some(size), request.keep)?;
                let body = out.len();
                out.resize(body + usize::try_from(size).map_err(|_| Malformed::Length)?, 0);
                file.read_exact(&mut out[body..]).call("read")?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => respond(&mut out, None, request.keep)?,
            Err(error) => return Err(named("openat", error)),
        }
        stream.write_all(&out).call("sendto")?;
        if !request.keep {
            break;
        }
        bytes.copy_within(head..read, 0);
        have = read - head;
    }
    Ok(())
}
