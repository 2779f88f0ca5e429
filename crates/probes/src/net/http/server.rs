//! The server: it makes the file in its own directory, and sends it to whoever asks.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;

use hostmark_engine::prelude::sys::call::named;
use hostmark_engine::prelude::*;

use super::NAME;
use crate::authenticated::{AuthenticatedListener, gone};
use crate::kernels::http::{LONGEST_HEAD, Malformed, asked, read_head, respond};
use crate::workloads;

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
