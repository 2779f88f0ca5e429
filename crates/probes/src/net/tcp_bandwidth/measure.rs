//! How streams are measured: one that comes here in the case's own thread, others by looks at their receivers.

use hostmark_engine::prelude::*;

use super::account::FarReport;
use super::direction::Direction;
use super::far::begun;
use super::flows::Flows;
use super::quantities::{give_cpu_time, give_cpus, give_info, give_rates, give_turns};
use super::receiver::Receiver;
use super::settle::LinkPace;
use super::terms::StreamOptions;
use crate::authenticated::{PATIENCE, connect, connect_with, unanswered};
use crate::context_switches::ContextSwitches;
use crate::workloads::machine::busy::{Account, Busy};
use crate::workloads::network::socket;
use crate::workloads::network::tcp_info::TcpInfo;

/// Bytes of a sample at most.
const LONGEST_STEP: u64 = 128 << 20;

/// Measures the point at which the case stands.
pub fn measure(case: &mut Case) -> Result<()> {
    let terms = StreamOptions::of(|axis| case.param(axis))?;
    let streams = case.far_ends().len() as u64;
    match (terms.direction, streams) {
        (Direction::Receive, 1) => received(case, &terms),
        _ => looked_at(case, &terms),
    }
}

/// One stream that comes here: the case's own thread reads it, and nothing else is in the way.
fn received(case: &mut Case, terms: &StreamOptions) -> Result<()> {
    case.may_fill(terms.block)?;
    let far = case.far_end()?.clone();
    let account = connect(&far)?;
    let stream = connect_with(&far, PATIENCE, |socket| terms.set_near(socket, false))?;
    let (send_buffer, congestion) = begun(&stream).map_err(unanswered)?;
    terms.window.check(send_buffer, socket::receive_buffer(&stream)?)?;
    case.note("congestion_control", congestion);
    let pace = LinkPace::of(&TcpInfo::of(&stream)?);
    let mut receiver = Receiver::of(stream, terms.block)?;
    let (mut busy, turns) = (Busy::default(), ContextSwitches::of_this_side());
    let (mut timed, mut settled) = (0, None);
    case.timed(|clock| {
        let Some((sample_ns, place)) = &mut settled else {
            // What the stream takes to get to its rate is thrown away, as every round's first sample is.
            let rate = receiver.settle(clock, pace).map_err(unanswered)?;
            turns.moved(receiver.read);
            settled = Some((pace.sample_ns(rate), receiver.place(clock)?));
            return Ok((clock.ticks(1.0), 1));
        };
        let before = receiver.read;
        busy.begin()?;
        let came = receiver.receive_for(clock, place, *sample_ns, LONGEST_STEP).map_err(unanswered)?;
        busy.end()?;
        turns.moved(receiver.read - before);
        timed += receiver.read - before;
        Ok(came)
    })
    .rate_of_the_whole(1)?;
    let all = receiver.read;
    case.note("receive_buffer_bytes", receiver.receive_buffer()?);
    // Its end is that of what the sender accounts for.
    drop(receiver);
    let report = FarReport::receive(account).map_err(unanswered)?;
    note_far(case, terms.direction, &report);
    turns.give_beside(case, report.account.switches)?;
    give_cpus(case, report.account.cpus(), busy.cpus())?;
    give_cpu_time(case, (busy.cpu_ns(), timed), &[report], all)?;
    let sent: Vec<TcpInfo> = report.sent.into_iter().collect();
    give_info(case, &sent, all, report.account.passed_ns())
}

/// Streams with threads of their own: what is timed are looks at how far their receivers are.
fn looked_at(case: &mut Case, terms: &StreamOptions) -> Result<()> {
    let far = case.far_ends().to_vec();
    case.may_fill(u64::saturating_mul(terms.block, far.len() as u64))?;
    let cpus = if far.len() > 1 { case.thread_cpus() } else { Vec::new() };
    if far.len() > cpus.len() && !cpus.is_empty() {
        case.note("streams_per_cpu", far.len().div_ceil(cpus.len()));
    }
    let message = case.buffer(if terms.direction.sends() { terms.message } else { 1 }, Pages::Base, None)?;
    let (mut rates, mut ended, mut reports) = (Vec::new(), None, Vec::new());
    let near = Account::of(|| {
        std::thread::scope(|scope| {
            let flows = Flows::start(scope, terms, message.bytes(), &far, &cpus)?;
            note_begun(case, &flows)?;
            let mut look = None;
            case.timed(|clock| {
                let Some(look) = &mut look else {
                    look = Some(flows.settle(clock)?);
                    return Ok((clock.ticks(1.0), 1));
                };
                let start = clock.start();
                let [received, sent] = look.next(&flows, clock)?;
                let ticks = clock.end().since(start);
                rates.push([received, sent]);
                Ok((ticks, (((received + sent) * clock.ns(ticks)).round() as u64).max(1)))
            })
            .rate_of_the_whole(1)?;
            note_buffers(case, &flows)?;
            let mut all = flows.end()?;
            reports.append(&mut all.reports);
            ended = Some(all);
            Ok::<(), RoundError>(())
        })
    })?;
    let Some(ended) = ended else { return Ok(()) };
    for report in reports.iter().take(1) {
        note_far(case, terms.direction, report);
    }
    if let Some(copied) = ended.copied.filter(|_| terms.direction == Direction::Send) {
        note_copied(case, copied);
    }
    if terms.direction == Direction::Both {
        let mean = |way: usize| rates.iter().map(|rates| rates[way]).sum::<f64>() / rates.len().max(1) as f64;
        give_rates(case, [mean(0), mean(1)])?;
    }
    let bytes = ended.bytes[0].saturating_add(ended.bytes[1]);
    let of_far = || reports.iter().filter_map(|report| report.account.cpus()).reduce(|sum, cpus| sum + cpus);
    match terms.direction {
        Direction::Receive => give_cpus(case, of_far(), near.cpus())?,
        Direction::Send => give_cpus(case, near.cpus(), of_far())?,
        Direction::Both => {}
    }
    give_turns(case, reports.iter().map(|report| report.account).chain([near]), bytes)?;
    give_cpu_time(case, (near.cpu_ns(), bytes), &reports, bytes)?;
    let sent: Vec<TcpInfo> = ended.sent.into_iter().chain(reports.iter().filter_map(|report| report.sent)).collect();
    let passed_ns = reports.iter().map(|report| report.account.passed_ns()).max().unwrap_or(0);
    give_info(case, &sent, bytes, passed_ns)
}

fn note_begun(case: &mut Case, flows: &Flows) -> Result<()> {
    let far = flows.begun().map(|(_, congestion)| congestion.clone());
    if let Some(congestion) = flows.own_congestion()?.or(far) {
        case.note("congestion_control", congestion);
    }
    Ok(())
}

fn note_buffers(case: &mut Case, flows: &Flows) -> Result<()> {
    if let Some((sends, bytes)) = flows.own_buffer()? {
        case.note(if sends { "send_buffer_bytes" } else { "receive_buffer_bytes" }, bytes);
    }
    Ok(())
}

/// Notes how the far end carried its streams.
fn note_far(case: &mut Case, direction: Direction, report: &FarReport) {
    match direction {
        Direction::Receive => case.note("send_buffer_bytes", report.buffer),
        Direction::Send => case.note("receive_buffer_bytes", report.buffer),
        // Its buffer to send from is that of this end's.
        Direction::Both => {}
    }
    if let Some(copied) = report.copied {
        note_copied(case, copied);
    }
}

fn note_copied(case: &mut Case, copied: bool) {
    case.note("zero_copy", if copied { "copied" } else { "not copied" });
}
