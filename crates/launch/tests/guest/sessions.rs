//! Guests that are booted, answer again and again, end, are left, or write to their channel while an agent has it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hostmark_launch::agent::AgentError;
use hostmark_launch::guest::{Booted, GuestError, GuestSpec};
use hostmark_model::{AgentAnswer, AgentRequest, Inputs, Outcome};
use rustix::process::{Pid, Signal, kill_process};

use super::spot::{agent, measured, request, spec};

#[test]
fn a_guest_answers_one_agent_after_the_other() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    for _ in 0..2 {
        let mut link = agent(&booted, &programs);
        link.ask(&AgentRequest::Facts).unwrap();
        let AgentAnswer::Facts(report) = link.receive().unwrap() else { panic!("no facts") };
        assert!(report.host.virtualization.hypervisor.is_some(), "{:?}", report.host.virtualization);
        assert!(link.finish());
    }
    let described = booted.described();
    assert!(described.vmm.starts_with("QEMU ") && described.machine.starts_with("pc-q35-"), "{described:?}");
    assert!(described.boot_ns > 0 && described.digests.len() == 2);
}

#[test]
fn a_case_is_measured_in_a_guest() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    let run = measured(&booted, &programs, "syscall.null", Inputs::default());
    assert!(!run.cases.is_empty());
    assert!(run.cases.iter().all(|case| matches!(case.outcome, Outcome::Measured(_))), "{:?}", run.cases);
    assert!(run.host.virtualization.hypervisor.is_some());
}

/// Tells a child of this test that it boots a guest, and is killed.
const IS_KILLED: &str = "HOSTMARK_GUEST_IS_KILLED";
/// How often it is looked whether a process has ended, every 10 ms.
const LOOKS: usize = 500;

fn has_ended(id: u32) -> bool {
    (0..LOOKS).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !Path::new(&format!("/proc/{id}")).exists()
    })
}

#[test]
fn a_guest_that_dies_half_way_is_reported_with_its_console() {
    let Some((spec, programs)) = spec() else { return };
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("monitor");
    let chardev = format!("socket,id=test,path={},server=on,wait=off", socket.display());
    let words = ["-chardev", &chardev, "-mon", "chardev=test,mode=control"].map(str::to_owned);
    let booted = Booted::boot(&GuestSpec { qemu_args: words.to_vec(), ..spec }, &programs, None, |_| {}).unwrap();
    let mut link = agent(&booted, &programs);
    link.ask(&request("syscall", Inputs::default())).unwrap();
    while !matches!(link.receive().unwrap(), AgentAnswer::Round(_)) {}
    let mut monitor = UnixStream::connect(&socket).unwrap();
    monitor.write_all(b"{\"execute\":\"qmp_capabilities\"}{\"execute\":\"system_reset\"}\n").unwrap();
    let error = loop {
        match link.receive() {
            Ok(_) => {}
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("the guest has stopped") && error.contains("console ends with"), "{error}");
}

#[test]
fn a_guest_whose_emulator_is_killed_is_reported_at_once() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    let mut link = agent(&booted, &programs);
    // A child of this process that nobody has waited for: the number is its own.
    kill_process(Pid::from_raw(booted.id() as i32).unwrap(), Signal::KILL).unwrap();
    let error = match link.ask(&AgentRequest::Facts).and_then(|()| link.receive()) {
        Err(error @ AgentError::Ended { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(error.contains("QEMU has ended"), "{error}");
}

#[test]
fn a_session_that_is_left_in_the_middle_makes_room_for_the_next() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    for _ in 0..2 {
        let mut link = agent(&booted, &programs);
        link.ask(&request("syscall.null", Inputs::default())).unwrap();
        while !matches!(link.receive().unwrap(), AgentAnswer::Round(_)) {}
        // Its process here is killed: the guest is told nothing.
        kill_process(Pid::from_raw(link.id() as i32).unwrap(), Signal::KILL).unwrap();
    }
    let mut link = agent(&booted, &programs);
    link.ask(&AgentRequest::Facts).unwrap();
    assert!(matches!(link.receive().unwrap(), AgentAnswer::Facts(_)));
}

#[test]
fn a_guest_that_floods_its_channel_is_ended() {
    let Some((spec, programs)) = spec() else { return };
    let none = tempfile::tempdir().unwrap();
    fs::write(none.path().join("modules.dep"), "").unwrap();
    let spec = GuestSpec { modules: Some(none.path().into()), ..spec };
    // The kernel's own words go to the serial port that the channel is.
    let garbage = |more: &str| {
        let append = format!("earlyprintk=ttyS1,115200,keep {more}").split_whitespace().map(str::to_owned).collect();
        Booted::boot(&GuestSpec { append, ..spec.clone() }, &programs, None, |_| {})
    };
    let error = garbage("ignore_loglevel dyndbg=+p").unwrap_err();
    assert!(matches!(error, GuestError::Floods(_)), "{error}");
    // What is less comes before the answer, and is dropped.
    let booted = garbage("quiet").unwrap();
    let mut link = agent(&booted, &programs);
    link.ask(&AgentRequest::Facts).unwrap();
    assert!(matches!(link.receive().unwrap(), AgentAnswer::Facts(_)));
}

#[test]
fn whoever_is_killed_with_a_guest_leaves_no_emulator() {
    let Some((spec, programs)) = spec() else { return };
    if std::env::var_os(IS_KILLED).is_some() {
        // The one that is killed.
        let booted = Booted::boot(&spec, &programs, None, |id| {
            let _ = writeln!(std::io::stderr(), "QEMU {id}");
        });
        let _ = writeln!(std::io::stderr(), "booted");
        std::thread::sleep(Duration::from_secs(60));
        drop(booted);
        return;
    }
    let name = std::thread::current().name().unwrap().to_owned();
    for is_booted in [false, true] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &name, "--nocapture", "--test-threads", "1"]).env(IS_KILLED, "1");
        let mut killed = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(killed.stderr.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|line| line.starts_with("QEMU ")).unwrap();
        let id: u32 = line.trim_start_matches("QEMU ").parse().unwrap();
        if is_booted {
            assert!(lines.any(|line| line == "booted"));
        }
        assert!(Path::new(&format!("/proc/{id}")).exists());
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(has_ended(id), "QEMU {id} is still there");
    }
}
