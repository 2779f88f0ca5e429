//! What these tests take: an emulator, a kernel, and the program as it is built for guests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hostmark_launch::agent::AgentLink;
use hostmark_launch::guest::{Accel, Booted, GuestSpec, kernel};
use hostmark_launch::program::Programs;
use hostmark_launch::supervise::{Ending, Errors, Membership, Terms};
use hostmark_model::{AgentAnswer, AgentRequest, Inputs, Profile, Run, RunRequest};

use crate::skip::skipped;

/// The program as it is built for guests: one that lies about somewhere may be of another day.
const NAMED: &str = "HOSTMARK_STATIC";
/// The kernel and its modules that are named so, else those of this machine.
const KERNEL: &str = "HOSTMARK_KERNEL";
const MODULES: &str = "HOSTMARK_MODULES";

/// What a test boots; none, and the reason told, where something is missing.
pub fn spec() -> Option<(GuestSpec, Programs)> {
    if !cfg!(target_arch = "x86_64") {
        skipped("guests are made on x86_64 alone");
        return None;
    }
    let Some(program) = program() else {
        skipped(
            "HOSTMARK_STATIC names no static program: cargo build --target x86_64-unknown-linux-musl -p hostmark makes one",
        );
        return None;
    };
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    let kernel = match named(KERNEL).map_or_else(kernel::found, Ok) {
        Ok(kernel) => kernel,
        Err(error) => {
            skipped(&error.to_string());
            return None;
        }
    };
    let (boot_timeout, modules) = (Duration::from_secs(120), named(MODULES));
    let spec = GuestSpec { boot_timeout, modules, ..GuestSpec::new(Accel::Tcg, kernel) };
    if std::process::Command::new(&spec.qemu).arg("--version").output().is_err() {
        skipped("there is no QEMU");
        return None;
    }
    let programs = Programs::of(&program, true, Path::new("/nowhere"));
    Some((spec, programs))
}

/// The program as it is built for guests.
pub fn program() -> Option<PathBuf> {
    std::env::var_os(NAMED).map(PathBuf::from)
}

pub fn agent(booted: &Booted, programs: &Programs) -> AgentLink {
    let (errors, ending) = (Errors::Captured, Ending::Killed);
    let terms = Terms { group: Membership::Own, has_input: true, errors, ending, stop: None };
    AgentLink::open(&booted.place(), "guest", programs, terms, |_| {}).unwrap()
}

/// What such a filter asks for.
pub fn request(filter: &str, inputs: Inputs) -> AgentRequest {
    let (filters, profile) = (vec![filter.to_owned()], Profile::Quick);
    let (set, via) = (Vec::new(), Vec::new());
    AgentRequest::Run(Box::new(RunRequest {
        filters,
        profile,
        seed: Some(7),
        set,
        table: None,
        inputs,
        via,
        begun: None,
    }))
}

/// What it measures in a guest.
pub fn measured(booted: &Booted, programs: &Programs, filter: &str, inputs: Inputs) -> Run {
    let mut link = agent(booted, programs);
    link.ask(&request(filter, inputs)).unwrap();
    loop {
        if let AgentAnswer::Run(run) = link.receive().unwrap() {
            assert!(link.finish());
            return *run;
        }
    }
}
