//! Streams opposite far ends that say what a test wants.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::super::terms::Direction;
use super::*;
use crate::skip::skipped;
use crate::workloads::network::local;
use crate::workloads::network::socket::NAME_BYTES;
use crate::workloads::network::tcp_info::TcpInfo;

/// Behaviour of a far end on a stream of its client's.
type Act<'a> = dyn Fn(TcpStream) + Sync + 'a;

/// The rates of a stream that goes to a far end which does this.
fn rates_against(act: &Act) -> Result<[f64; 2]> {
    let (listener, address) = local::tcp_listener(&["127.0.0.1".parse().unwrap()]).unwrap();
    let far = FarEnd { address, nonce: Nonce::of([9; 16]) };
    let terms = StreamOptions::plain(Direction::Send);
    let (message, clock) = (vec![1; 64 << 10], Clock::MonotonicRaw);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _account = admitted(&listener);
            let mut stream = admitted(&listener);
            stream.write_all(&[0; 8 + NAME_BYTES]).unwrap();
            act(stream);
        });
        let flows = Flows::start(scope, &terms, &message, &[far], &[])?;
        flows.settle(&clock)?.next(&flows, &clock)
    })
}

fn admitted(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().unwrap();
    let mut nonce = [0; 16];
    stream.read_exact(&mut nonce).unwrap();
    assert_eq!(nonce, [9; 16]);
    stream.write_all(&nonce).unwrap();
    stream
}

#[test]
fn the_rate_is_what_the_receiver_counts_by_its_clock_and_not_what_was_sent() {
    // It reads nothing: what is sent fills the buffers. By its own word it gets a kilobyte in each of its milliseconds, and of
    // these it has as many as it likes.
    let rates = rates_against(&|mut stream| {
        for step in 1..10_000_u64 {
            let bytes = [(step * 1000).to_le_bytes(), (7_000_000_000 + step * 1_000_000).to_le_bytes()].concat();
            if stream.write_all(&bytes).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_micros(300));
        }
    });
    let [received, sent] = rates.unwrap();
    assert!(received == 0.0 && (sent / 1e-3 - 1.0).abs() < 1e-9, "{received} {sent}");
}

#[test]
fn a_far_end_that_goes_away_is_reported_at_once() {
    let rates = rates_against(&|stream| {
        socket::reset_on_close(&stream).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    });
    let Err(RoundError::Failed(reason)) = rates else { panic!("{rates:?}") };
    assert!(reason.starts_with("the far end is gone"), "{reason}");
}

#[test]
#[ignore = "takes long"]
fn a_far_end_that_counts_no_further_has_no_rate() {
    let rates = rates_against(&|mut stream| {
        let bytes = [1000_u64.to_le_bytes(), 1_000_000_u64.to_le_bytes()].concat();
        while stream.write_all(&bytes).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    assert_eq!(rates, Err(RoundError::failed(ReasonCode::TimedOut, "nothing moved on a stream for 4 s")));
}

#[test]
fn what_nobody_has_read_yet_counts_when_it_came() {
    let (_listener, near, mut far) = local::tcp_pair().unwrap();
    if TcpInfo::of(&near).unwrap().received_bytes.is_none() {
        return skipped("nobody tells what has arrived, as an emulator does not");
    }
    let clock = Clock::MonotonicRaw;
    let mut receiver = Receiver::of(near, 4096).map_err(|_| "no room").unwrap();
    let has = |receiver: &Receiver, bytes| while receiver.place(&clock).unwrap().0 < bytes {};
    far.write_all(&[1; 20_000]).unwrap();
    has(&receiver, 20_000);
    let mut place = receiver.place(&clock).unwrap();
    far.write_all(&[1; 5000]).unwrap();
    has(&receiver, 25_000);
    // By its own reads it would have got five times as much.
    let (_, came) = receiver.receive_for(&clock, &mut place, 1.0, u64::MAX).unwrap();
    assert_eq!((came, receiver.read, place.0), (5000, 25_000, 25_000));
}
