//! Streams on threads of their own, which whoever measures looks at, and the end that reads one in the case's own thread.

use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use hostmark_engine::prelude::sys::clock::sleep;
use hostmark_engine::prelude::*;

use super::far::{FarReport, begun};
use super::terms::{Sender, StreamOptions, block_of};
use super::{LinkPace, Settling};
use crate::authenticated::{self, unanswered};
use crate::workloads::network::socket;
use crate::workloads::network::tcp_info::{self, Tally, TcpInfo};

/// A stream on which nothing moves for so long has broken off: longer than a sender takes that loses the same packet some times.
const SILENCE: Duration = Duration::from_secs(4);
/// Streams that may share a CPU at most: each has a process at its far end.
pub const PER_CPU: usize = 32;
/// Pause before a receiver that has nothing new to tell is asked again.
const MOMENT: Duration = Duration::from_millis(2);

#[derive(Debug)]
struct TcpFlow {
    stream: TcpStream,
    sends: bool,
    tally: Mutex<Tally>,
    error: Mutex<Option<io::Error>>,
    is_over: AtomicBool,
    copied: Mutex<Option<bool>>,
}

/// Streams under way. When dropped they are ended.
pub struct Flows<'scope> {
    flows: Vec<Arc<TcpFlow>>,
    accounts: Vec<TcpStream>,
    threads: Vec<ScopedJoinHandle<'scope, Result<()>>>,
    /// Buffer sizes of the far ends, bytes, and their congestion control.
    begun: Vec<(u64, String)>,
    pace: LinkPace,
}

#[derive(Debug)]
pub struct Ended {
    /// Bytes that this side received, and those that the far side says it received.
    pub bytes: [u64; 2],
    /// Kernel's account of each connection that sent from here.
    pub sent: Vec<TcpInfo>,
    /// True where MSG_ZEROCOPY copied after all.
    pub copied: Option<bool>,
    pub reports: Vec<FarReport>,
}

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TcpFlow {
    /// Connects it, on `terms`; what the far end tells of its own end comes along.
    fn connect(far: &FarEnd, terms: &StreamOptions, sends: bool) -> Result<(Arc<TcpFlow>, (u64, String))> {
        let stream = authenticated::connect_with(far, SILENCE, |socket| terms.set_near(socket, sends))?;
        let begun = begun(&stream).map_err(unanswered)?;
        let own = if sends { socket::send_buffer(&stream)? } else { socket::receive_buffer(&stream)? };
        terms.window.check(begun.0, own)?;
        if sends {
            // As in any bulk transfer: what a message leaves of a packet goes with the next one.
            stream.set_nodelay(false).call("setsockopt")?;
        }
        let flow = TcpFlow {
            stream,
            sends,
            tally: Mutex::default(),
            error: Mutex::default(),
            is_over: AtomicBool::new(false),
            copied: Mutex::default(),
        };
        Ok((Arc::new(flow), begun))
    }

    /// Keeps count of what its receiver has, until it is over.
    fn count(&self, block: &mut [u8]) {
        let counted = match self.sends {
            true => loop {
                match Tally::receive_from(&self.stream) {
                    Ok(tally) => *locked(&self.tally) = tally,
                    Err(error) => break Err(error),
                }
            },
            false => tcp_info::receive(&self.stream, block, |tally| {
                *locked(&self.tally) = tally;
                Ok(())
            }),
        };
        if !self.is_over.load(Ordering::Acquire) {
            *locked(&self.error) = Some(counted.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        }
    }

    /// Sends until it is over: whether it broke off before is told by who counts.
    fn send(&self, sender: &Sender) {
        let mut copied = None;
        let _ = sender.send_for_ever(&self.stream, &mut copied);
        *locked(&self.copied) = copied;
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        // The threads that wait for it go on, and find that it is over.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl<'scope> Flows<'scope> {
    /// Connects streams to each of `far` and starts their threads in `scope`, on `cpus` in turn if any. This side sends `message`.
    pub fn start(
        scope: &'scope Scope<'scope, '_>,
        terms: &'scope StreamOptions,
        message: &'scope [u8],
        far: &[FarEnd],
        cpus: &[Cpu],
    ) -> Result<Flows<'scope>> {
        let accounts = far.iter().map(authenticated::connect).collect::<Result<Vec<_>>>()?;
        Flows::over(scope, terms, message, (far, accounts), cpus)
    }

    /// The same where the connections exist over which the far ends tell what it took them.
    pub fn over(
        scope: &'scope Scope<'scope, '_>,
        terms: &'scope StreamOptions,
        message: &'scope [u8],
        (far, accounts): (&[FarEnd], Vec<TcpStream>),
        cpus: &[Cpu],
    ) -> Result<Flows<'scope>> {
        let (mut flows, mut begun) = (Vec::new(), Vec::new());
        type Work<'scope> = Box<dyn FnOnce() -> Result<()> + Send + 'scope>;
        let mut works: Vec<Work> = Vec::new();
        for (index, far) in far.iter().enumerate() {
            let cpu = cpus.get(index % cpus.len().max(1)).copied();
            let wanted = [(terms.direction.receives(), false), (terms.direction.sends(), true)];
            for (_, sends) in wanted.into_iter().filter(|(is_wanted, _)| *is_wanted) {
                let (flow, control) = TcpFlow::connect(far, terms, sends)?;
                let counting = Arc::clone(&flow);
                let mut block = terms.block()?;
                works.push(Box::new(move || {
                    cpu.map_or(Ok(()), threads::bind)?;
                    counting.count(&mut block);
                    Ok(())
                }));
                if sends {
                    let sending = Arc::clone(&flow);
                    works.push(Box::new(move || {
                        cpu.map_or(Ok(()), threads::bind)?;
                        sending.send(&Sender::new(terms.method, message)?);
                        Ok(())
                    }));
                }
                flows.push(flow);
                begun.push(control);
            }
        }
        let infos = flows.iter().map(|flow| TcpInfo::of(&flow.stream)).collect::<io::Result<Vec<_>>>()?;
        let pace = infos
            .iter()
            .map(LinkPace::of)
            .reduce(LinkPace::or_slower)
            .ok_or_else(|| RoundError::internal(say!("no far end was started")))?;
        let threads = threads::start(scope, works)?;
        Ok(Flows { flows, accounts, threads, begun, pace })
    }

    /// Returns what the far end of the first stream reported of its own end: bytes of its buffer, and its congestion control.
    pub fn begun(&self) -> Option<&(u64, String)> {
        self.begun.first()
    }

    /// Returns the buffer size of this end of a stream: of the first to send from, or of the first.
    pub fn own_buffer(&self) -> io::Result<Option<(bool, u64)>> {
        let flow = self.flows.iter().find(|flow| flow.sends).or(self.flows.first());
        let size = |flow: &Arc<TcpFlow>| match flow.sends {
            true => socket::send_buffer(&flow.stream),
            false => socket::receive_buffer(&flow.stream),
        };
        flow.map(|flow| Ok((flow.sends, size(flow)?))).transpose()
    }

    /// The congestion control of the first stream that this side sends.
    pub fn own_congestion(&self) -> io::Result<Option<String>> {
        let sends = self.flows.iter().find(|flow| flow.sends);
        sends.map(|flow| socket::congestion_control(&flow.stream)).transpose()
    }

    /// Returns the progress of the receivers: those here, and those at the far ends.
    fn progress(&self) -> Result<Vec<Tally>> {
        let of = |flow: &Arc<TcpFlow>| match locked(&flow.error).take() {
            Some(error) => Err(broken(error)),
            None => Ok(*locked(&flow.tally)),
        };
        self.flows.iter().map(of).collect()
    }

    /// The rates between two looks, of the streams that go here and of those that go there; none where one did not move.
    fn rates_since(&self, now: &[Tally], before: &[Tally]) -> Option<[f64; 2]> {
        let rates: Option<Vec<f64>> = now.iter().zip(before).map(|(now, before)| now.rate_since(*before)).collect();
        let of = |sends, rates: &[f64]| {
            let those = self.flows.iter().zip(rates).filter(|(flow, _)| flow.sends == sends);
            those.fold(0.0, |sum, (_, rate)| sum + rate)
        };
        rates.map(|rates| [of(false, &rates), of(true, &rates)])
    }

    /// The rates of all streams since `before`, as their receivers have them, bytes a nanosecond: of those that go here and
    /// of those that go there. It waits for so long, and until every receiver has got something.
    fn rates(&self, clock: &Clock, before: &mut Vec<Tally>, wait: Duration) -> Result<[f64; 2]> {
        let start = clock.start();
        sleep(wait);
        loop {
            let now = self.progress()?;
            // Who has just begun has been nowhere.
            before
                .iter_mut()
                .zip(&now)
                .filter(|(before, _)| before.at_ns == 0)
                .for_each(|(before, now)| *before = *now);
            if let Some(rates) = self.rates_since(&now, before) {
                *before = now;
                return Ok(rates);
            }
            if clock.ns(clock.start().since(start)) > (wait + SILENCE).as_nanos() as f64 {
                return Err(broken(io::ErrorKind::TimedOut.into()));
            }
            sleep(MOMENT);
        }
    }

    /// Waits until the streams have got to their rates: what samples of them then go on from.
    pub fn settle(&self, clock: &Clock) -> Result<Look> {
        let (mut settling, start) = (Settling::new(), clock.start());
        let mut before = self.progress()?;
        let mut rate = f64::INFINITY;
        loop {
            let rates = self.rates(clock, &mut before, Duration::from_nanos(self.pace.window_ns(rate) as u64))?;
            rate = rates.iter().sum();
            if settling.is_over(rate, clock.ns(clock.start().since(start))) {
                let slowest = rates.into_iter().filter(|&rate| rate > 0.0).fold(rate, f64::min);
                let wait = Duration::from_nanos(self.pace.sample_ns(slowest) as u64);
                return Ok(Look { before, wait });
            }
        }
    }

    /// Ends the streams, and hears what they took.
    pub fn end(mut self) -> Result<Ended> {
        let sent = self.flows.iter().filter(|flow| flow.sends);
        let sent = sent.map(|flow| TcpInfo::of(&flow.stream)).collect::<io::Result<Vec<_>>>()?;
        let tallies = self.progress()?;
        let of = |sends| {
            let those = self.flows.iter().zip(&tallies).filter(|(flow, _)| flow.sends == sends);
            those.fold(0, |sum: u64, (_, tally)| sum.saturating_add(tally.bytes))
        };
        let bytes = [of(false), of(true)];
        self.flows.iter().for_each(|flow| flow.end());
        threads::join(std::mem::take(&mut self.threads))?;
        let copied = self.flows.iter().find_map(|flow| *locked(&flow.copied));
        // Closed, they are reset: what is still queued is not waited for.
        self.flows.clear();
        let reports = std::mem::take(&mut self.accounts).into_iter().map(FarReport::receive);
        let reports = reports.collect::<io::Result<Vec<_>>>().map_err(unanswered)?;
        Ok(Ended { bytes, sent, copied, reports })
    }
}

impl Drop for Flows<'_> {
    fn drop(&mut self) {
        self.flows.iter().for_each(|flow| flow.end());
    }
}

/// Explains the error of a stream that broke off.
fn broken(error: io::Error) -> RoundError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => RoundError::failed(
            ReasonCode::TimedOut,
            say!("nothing moved on a stream for {silence} s", silence = SILENCE.as_secs()),
        ),
        _ => unanswered(error),
    }
}

/// Progress of the receivers once streams have got to their rates, and how long a sample of these has to be.
#[derive(Debug)]
pub struct Look {
    before: Vec<Tally>,
    wait: Duration,
}

impl Look {
    /// The rates of what the receivers got in a sample's time, here and there, bytes a nanosecond.
    pub fn next(&mut self, flows: &Flows, clock: &Clock) -> Result<[f64; 2]> {
        flows.rates(clock, &mut self.before, self.wait)
    }

    /// The rates since these got to their rates, as far as the receivers are; none where one has got nothing yet.
    pub fn so_far(&self, flows: &Flows) -> Result<Option<[f64; 2]>> {
        Ok(flows.rates_since(&flows.progress()?, &self.before))
    }
}

#[derive(Debug)]
pub struct Receiver {
    stream: TcpStream,
    block: Vec<u8>,
    pub read: u64,
}

impl Receiver {
    /// The receiver of a stream on which a read ends in time, a block at a time.
    pub fn of(stream: TcpStream, block: u64) -> Result<Receiver> {
        Ok(Receiver { stream, block: block_of(block)?, read: 0 })
    }

    /// Returns the size of its receive buffer now, bytes.
    pub fn receive_buffer(&self) -> io::Result<u64> {
        socket::receive_buffer(&self.stream)
    }

    /// Reads so many bytes, a block at a time at most.
    #[inline]
    pub fn receive(&mut self, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            left -= self.receive_some(left)?;
        }
        Ok(())
    }

    /// Returns its stream's position now: bytes that have come, read or not, and when.
    pub fn place(&self, clock: &Clock) -> io::Result<(u64, Ticks)> {
        let at = clock.end();
        Ok((tcp_info::arrived(&self.stream, self.read)?, at))
    }

    /// Reads on from a place for a sample's time, or until it has read `most` bytes: how many came in which time. Where a packet is
    /// missing by then, it is waited for: those behind it count when it has come.
    pub fn receive_for(
        &mut self,
        clock: &Clock,
        from: &mut (u64, Ticks),
        sample_ns: f64,
        most: u64,
    ) -> io::Result<(Ticks, u64)> {
        let (last, mut due_ns) = (self.read.saturating_add(most), f64::INFINITY);
        loop {
            self.receive_some(u64::MAX)?;
            let ns = clock.ns(clock.end().since(from.1));
            if ns >= sample_ns || self.read >= last {
                due_ns = ns.min(due_ns);
            }
            if ns >= due_ns && ns >= due_ns + tcp_info::unsure_ns(&self.stream)? as f64 {
                break;
            }
        }
        let to = self.place(clock)?;
        let (came, begun) = std::mem::replace(from, to);
        Ok((to.1.since(begun), (to.0 - came).max(1)))
    }

    /// Reads once, so many bytes at most.
    #[inline]
    fn receive_some(&mut self, bytes: u64) -> io::Result<u64> {
        let most = self.block.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        match received(|| self.stream.read(&mut self.block[..most]))? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            got => {
                self.read += got as u64;
                Ok(got as u64)
            }
        }
    }

    /// Reads until the stream has got to its rate, bytes a nanosecond.
    pub fn settle(&mut self, clock: &Clock, pace: LinkPace) -> io::Result<f64> {
        let (mut settling, begun) = (Settling::new(), clock.start());
        let (mut from, mut rate) = (self.place(clock)?, f64::INFINITY);
        loop {
            let (ticks, bytes) = self.receive_for(clock, &mut from, pace.window_ns(rate), u64::MAX)?;
            rate = bytes as f64 / clock.ns(ticks);
            if settling.is_over(rate, clock.ns(clock.end().since(begun))) {
                return Ok(rate);
            }
        }
    }
}

#[cfg(test)]
#[path = "flows_tests.rs"]
mod tests;
