//! A run as a reference.

use std::collections::HashSet;

use hostmark_model::{Estimate, Measured, Run};
use hostmark_say::say;

use super::{Reference, ReferenceValue};
use crate::constants::{self, is_of_core};
use crate::words;

/// A run as a reference of this name, to be found at `address`.
pub fn of_run(run: &Run, name: &str, address: &str) -> Reference {
    let host = &run.host;
    let groups = constants::of_run(run);
    let constants: Vec<&constants::ConstantValue> = groups.iter().flat_map(|(_, constants)| constants).collect();
    let shown: HashSet<&str> = constants
        .iter()
        .filter(|constant| constant.quantity().is_empty())
        .map(|constant| constant.case.id.as_str())
        .collect();
    let of_constant = |constant: &&constants::ConstantValue| match constant.in_core_cycles() {
        Some(cycles) if is_of_core(&constant.key()) => value(constant.key(), Measured::CYCLES, &cycles),
        _ => value(constant.key(), constant.quantity(), constant.estimate),
    };
    let rest = run.cases.iter().filter(|case| case.peer().is_none() && !shown.contains(case.id.as_str()));
    let of_case = |case: &hostmark_model::CaseRecord| value(case.id.clone(), "", &case.measured()?.estimate);
    let values = constants.iter().filter_map(of_constant).chain(rest.filter_map(of_case)).collect();
    let model = host.cpu.plain_model();
    let cpus = host.cpus.iter().filter(|cpu| cpu.online).count();
    let hostname = &host.hostname;
    let named = model.clone().unwrap_or_else(|| host.cpu.architecture.clone());
    let is_guest = host.virtualization.hypervisor.is_some();
    let profile = run.settings.profile.name();
    let method = format!("hostmark {}, {profile}", run.tool.version);
    Reference {
        name: name.to_owned(),
        machine: words(match is_guest {
            true => say!("{hostname}: {named}, {cpus} CPUs, a guest"),
            false => say!("{hostname}: {named}, {cpus} CPUs"),
        }),
        architecture: host.cpu.architecture.clone(),
        vendor: host.cpu.vendor.clone(),
        model,
        design: None,
        guest: is_guest,
        cpus: Some(cpus).filter(|cpus| *cpus > 0),
        instructions: super::nearest::widest(&host.cpu.features).map(str::to_owned),
        address: address.to_owned(),
        date: run.started.clone(),
        by: None,
        method: words(&method),
        values,
        classes: Vec::new(),
        run: Some(run.id.clone()),
    }
}

fn value(id: String, quantity: &str, estimate: &Estimate) -> Option<ReferenceValue> {
    let value = estimate.value();
    (value.is_finite() && value > 0.0).then(|| ReferenceValue {
        quantity: quantity.to_owned(),
        interval: estimate.interval().map(|(low, high)| [low, high]),
        ..ReferenceValue::of(&id, value)
    })
}
