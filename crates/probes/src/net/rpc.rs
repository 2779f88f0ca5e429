//! Probe net.rpc: a remote procedure that does nothing is called, over a TCP connection or by datagrams.

use std::io;
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use super::round_trip::{self, Question};
use crate::authenticated::{AuthenticatedListener, connect, receive};
use crate::kernels::rpc::{LONGEST_MESSAGE, RecordReader, answer, check_reply, null_call, write_record};

pub static PROBE: Probe = Probe {
    also: round_trip::ALSO,
    axes: &[super::PROTOCOL, super::ENDS],
    full_factorial: &[
        FullFactorial { from: Profile::Quick, axes: &["protocol", "cpus"] },
        FullFactorial { from: Profile::Quick, axes: &["protocol", "ip"] },
    ],
    limit: Limit::HandOvers(2),
    blocking: true,
    measure: Measure::Between { service: &SERVICE, measure },
    ..crate::texts::net::RPC
};

static SERVICE: Service = Service { name: "rpc", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    match serving.param::<String>("protocol")?.as_str() {
        "udp" => answer_datagrams(serving),
        _ => Ok(AuthenticatedListener::open(serving)?.serve(session)?),
    }
}

fn measure(case: &mut Case) -> Result<()> {
    if case.param::<String>("protocol")? == "udp" {
        return round_trip::time_answers::<NullCall>(case);
    }
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

/// Answers its client's calls; what is no call has no answer.
fn answer_datagrams(serving: &mut Serving) -> Result<()> {
    let admitted = receive(serving)?;
    let mut message = [0; LONGEST_MESSAGE];
    loop {
        let (bytes, client) = admitted.receive(&mut message)?;
        if let Ok(answer) = answer(&message[..bytes]) {
            admitted.socket().send_to(answer.bytes(), client).call("sendto")?;
        }
    }
}

/// The call of the null procedure; its number is the transaction's.
struct NullCall;

impl Question for NullCall {
    type Number = u32;

    fn numbered(count: u64) -> u32 {
        count as u32
    }

    fn write(number: u32) -> impl AsRef<[u8]> {
        null_call(number)
    }

    fn read(answer: &[u8]) -> io::Result<u32> {
        let transaction = answer.first_chunk().map_or(0, |number| u32::from_be_bytes(*number));
        Ok(check_reply(answer, transaction).map(|()| transaction)?)
    }
}
