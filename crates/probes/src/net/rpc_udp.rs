//! Probe net.rpc_udp: a remote procedure that does nothing is called by datagrams.

use std::io;

use hostmark_engine::prelude::*;

use super::udp::{self, Question};
use crate::authenticated::receive;
use crate::kernels::rpc::{LONGEST_MESSAGE, answer, check_reply, null_call};

pub static PROBE: Probe = Probe {
    also: udp::ALSO,
    axes: &[super::ENDS],
    limit: Limit::HandOvers(2),
    blocking: true,
    measure: Measure::Between { service: &SERVICE, measure },
    ..crate::texts::net::RPC_UDP
};

static SERVICE: Service = Service { name: "rpc_udp", serve };

/// Answers its client's calls; what is no call has no answer.
fn serve(serving: &mut Serving) -> Result<()> {
    let admitted = receive(serving)?;
    let mut message = [0; LONGEST_MESSAGE];
    loop {
        let (bytes, client) = admitted.receive(&mut message)?;
        if let Ok(answer) = answer(&message[..bytes]) {
            admitted.socket().send_to(answer.bytes(), client).call("sendto")?;
        }
    }
}

fn measure(case: &mut Case) -> Result<()> {
    udp::time_answers::<NullCall>(case)
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
