//! Tests of flows of datagrams.

use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::workloads::{network::local, process};

const FLOW: DatagramPlan = DatagramPlan { datagram: 1000, bits_a_second: None, is_cut: false };

/// Makes a sender and a receiver, over loopback.
fn pair() -> (UdpSocket, UdpSocket) {
    let (receives, address) = local::udp_socket(&[IpAddr::V4(Ipv4Addr::LOCALHOST)]).unwrap();
    let sends = local::udp_connected(address).unwrap();
    receives.connect(sends.local_addr().unwrap()).unwrap();
    receives.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    (sends, receives)
}

/// Returns the account of numbers that come in this order, each 10 ns after the one before.
fn arrivals(numbers: &[u64]) -> Arrivals {
    let mut arrivals = Arrivals::default();
    for (index, &number) in (0..).zip(numbers) {
        arrivals.take(number, 1_000 + 10 * index, 70 + 10 * index);
    }
    arrivals
}

#[test]
fn what_is_missing_and_what_is_late_is_counted() {
    let all = arrivals(&[5, 6, 7, 8]);
    assert_eq!((all.missing(), all.reordered, all.span_ns(), all.jitter_ns), (Some(0.0), 0, 30, 0.0));
    // Of 5 to 14 five came, and 9 after 14.
    let some = arrivals(&[5, 6, 8, 14, 9]);
    assert_eq!((some.missing(), some.reordered, some.received), (Some(0.5), 1, 5));
    // One that comes twice makes up for none.
    assert_eq!(arrivals(&[5, 5, 5, 6]).missing(), Some(0.0));
    assert_eq!(Arrivals::default().missing(), None);
}

#[test]
fn a_later_flow_begins_anew_and_what_is_late_of_an_earlier_one_is_none_of_it() {
    let next = 1 << FLOW_SHIFT;
    let second = arrivals(&[0, 1, next, 2, next + 1, next + 3]);
    assert_eq!((second.flow, second.received, second.missing(), second.reordered), (1, 3, Some(0.25), 0));
}

#[test]
fn jitter_is_that_of_rfc_3550_and_no_offset_between_the_clocks_counts() {
    let sent_ns = [0, 1_000, 2_000, 3_000];
    // The way takes 500 ns, then 660, 660 and 340.
    for offset in [500, u64::MAX - 10_000, 1 << 60] {
        let mut arrivals = Arrivals::default();
        for (number, (sent_ns, more)) in (0..).zip(sent_ns.into_iter().zip([0_u64, 160, 160, 0_u64.wrapping_sub(160)]))
        {
            arrivals.take(number, sent_ns, sent_ns.wrapping_add(offset).wrapping_add(more));
        }
        let expected = [160.0, 0.0, 320.0].into_iter().fold(0.0, |jitter, differs| jitter + (differs - jitter) / 16.0);
        assert_eq!(arrivals.jitter_ns, expected, "{offset}");
    }
}

#[test]
fn what_is_sent_is_received_whole_cut_or_not() {
    for is_cut in [false, true] {
        let (sends, receives) = pair();
        let flow = DatagramPlan { is_cut, ..FLOW };
        let mut receiver = Receiver::new(&receives, flow, 64).unwrap();
        let mut sender = Sender::new(&sends, flow).unwrap();
        let sent = sender.send(100, |_, count| Ok(count >= 40)).unwrap();
        assert!(sent.datagrams >= 40 && sent.passed_ns > 0 && sent.blocked_ns == 0, "{sent:?}");
        // Joined to what was before it, or by itself.
        let said = [&NO_NUMBER.to_le_bytes()[..], &[9; 56]].concat();
        sends.send(&[1; 3]).unwrap_or_else(|error| panic!("{error}"));
        sends.send(&said).unwrap();
        let mut arrivals = Arrivals::default();
        let mut came = 0;
        while came < sent.datagrams {
            came += receiver.receive(&mut arrivals, RecvFlags::empty()).unwrap();
        }
        assert_eq!((came, arrivals.received, arrivals.missing()), (sent.datagrams, sent.datagrams, Some(0.0)));
        assert_eq!(arrivals.lowest, 100);
        assert_eq!(arrivals.most_joined > 1, is_cut, "{arrivals:?}");
        let received = receiver
            .receive_matching(Duration::from_secs(5), |message| (message.len() == 64).then(|| message.to_vec()));
        assert_eq!(received.unwrap(), Some(said));
    }
}

#[test]
fn a_flow_has_its_rate_and_no_burst_of_more_than_a_millisecond() {
    for is_cut in [false, true] {
        // In a process of its own: what the sender used is told of its process, which tests that run beside have a part in.
        process::in_a_child(|| {
            // 1000 bytes at 16 Mbit/s are two a millisecond.
            let flow = DatagramPlan { bits_a_second: Some(16e6), is_cut, ..FLOW };
            let (sends, _receives) = pair();
            let sent =
                Sender::new(&sends, flow)?.send(0, |passed_ns, count| Ok(passed_ns >= 100_000_000 && count > 10))?;
            // A machine that is busy may give up some, and none is sent before it is due.
            let due = sent.passed_ns as f64 / 500_000.0;
            assert!(sent.datagrams as f64 <= due + 4.0, "{sent:?}");
            assert!(sent.cpu_ns < sent.passed_ns / 2, "it sleeps: {sent:?}");
            Ok(())
        });
    }
}

#[test]
fn nobody_at_the_other_end_is_an_error() {
    let (sends, receives) = pair();
    drop(receives);
    let refused = Sender::new(&sends, FLOW).unwrap().send(0, |passed_ns, _| Ok(passed_ns > 5_000_000_000)).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn the_largest_packet_of_the_way_is_known() {
    assert!(path_mtu(&pair().0).unwrap() >= 1280);
}

#[test]
fn what_the_receivers_buffer_has_no_room_for_is_reported() {
    let (sends, receives) = pair();
    assert_eq!(dropped(&receives), 0);
    // Some megabytes, where the buffer holds a part of one.
    let sent = Sender::new(&sends, FLOW).unwrap().send(0, |_, count| Ok(count >= 20_000)).unwrap();
    receives.set_nonblocking(true).unwrap();
    let came = std::iter::from_fn(|| receives.recv(&mut [0; 1000]).ok()).count() as u64;
    assert!(came > 0 && came < sent.datagrams, "{came}");
    assert_eq!(came + dropped(&receives), sent.datagrams);
}

#[test]
fn what_was_kept_for_a_receiver_without_a_cpu_did_not_come_so_fast() {
    let mut arrivals = Arrivals::default();
    let mut read = |number: u64, at_ns: u64, is_waited_for: bool| {
        arrivals.take(number, 1_000 * number, at_ns);
        if is_waited_for {
            arrivals.was_waited_for();
        }
        arrivals
    };
    // Ten that were kept, and are read in a moment: nothing tells how fast they came.
    let kept = (0..10).map(|number| read(number, 10_000 + number, false)).last().expect("there is one");
    assert_eq!((kept.steady(), kept.span_ns()), (None, 9));
    // One each microsecond after those.
    let steady = (10..40).map(|number| read(number, 1_000 * number + 1_000, true)).last().expect("there is one");
    assert_eq!(steady.steady(), Some((29, 29_000)));
    // Those that are kept again count by the next that is waited for.
    let kept_again = (40..60).map(|number| read(number, 60_000 + number, false)).last().expect("there is one");
    assert_eq!(kept_again.steady(), Some((29, 29_000)));
    assert_eq!(read(60, 61_000, true).steady(), Some((50, 50_000)));
}
