//! Remarks that readers need before the tables.

use hostmark_model::{IN_SOFTWARE, Lang, Message, Text, Unit};
use hostmark_say::say;

use super::alike::{cpus as cpus_of, is_as_large, memory};
use super::family::Space;
use super::merged::merged;
use super::sheet::Sheet;
use super::{Environment, control};
use crate::{format, guest};

/// Remarks on the machines: whether they are real, disturbed, as large as the first, and whether the first was measured often enough to be
/// compared with itself.
pub(super) fn of_machines(environments: &[Environment]) -> Vec<Message> {
    let each = |of: fn(&Environment) -> Vec<Message>| environments.iter().flat_map(of);
    let control = uncontrolled(environments);
    each(emulated).chain(each(disturbances)).chain(differences(environments)).chain(control).collect()
}

/// Remarks on the figures: doubtful ones, and the reason why the kernel's side is missing.
pub(super) fn of_sheets(sheets: &[Sheet]) -> Vec<Message> {
    doubted(sheets).into_iter().chain(without_kernel(sheets)).collect()
}

/// Disturbances of the machine in its runs, each kind once.
fn disturbances(environment: &Environment) -> Vec<Message> {
    let name = environment.name;
    let remarks = merged(environment.runs.iter().map(|run| run.disturbances.as_slice()));
    // Of a guest that is known to be emulated the first remark says so already.
    let is_new = |remark: &Text<String>| !(environment.is_emulated() && remark.en.starts_with(IN_SOFTWARE.en));
    let named = |remark: Text<String>| say!("{name}: {remark}");
    remarks.into_iter().filter(is_new).map(named).collect()
}

/// The hypervisor that signs as itself where it executes without the processor's help.
const EMULATOR: &str = "qemu";

fn emulated(environment: &Environment) -> Vec<Message> {
    let name = environment.name;
    if let Some(remark) = environment.runs.iter().find_map(|run| guest::warning(run)) {
        return vec![say!("{name} was {remark}")];
    }
    // Where it is known what carries the instructions out, nothing has to be supposed.
    let is_supposed = |run: &&&hostmark_model::Run| {
        run.guest.is_none() && run.host.virtualization.hypervisor.as_deref() == Some(EMULATOR)
    };
    let found = environment.runs.iter().find(is_supposed);
    let remark = |_| {
        say!(
            "{name} runs in QEMU, and its processor does not name KVM: if QEMU emulates it, its figures say nothing about \
             hardware"
        )
    };
    found.into_iter().map(remark).collect()
}

/// Remark that the first environment cannot be compared with itself.
fn uncontrolled(environments: &[Environment]) -> Option<Message> {
    let (first, others) = environments.split_first()?;
    let name = first.name;
    (!others.is_empty() && !control::is_there(first))
        .then(|| say!("{name} has one run: without a second one no percentage has an A/A control beside it"))
}

/// Remark on the number of an environment's disturbed figures.
fn doubted(sheets: &[Sheet]) -> Vec<Message> {
    let Some(environments) = sheets.first().map(|sheet| sheet.environments) else { return Vec::new() };
    let remark = |(index, environment): (usize, &Environment)| {
        let of_environment = sheets.iter().flat_map(|sheet| &sheet.figures).filter(|one| one.environment == index);
        let values: Vec<bool> = of_environment.filter_map(|one| Some(one.value.as_ref().ok()?.is_doubted)).collect();
        let (name, all, count) = (environment.name, values.len(), values.iter().filter(|is| **is).count());
        (count > 0).then(|| say!("{name}: {count} of {all} values were disturbed and are not used for conclusions"))
    };
    environments.iter().enumerate().filter_map(remark).collect()
}

/// Environments without measurements inside the kernel, by each reason once.
fn without_kernel(sheets: &[Sheet]) -> Vec<Message> {
    let mut reasons: Vec<(&Message, Vec<&str>)> = Vec::new();
    for (sheet, index) in sheets.iter().flat_map(|sheet| (0..sheet.environments.len()).map(move |index| (sheet, index)))
    {
        let of_kernel = || sheet.figures.iter().filter(|one| one.environment == index && one.side == Space::Kernel);
        let Some(why) = of_kernel().find_map(|one| one.value.as_ref().err()) else { continue };
        if of_kernel().any(|one| one.value.is_ok()) {
            continue;
        }
        let name = sheet.environments[index].name;
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let remark = |(why, names): (&Message, Vec<&str>)| {
        let names = Message::joined(names, term!(", ", "list"));
        say!("{names}: nothing was measured inside the kernel ({why})")
    };
    reasons.into_iter().map(remark).collect()
}

/// A remark for each environment that is not held to the CPUs and the memory of the first.
fn differences(environments: &[Environment]) -> Vec<Message> {
    let size = |environment: &Environment| (cpus_of(environment), memory(environment));
    let Some(first) = environments.first() else { return Vec::new() };
    let (cpus, bytes) = size(first);
    let text = |cpus: usize, bytes: u64| match (cpus, bytes) {
        (0, 0) => None,
        _ => Some(format!("{cpus} CPU, {}", format::value(bytes as f64, Unit::Bytes, Lang::En))),
    };
    let remark = |other: &Environment| {
        let (others, their_bytes) = size(other);
        let (ours, theirs) = (text(cpus, bytes)?, text(others, their_bytes)?);
        let is_alike = others == cpus && is_as_large(bytes, their_bytes);
        let (one, two) = (first.name, other.name);
        (!is_alike).then(|| say!("{one} has {ours}, {two} {theirs}: hold the first to the size of the second (--cpu, a memory limit) before \
                 cases of many threads or large buffers are compared"))
    };
    environments[1..].iter().filter(|other| !other.is_free()).filter_map(remark).collect()
}
