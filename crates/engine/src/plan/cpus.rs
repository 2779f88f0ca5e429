//! `--cpu LIST`: the CPUs that a run keeps to.

use hostmark_host::parse_cpu_list;
use hostmark_model::HostFacts;

use super::PlanError;

/// Leaves to the run only the CPUs of a list such as `0-3,8`: every plan for these facts keeps to them. Isolated CPUs
/// (isolcpus) may be named too: no process begins there, and each may bind itself to them.
pub fn keep_to_cpus(host: &mut HostFacts, list: &str) -> Result<(), PlanError> {
    let ids = parse_cpu_list(list).filter(|ids| !ids.is_empty());
    let ids = ids.ok_or_else(|| PlanError::NoCpuList(list.to_owned()))?;
    let usable = host.usable_cpus();
    if usable.is_empty() {
        return Err(PlanError::NoCpu);
    }
    let online = |id: usize| host.cpus.iter().any(|cpu| cpu.id == id && cpu.online);
    let isolated = host.cpu.isolated.clone().unwrap_or_default();
    let may_bind = |id: &usize| usable.contains(id) || (online(*id) && isolated.contains(id));
    if let Some(&cpu) = ids.iter().find(|id| !may_bind(id)) {
        let (usable, list) = (cpu_list(&usable), cpu_list(&ids));
        return Err(match online(cpu) {
            true => PlanError::ForbiddenCpu { cpu, usable, list },
            false => PlanError::UnusableCpu { cpu, usable },
        });
    }
    for cpu in &mut host.cpus {
        cpu.allowed = ids.contains(&cpu.id);
    }
    Ok(())
}

/// The run's CPU that is none of a case's own: one that shares a cache with its first one before others, its siblings last.
pub fn nearest_other(host: &HostFacts, cpus: &[usize]) -> Option<usize> {
    let &first = cpus.first()?;
    let siblings = host.cpus.iter().find(|fact| fact.id == first).map_or(&[][..], |fact| &fact.siblings);
    let near = host.last_level_cache(first).map_or(&[][..], |cache| &cache.shared_cpus);
    let others = host.usable_cpus().into_iter().filter(|cpu| !cpus.contains(cpu));
    others.min_by_key(|cpu| (siblings.contains(cpu), !near.contains(cpu), *cpu))
}

/// Ascending ids as a list: `0-3,8`.
pub fn cpu_list(ids: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &id in ids {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    let range =
        |&(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{host, host_with};

    #[test]
    fn a_thread_of_the_kernel_gets_the_nearest_other_cpu() {
        let host = host();
        let all = host.usable_cpus();
        let cache = host.last_level_cache(all[0]).unwrap();
        let siblings = &host.cpus.iter().find(|cpu| cpu.id == all[0]).unwrap().siblings;
        let place = |cpu: usize| (siblings.contains(&cpu), !cache.shared_cpus.contains(&cpu));
        let nearest = nearest_other(&host, &all[..1]).unwrap();
        assert!(nearest != all[0] && all.contains(&nearest));
        assert!(all[1..].iter().all(|&other| place(nearest) <= place(other)), "{nearest}");
        // Its neighbours are taken one after the other, until none is left.
        for count in 1..all.len() {
            assert!(!all[..count].contains(&nearest_other(&host, &all[..count]).unwrap()));
        }
        assert_eq!((nearest_other(&host, &all), nearest_other(&host, &[])), (None, None));
    }

    #[test]
    fn a_run_keeps_to_the_cpus_it_was_given() {
        let mut host = host();
        keep_to_cpus(&mut host, "1-2").unwrap();
        assert_eq!(host.usable_cpus(), [1, 2]);
        keep_to_cpus(&mut host, "2").unwrap();
        assert_eq!(host.usable_cpus(), [2]);
    }

    #[test]
    fn what_is_no_usable_cpu_is_refused_with_those_that_are() {
        let refused = |list: &str| keep_to_cpus(&mut host_with(&[0, 1, 3]), list).unwrap_err().to_string();
        for list in ["", "a", "3-1", "1;2", "-1"] {
            assert_eq!(refused(list), format!("'{list}' is no list of CPUs; write one as 0-3,8"));
        }
        assert_eq!(refused("0,9"), "cannot bind to CPU 9: it is not online; choose from 0-1,3");
        let mut host = host();
        host.cpus[2].allowed = false;
        assert_eq!(
            keep_to_cpus(&mut host, "1-2").unwrap_err().to_string(),
            "cannot bind to CPU 2: this process is kept off it; choose from 0-1,3, or start hostmark by taskset -c 1-2"
        );
        host.cpus[2].online = false;
        assert!(keep_to_cpus(&mut host, "2").unwrap_err().to_string().contains("not online"));
    }

    #[test]
    fn isolated_cpus_are_used_when_they_are_named_and_not_otherwise() {
        let mut host = host();
        host.cpus[2].allowed = false;
        host.cpus[3].allowed = false;
        host.cpu.isolated = Some(vec![2, 3]);
        assert_eq!(host.usable_cpus(), [0, 1]);
        keep_to_cpus(&mut host, "2-3").unwrap();
        assert_eq!(host.usable_cpus(), [2, 3]);
        // Isolated and offline is offline.
        host.cpus[3].online = false;
        assert!(keep_to_cpus(&mut host, "3").is_err());
    }
}
