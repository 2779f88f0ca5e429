//! Probe net.round_trip: a byte goes to a server, over a TCP connection or as a datagram, and one comes back.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::authenticated::{self, AuthenticatedListener, PATIENCE, connect, receive};
use crate::kernels::rpc::LONGEST_MESSAGE;

pub static PROBE: Probe = Probe {
    also: ALSO,
    axes: &[super::PROTOCOL, super::ENDS, Axis::copies(Profile::Standard)],
    full_factorial: &[
        FullFactorial { from: Profile::Quick, axes: &["protocol", "cpus"] },
        FullFactorial { from: Profile::Quick, axes: &["protocol", "copies"] },
        FullFactorial { from: Profile::Quick, axes: &["protocol", "ip"] },
    ],
    limit: Limit::HandOvers(2),
    blocking: true,
    measure: Measure::Between { service: &ECHO, measure },
    ..crate::texts::net::ROUND_TRIP
};

/// Sends back each byte; where the axis protocol is udp, each datagram.
pub(super) static ECHO: Service = Service { name: "echo", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    match serving.param::<String>("protocol").as_deref() {
        Ok("udp") => echo_datagrams(serving),
        _ => Ok(AuthenticatedListener::open(serving)?.serve(echo)?),
    }
}

fn measure(case: &mut Case) -> Result<()> {
    if case.param::<String>("protocol")? == "udp" {
        return time_answers::<Byte>(case);
    }
    let mut stream = connect(case.far_end()?)?;
    let mut sent = 0_u8;
    super::exchanges(case, || {
        sent = sent.wrapping_add(1);
        stream.write_all(&[sent]).call("sendto")?;
        let mut back = [0];
        stream.read_exact(&mut back).call("recvfrom")?;
        if back == [sent] { Ok(()) } else { Err(super::wrong_answer()) }
    })
}

/// Sends back each byte until the client is gone.
pub(super) fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte).call("recvfrom")?;
        stream.write_all(&byte).call("sendto")?;
    }
}

/// A datagram of one byte, the last of the question's number.
struct Byte;

impl Question for Byte {
    type Number = u8;

    fn numbered(count: u64) -> u8 {
        count as u8
    }

    fn write(number: u8) -> impl AsRef<[u8]> {
        [number]
    }

    fn read(answer: &[u8]) -> io::Result<u8> {
        if let &[number] = answer { Ok(number) } else { Err(super::wrong_answer()) }
    }
}

/// Sends each datagram of its client back to where it came from.
fn echo_datagrams(serving: &mut Serving) -> Result<()> {
    let admitted = receive(serving)?;
    // The longest that is asked, and one of 16 bytes would be the client's nonce.
    let mut datagram = [0; 32];
    loop {
        let (bytes, client) = admitted.receive(&mut datagram)?;
        admitted.socket().send_to(&datagram[..bytes], client).call("sendto")?;
    }
}

/// Further quantities of round trips by datagrams.
pub const ALSO: &[Quantity] =
    &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, Quantity::SUSTAINED, LOST];

/// Share of lost requests: those that nobody answered, of the ones that were answered or asked anew.
pub const LOST: Quantity = Quantity::given("lost", Unit::Ratio, Better::Lower, term!("share of requests lost"));

/// Longest wait for an answer before any is known: a link to the other side of the world takes less.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest waits in multiples of the longest answer so far, after so many answers: the first ones tell little.
const WAITS: [(u64, u32); 2] = [(1, 16), (16, 4)];
/// Answers of which the longest is sought.
const KNOWN: u64 = 16;
/// No shorter: a machine that is busy puts an answer off by some milliseconds.
const LEAST_WAIT: Duration = Duration::from_millis(20);

/// Question to a server: its number comes back with the answer.
pub trait Question {
    /// A number as a datagram has it.
    type Number: PartialEq + Copy;

    /// Returns the number of the question that is asked after `count` others.
    fn numbered(count: u64) -> Self::Number;

    fn write(number: Self::Number) -> impl AsRef<[u8]>;

    /// Reads the number of the question that a datagram answers.
    fn read(answer: &[u8]) -> io::Result<Self::Number>;
}

/// The answers to one question after the other: the value is the median of their times, and the percentiles are those of all.
pub fn time_answers<Q: Question>(case: &mut Case) -> Result<()> {
    let far = case.far_end()?.clone();
    let socket = authenticated::correspond(&far)?;
    socket.set_read_timeout(Some(FIRST_WAIT)).call("setsockopt")?;
    let (mut count, mut tally) = (0, QuestionTally::default());
    let (mut asked, mut back) = (Vec::new(), [0; LONGEST_MESSAGE]);
    case.timed(|clock| {
        asked.clear();
        let mut ask = |asked: &mut Vec<_>| -> io::Result<()> {
            count += 1;
            let one = Q::numbered(count);
            asked.push((one, clock.start()));
            socket.send(Q::write(one).as_ref()).call("sendto").map(drop)
        };
        ask(&mut asked).map_err(authenticated::unanswered)?;
        loop {
            match next_answer::<Q>(&socket, &far, &mut back) {
                Ok(answered) => {
                    // One that was asked anew may be answered all the same: that took its time, and nothing is lost.
                    let found = asked.iter().position(|(one, _)| *one == answered);
                    let Some((at, &(_, since))) = found.and_then(|at| Some((at, asked.get(at)?))) else { continue };
                    let taken = clock.end().since(since);
                    tally.answered(&socket, at as u64, Duration::from_nanos(clock.ns(taken) as u64))?;
                    return Ok(taken);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let first = asked.first().map_or(clock.end(), |(_, since)| *since);
                    if clock.ns(clock.end().since(first)) >= PATIENCE.as_nanos() as f64 {
                        return Err(authenticated::unanswered(error));
                    }
                    ask(&mut asked).map_err(authenticated::unanswered)?;
                }
                Err(error) => return Err(authenticated::unanswered(error)),
            }
        }
    })
    .singly()
    .time()?;
    case.also(LOST.name, tally.lost())
}

#[inline]
fn next_answer<Q: Question>(socket: &UdpSocket, far: &FarEnd, back: &mut [u8]) -> io::Result<Q::Number> {
    loop {
        let bytes = received(|| socket.recv(back))?;
        if !authenticated::is_second_answer(far, &back[..bytes]) {
            return Q::read(&back[..bytes]);
        }
    }
}

#[derive(Debug, Default)]
struct QuestionTally {
    answered: u64,
    lost: u64,
    longest: Duration,
}

impl QuestionTally {
    /// Counts an answer, after `lost` questions without one.
    #[inline]
    fn answered(&mut self, socket: &UdpSocket, lost: u64, taken: Duration) -> io::Result<()> {
        self.answered += 1;
        self.lost += lost;
        if self.answered <= KNOWN {
            self.longest = self.longest.max(taken);
            if let Some((_, times)) = WAITS.iter().find(|(after, _)| *after == self.answered) {
                let wait = (*times * self.longest).clamp(LEAST_WAIT, FIRST_WAIT);
                socket.set_read_timeout(Some(wait)).call("setsockopt")?;
            }
        }
        Ok(())
    }

    /// The share that was lost; none where nothing was asked.
    fn lost(&self) -> Option<f64> {
        let all = self.answered + self.lost;
        (all > 0).then(|| self.lost as f64 / all as f64)
    }
}
