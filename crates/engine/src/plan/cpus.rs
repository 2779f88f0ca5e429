//! `--cpu LIST`: the CPUs that a run keeps to.

use hostmark_host::parse_cpu_list;
use hostmark_model::HostFacts;

use super::PlanError;

/// Leaves to the run only the CPUs of a list such as `0-3,8`: every plan for these facts keeps to them.
pub fn keep_to_cpus(host: &mut HostFacts, list: &str) -> Result<(), PlanError> {
    let ids = parse_cpu_list(list).filter(|ids| !ids.is_empty());
    let ids = ids.ok_or_else(|| PlanError::NoCpuList(list.to_owned()))?;
    let usable = host.usable_cpus();
    if usable.is_empty() {
        return Err(PlanError::NoCpu);
    }
    if let Some(&cpu) = ids.iter().find(|id| !usable.contains(id)) {
        return Err(PlanError::UnusableCpu { cpu, usable: text(&usable) });
    }
    for cpu in &mut host.cpus {
        cpu.allowed &= ids.contains(&cpu.id);
    }
    Ok(())
}

/// The run's CPUs but those of a case: those that share a cache with its first one before others, its siblings last.
pub fn others(host: &HostFacts, cpus: &[usize]) -> Vec<usize> {
    let Some(&first) = cpus.first() else { return Vec::new() };
    let is_sibling =
        |cpu: usize| host.cpus.iter().any(|fact| fact.id == first && fact.siblings.contains(&cpu) && cpu != first);
    let is_near = |cpu: usize| host.last_level_cache(first).is_some_and(|cache| cache.shared_cpus.contains(&cpu));
    let mut others: Vec<usize> = host.usable_cpus().into_iter().filter(|cpu| !cpus.contains(cpu)).collect();
    others.sort_by_key(|&cpu| (is_sibling(cpu), !is_near(cpu), cpu));
    others
}

/// Ascending ids as a list: `0-3,8`.
fn text(ids: &[usize]) -> String {
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
    fn threads_of_the_kernel_get_the_nearest_other_cpu() {
        let host = host();
        let all = host.usable_cpus();
        let near = others(&host, &all[..1]);
        assert_eq!(near.len() + 1, all.len());
        assert!(!near.contains(&all[0]));
        let cache = host.last_level_cache(all[0]).unwrap();
        let siblings = &host.cpus.iter().find(|cpu| cpu.id == all[0]).unwrap().siblings;
        let place = |cpu: &usize| (siblings.contains(cpu), !cache.shared_cpus.contains(cpu));
        assert!(near.is_sorted_by_key(place), "{near:?}");
        assert!(others(&host, &all).is_empty() && others(&host, &[]).is_empty());
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
        assert_eq!(refused("0-2"), "CPU 2 cannot be used here; use some of 0-1,3");
        assert_eq!(refused("9"), "CPU 9 cannot be used here; use some of 0-1,3");
    }
}
