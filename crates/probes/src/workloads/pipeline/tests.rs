//! Pipelines of each kind: all bytes arrive, in their order, and are accounted for.

use std::io::{Read, Write};

use super::*;
use crate::workloads::affinity;
use crate::workloads::process::in_a_child;

const AMOUNT: u64 = 3_000_000;

/// Two transfers of `name`, and what its processes told of the second.
fn accounts(name: &str, cpus: &[usize]) -> io::Result<Vec<TransferAccount>> {
    let path: Path = name.parse().map_err(io::Error::other)?;
    let file = files::unnamed(&std::env::temp_dir())?;
    files::fill(&file, AMOUNT, |_| Ok::<(), io::Error>(()))?;
    let plan = PipelinePlan { path: &path, file: Some(&file), amount: AMOUNT, cpus };
    let mut block = vec![7; 10_000];
    let mut pipeline = Pipeline::start(&plan, &mut block)?;
    pipeline.transfer()?;
    let passed = pipeline.transfer()?;
    let accounts = pipeline.accounts().to_vec();
    for account in &accounts {
        assert_eq!((account.bytes, account.passed), (AMOUNT, passed), "{name}");
        assert!(account.user <= account.cpu && account.read_wait + account.write_wait <= passed, "{name}: {account:?}");
    }
    Ok(accounts)
}

#[test]
fn every_process_moves_all_bytes_and_counts_its_copies() {
    in_a_child(|| {
        let cpus = affinity::allowed()?;
        let of = |name: &str, cpus: &[usize]| -> io::Result<Vec<[u64; 2]>> {
            Ok(accounts(name, cpus)?
                .iter()
                .map(|accounts_of| [accounts_of.copied / AMOUNT, accounts_of.crossed / AMOUNT])
                .collect())
        };
        for cpus in [&cpus[..1], &cpus[..]] {
            assert_eq!(of("zero_null", cpus)?, [[1, 2]]);
            assert_eq!(of("memory_pipe_memory", cpus)?, [[1, 1], [1, 1]]);
            assert_eq!(of("zero_pipe_socket_null", cpus)?, [[2, 2], [2, 2], [1, 2]]);
            assert_eq!(of("zero_pipe_poll_socket_poll_null", cpus)?, [[2, 2], [2, 2], [1, 2]]);
            assert_eq!(of("zero_pipe_splice_socket_null", cpus)?, [[2, 2], [0, 0], [1, 2]]);
            assert_eq!(of("zero_pipe_socket_splice_null", cpus)?, [[2, 2], [2, 2], [0, 0]]);
            assert_eq!(of("file_socket_null", cpus)?, [[2, 2], [1, 2]]);
            assert_eq!(of("cold_file_socket_null", cpus)?, [[2, 2], [1, 2]]);
            assert_eq!(of("file_sendfile_socket_null", cpus)?, [[0, 0], [1, 2]]);
            assert_eq!(of("file_splice_socket_null", cpus)?, [[0, 0], [1, 2]]);
            let five = "zero_pipe_socket_pipe_pipe_null";
            assert_eq!(of(five, cpus)?, [[2, 2], [2, 2], [2, 2], [2, 2], [1, 2]]);
            // Over loopback the kernel copies what it was given without a copy.
            assert_eq!(of("memory_zero_copy_socket_memory", cpus)?, [[1, 1], [1, 1]]);
        }
        for name in ["memory_socket_memory_close", "memory_socket_memory_behind"] {
            assert_eq!(of(name, &cpus[..1])?, [[1, 1], [1, 1]]);
        }
        Ok(())
    });
}

#[test]
fn a_queue_that_takes_less_than_a_reader_is_behind_holds_nobody_up() {
    in_a_child(|| {
        let path: Path = "memory_socket_memory_behind".parse().map_err(io::Error::other)?;
        let cpus = affinity::allowed()?;
        // More at once than a connection holds, and less than a block in all.
        for (block, amount) in [(8 << 20, 64 << 20), (1 << 20, 1000)] {
            let plan = PipelinePlan { path: &path, file: None, amount, cpus: &cpus[..1] };
            let mut pipeline = Pipeline::start(&plan, &mut vec![7; block])?;
            for _ in 0..3 {
                pipeline.transfer()?;
            }
            assert!(pipeline.accounts().iter().all(|accounts_of| accounts_of.bytes == 2 * amount));
        }
        Ok(())
    });
}

#[test]
fn who_waits_for_a_slow_neighbour_waits_on_its_side() {
    in_a_child(|| {
        let cpus = affinity::allowed()?;
        // Processes that take turns on one CPU run a part of the time each, and wait the rest of it. Whoever else takes the CPU
        // for longer than a transfer adds to any wait, and takes none away: the shorter of one beside the usual of the other.
        let mut accounts_of = Vec::new();
        for _ in 0..15 {
            accounts_of.push(accounts("zero_pipe_null", &cpus[..1])?);
        }
        let of = |nth: usize, number: fn(&TransferAccount) -> u64| -> Vec<u64> {
            let mut numbers: Vec<u64> = accounts_of.iter().map(|accounts| number(&accounts[nth])).collect();
            numbers.sort_unstable();
            numbers
        };
        let [writer, reader] = [0, 1]
            .map(|nth| (of(nth, |accounts_of| accounts_of.read_wait), of(nth, |accounts_of| accounts_of.write_wait)));
        let (shortest, usual) = (0, accounts_of.len() / 2);
        assert!(writer.1[usual] > writer.0[shortest], "{accounts_of:?}");
        assert!(reader.0[usual] > reader.1[shortest], "{accounts_of:?}");
        let together =
            accounts_of.iter().filter(|both| both[0].cpu + both[1].cpu <= both[0].passed + both[0].passed / 4);
        assert!(together.count() > usual, "{accounts_of:?}");
        assert!(accounts_of.iter().flatten().all(|account| account.switches > 0), "{accounts_of:?}");
        Ok(())
    });
}

#[test]
fn each_way_moves_the_bytes_in_their_order() {
    let content: Vec<u8> = (0..200_000_u32).map(|index| (index % 251) as u8).collect();
    for (from, by, to) in [
        (Endpoint::File, Method::Copy, Endpoint::Socket),
        (Endpoint::File, Method::SendFile, Endpoint::Socket),
        (Endpoint::File, Method::Poll, Endpoint::Socket),
        (Endpoint::Socket, Method::Poll, Endpoint::Pipe),
        (Endpoint::File, Method::Splice, Endpoint::Socket),
        (Endpoint::File, Method::Splice, Endpoint::Pipe),
        (Endpoint::Pipe, Method::Copy, Endpoint::Socket),
        (Endpoint::Pipe, Method::Splice, Endpoint::Socket),
        (Endpoint::Socket, Method::Splice, Endpoint::Pipe),
    ] {
        let file = crate::workloads::network::socket::memory_file(&content).unwrap();
        let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let socket = || {
            let (_, near, far) = local::tcp_pair().unwrap();
            (OwnedFd::from(far), OwnedFd::from(near))
        };
        let (source, fed) = match from {
            Endpoint::Pipe => Some(pipe()),
            Endpoint::Socket => Some(socket()),
            _ => None,
        }
        .map_or((file, None), |(read_end, write_end)| (read_end, Some(write_end)));
        let (drain, sink) = if to == Endpoint::Pipe { pipe() } else { socket() };
        let got = std::thread::scope(|scope| {
            let feeder = scope.spawn(|| fed.map(|fed| std::fs::File::from(fed).write_all(&content)));
            let reader = scope.spawn(|| {
                let mut got = vec![0; 200_000];
                std::fs::File::from(drain).read_exact(&mut got).map(|()| got)
            });
            let mut block = vec![0; 30_000];
            let mut mover = Mover::new(Stage { from, by, to }, Some(&source), Some(&sink), &mut block).unwrap();
            mover.begin().unwrap();
            let mut left = 200_000;
            while left > 0 {
                let came = mover.read(left.min(30_000)).unwrap();
                left -= mover.write(came).unwrap();
            }
            feeder.join().unwrap().transpose().unwrap();
            reader.join().unwrap().unwrap()
        });
        assert!(got == content, "{from:?} {by:?} {to:?}");
    }
}

#[test]
fn a_process_that_fails_ends_the_transfer() {
    in_a_child(|| {
        let path: Path = "file_socket_null".parse().map_err(io::Error::other)?;
        // Shorter than a transfer: its reader meets the end of it.
        let file = files::unnamed(&std::env::temp_dir())?;
        let cpus = affinity::allowed()?;
        let plan = PipelinePlan { path: &path, file: Some(&file), amount: AMOUNT, cpus: &cpus };
        let pipeline = Pipeline::start(&plan, &mut [0; 4096])?;
        give(&pipeline.slots[0].turn.0)?;
        while std::fs::read_to_string(format!("/proc/{}/stat", pipeline._peers[0].pid()))
            .is_ok_and(|stat| !stat.contains(") Z"))
        {
            std::thread::yield_now();
        }
        Ok(())
    });
}

#[test]
fn a_wait_before_the_transfer_is_none_of_it() {
    let account = TransferAccount { read_wait: 900, write_wait: 300, run_delay: 50, ..TransferAccount::default() };
    let of = |passed, early| {
        let account = account.within(passed, early);
        [account.passed, account.read_wait, account.write_wait, account.run_delay]
    };
    assert_eq!(of(1000, 400), [1000, 500, 300, 50]);
    assert_eq!(of(1000, 2000), [1000, 0, 300, 50]);
    // An estimate from samples is no more than the time that it is a share of.
    assert_eq!(of(40, 0), [40, 40, 0, 40]);
}

#[test]
fn accounts_add_up_and_are_received_as_reported() {
    let one = TransferAccount::of(std::array::from_fn(|index| index as u64 + 1));
    let slot = Slot::default();
    slot.store(one);
    assert_eq!(slot.load(), one);
    assert_eq!((one.with(one).passed, one.with(one).crossed), (2, 20));
}
