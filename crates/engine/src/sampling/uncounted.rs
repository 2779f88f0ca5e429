//! What a run with counters has to do without, and why: asked once.

use std::io;

use hostmark_host::{CorePmu, EnergyMeter, NoEnergy, Root};
use hostmark_model::{Text, errno_name};

use crate::sampling::counted::Wanted;
use crate::sys::call::errno;
use crate::sys::perf_event::{PerfEvent, PerfGroup};
use crate::texts::sampling::uncounted as texts;

/// What a run with counters has to do without on this CPU, and why.
pub fn missing(root: &Root, cpu: usize) -> Vec<Text<String>> {
    of(root, cpu, &|event| PerfGroup::open(&[event]).err())
}

fn of(root: &Root, cpu: usize, refused: &dyn Fn(PerfEvent) -> Option<io::Error>) -> Vec<Text<String>> {
    let wanted = Wanted { root, pmu: CorePmu::of_cpu(root, cpu), in_kernel: true };
    let hardware = wanted.event(PerfEvent::CYCLES);
    let of_programs = refused(PerfEvent { in_kernel: false, ..hardware });
    let of_kernel = || refused(hardware).map(|error| (OF_KERNEL, error));
    let of_hardware = of_programs.map(|error| (OF_HARDWARE, error)).or_else(of_kernel);
    let of_software = refused(PerfEvent::PAGE_FAULTS).map(|error| (OF_SOFTWARE, error));
    let refusals = of_hardware.into_iter().chain(of_software).map(|(what, error)| untold(what, &error));
    refusals.chain(EnergyMeter::of_cpu(root, cpu).err().map(|why| no_energy(&why))).collect()
}

const OF_HARDWARE: Text = term!("no counters of the processor");
const OF_KERNEL: Text = term!("no counters of the processor outside the groups cpu and memory");
const OF_SOFTWARE: Text = term!("no counters of the kernel");

fn untold(what: Text, error: &io::Error) -> Text<String> {
    let why = match errno(error).and_then(errno_name) {
        Some("ENOENT" | "EOPNOTSUPP" | "ENODEV") => {
            term!("the machine shows none; a hypervisor can give its guests some (a virtual PMU)").to_owned_text()
        }
        // What the kernel's own level forbids it calls so; filters of system calls say the other.
        Some("EACCES") => term!("kernel.perf_event_paranoid forbids it; set it to 1, or run as root").to_owned_text(),
        Some("EPERM") => {
            term!("a filter of system calls forbids perf_event_open, as container engines do; run outside, or allow it")
                .to_owned_text()
        }
        Some("ENOSYS") => term!("this kernel has no perf_event_open").to_owned_text(),
        _ => Text { en: error.to_string(), zh: error.to_string() },
    };
    Text { en: format!("{}: {}", what.en, why.en), zh: format!("{}：{}", what.zh, why.zh) }
}

fn no_energy(why: &NoEnergy) -> Text<String> {
    match why {
        NoEnergy::Untold => {
            term!("no energy: the machine shows no counter of it (RAPL), as most guests of hypervisors").to_owned_text()
        }
        NoEnergy::Forbidden(path) => texts::no_energy!(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPERM: i32 = 1;
    const ENOENT: i32 = 2;
    const EACCES: i32 = 13;

    /// What is said where these calls are refused by this error.
    fn said(is_refused: fn(PerfEvent) -> bool, number: i32) -> Vec<String> {
        let refused = |event| is_refused(event).then(|| io::Error::from_raw_os_error(number));
        of(&Root::at("/nonexistent"), 0, &refused).into_iter().map(|text| text.en).collect()
    }

    #[test]
    fn each_thing_that_is_missing_is_told_once_with_what_helps() {
        let energy = "no energy: the machine shows no counter of it (RAPL), as most guests of hypervisors";
        assert_eq!(said(|_| false, 0), [energy]);
        let is_of_processor = |event: PerfEvent| event != PerfEvent::PAGE_FAULTS;
        let [hardware, last] = &said(is_of_processor, ENOENT)[..] else { panic!("not two") };
        assert!(hardware.contains("virtual PMU") && last == energy, "{hardware}");
        // Whoever may count programs alone has the hardware's groups.
        let [kernel, software, _] = &said(|event| event.in_kernel, EACCES)[..] else { panic!("not three") };
        assert!(kernel.contains("outside the groups cpu and memory") && kernel.contains("paranoid"), "{kernel}");
        assert!(software.starts_with("no counters of the kernel"), "{software}");
        let filtered = said(|_| true, EPERM);
        assert!(filtered.len() == 3 && filtered[0].contains("filter of system calls"), "{filtered:?}");
    }
}
