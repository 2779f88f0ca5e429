//! Whether this machine can try a setting, and what its two sides are then.

use std::path::Path;

use hostmark_host::Placement;
use hostmark_model::{HostFacts, Text};

use super::catalogue::{Mechanism, NEAR, Neighbour, Tuning};
use super::setting::MachineSetting;
use super::side::During;
use crate::command::processes::neighbour::Work;

/// What a trial needs to know of this machine.
#[derive(Debug, Clone)]
pub struct Sides {
    /// What holds without, and with.
    pub during: [During; 2],
    /// The CPUs that both keep to; none for all.
    pub cpus: Option<String>,
}

/// The sides, or why there are none here.
pub fn sides(tuning: &Tuning, host: &HostFacts, root: &Path) -> Result<Sides, Text<String>> {
    let both = |during: [During; 2]| Ok(Sides { during, cpus: None });
    match tuning.turn {
        Mechanism::Axis(_) => {
            match tuning.cases.iter().all(|case| case.filter.contains(NEAR)) && near(host).is_none() {
                true => Err(two_cpus()),
                false => both([During::Usual, During::Usual]),
            }
        }
        Mechanism::HugePages if host.memory.transparent_huge_pages.as_deref().is_none_or(|mode| mode == "never") => {
            Err(term!(
                "the kernel gives no huge pages (/sys/kernel/mm/transparent_hugepage/enabled); set it to madvise first"
            )
            .to_owned_text())
        }
        Mechanism::HugePages => both([During::WithoutHugePages, During::Usual]),
        Mechanism::Neighbour(Neighbour::Idle) => match near(host) {
            Some(_) => both([During::Usual, During::Beside(Work::Spin, host.usable_cpus())]),
            None => Err(two_cpus()),
        },
        Mechanism::Neighbour(Neighbour::Busy) => {
            let Some([one, other]) = near(host).and_then(|placement| hostmark_host::pair(host, placement).ok()) else {
                return Err(two_cpus());
            };
            let during = [During::Usual, During::Beside(Work::Read, vec![other])];
            Ok(Sides { during, cpus: Some(one.to_string()) })
        }
        Mechanism::Machine(MachineSetting::NumaBalancing) if host.nodes.len() < 2 => {
            Err(term!("this machine has one memory node, between which nothing is moved").to_owned_text())
        }
        Mechanism::Machine(machine) => {
            let all = machine.here(root)?;
            let side = |side: usize| {
                During::Settings(all.iter().map(|(setting, words)| (*setting, words[side].clone())).collect())
            };
            both([side(0), side(1)])
        }
    }
}

/// The nearest placement on two CPUs that the host has.
pub fn near(host: &HostFacts) -> Option<Placement> {
    Placement::ALL.into_iter().skip(1).find(|placement| hostmark_host::pair(host, *placement).is_ok())
}

fn two_cpus() -> Text<String> {
    term!("it takes two CPUs, and one can be used here; allow hostmark more (taskset, cpuset)").to_owned_text()
}
