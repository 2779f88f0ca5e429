//! Probe net.rpc_tcp: a remote procedure that does nothing is called over a TCP connection.

use std::io;
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use crate::authenticated::{AuthenticatedListener, connect};
use crate::kernels::rpc::{RecordReader, answer, check_reply, null_call, write_record};

pub static PROBE: Probe = Probe {
    also: super::TAILS,
    axes: &[super::ENDS],
    limit: Limit::HandOvers(2),
    blocking: true,
    measure: Measure::Between { service: &SERVICE, measure },
    ..crate::texts::net::RPC_TCP
};

static SERVICE: Service = Service { name: "rpc_tcp", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    Ok(AuthenticatedListener::open(serving)?.serve(session)?)
}

fn measure(case: &mut Case) -> Result<()> {
    let mut records = RecordReader::new(connect(case.far_end()?)?);
    let mut transaction = 0_u32;
    super::exchanges(case, || {
        transaction = transaction.wrapping_add(1);
        write_record(records.stream(), &null_call(transaction))?;
        Ok(check_reply(records.message()?, transaction)?)
    })
}

/// Answers calls until the client is gone.
fn session(stream: TcpStream) -> io::Result<()> {
    let mut records = RecordReader::new(stream);
    loop {
        let answer = answer(records.message()?)?;
        write_record(records.stream(), answer.bytes())?;
    }
}
