//! Where the one thread of a case is bound, as the axis of that name says it.

use hostmark_model::{HostFacts, Params, Reason, ReasonCode};
use hostmark_say::say;

/// The axis' name in a case id.
pub(crate) const BIND: &str = "bind";
/// Bound to the CPU of the plan, as the cases of all probes without this axis.
pub(crate) const CPU: &str = "cpu";
/// Left to the scheduler.
pub(crate) const NONE: &str = "none";
/// Bound to the last usable CPU.
pub(crate) const LAST: &str = "last";

/// Where the thread of a case is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bind {
    /// To the CPU that the plan chose.
    Planned,
    /// Nowhere: the scheduler decides.
    Free,
    /// To the usable CPU with the greatest id.
    Last,
    /// To the CPU of this id.
    Cpu(usize),
}

impl Bind {
    /// Where a case is bound, where its probe has the axis.
    pub(crate) fn of_case(params: &Params) -> Option<Bind> {
        params.get(BIND).and_then(Bind::of)
    }

    /// A value of the axis; none where it is no such.
    pub(crate) fn of(value: &str) -> Option<Bind> {
        match value {
            CPU => Some(Bind::Planned),
            NONE => Some(Bind::Free),
            LAST => Some(Bind::Last),
            number => {
                let id: usize = number.parse().ok()?;
                (id.to_string() == number).then_some(Bind::Cpu(id))
            }
        }
    }

    /// The CPUs that the thread may use, its own first; or why there are none such. `planned`: the CPU of the plan.
    pub(crate) fn cpus(self, host: &HostFacts, planned: usize) -> Result<Vec<usize>, Reason> {
        let usable = host.usable_cpus();
        match self {
            Bind::Planned => Ok(vec![planned]),
            Bind::Free => Ok(usable),
            Bind::Last => Ok(usable.last().map_or(vec![planned], |&last| vec![last])),
            Bind::Cpu(id) if usable.contains(&id) => Ok(vec![id]),
            Bind::Cpu(id) => Err(unusable(id)),
        }
    }
}

/// Why a case on this CPU is skipped.
pub(crate) fn unusable(cpu: usize) -> Reason {
    ReasonCode::CpuUnavailable.because(say!("CPU {cpu} cannot be used here"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::host_with;

    #[test]
    fn a_value_names_cpus_or_reports_why_there_are_none() {
        let host = host_with(&[1, 2, 3]);
        let cpus = |value: &str| Bind::of(value).unwrap().cpus(&host, 2);
        assert_eq!(cpus("cpu"), Ok(vec![2]));
        assert_eq!(cpus("none"), Ok(vec![1, 2, 3]));
        assert_eq!(cpus("last"), Ok(vec![3]));
        assert_eq!(cpus("1"), Ok(vec![1]));
        assert_eq!(cpus("0"), Err(unusable(0)));
        for value in ["", "all", "-1", "01", "+1", "1-2"] {
            assert_eq!(Bind::of(value), None, "{value}");
        }
    }
}
