//! Reasons why nothing can be planned.

use std::fmt;

use hostmark_model::{CaseIdError, Message};
use hostmark_say::say;

/// Error that prevents a plan. Sentences that end with what to do.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanError {
    /// No probe, group or lmbench program is called that.
    UnknownProbe {
        /// Name as typed.
        name: String,
        /// The nearest name.
        suggestion: Option<String>,
    },
    /// The probe has no such axis.
    UnknownAxis {
        /// The probe.
        probe: String,
        /// Axis as typed.
        axis: String,
        /// Axes of the probe.
        known: Vec<String>,
    },
    /// The axis has no such value.
    UnknownValue {
        /// The probe.
        probe: String,
        /// The axis.
        axis: String,
        /// Value as typed.
        value: String,
        /// Accepted values.
        known: String,
    },
    /// A filter gives an axis two values.
    TwoValues {
        /// The probe.
        probe: String,
        /// The axis.
        axis: String,
        /// First value.
        one: String,
        /// Second value.
        other: String,
    },
    /// The filter is not of the form of a filter.
    Malformed(CaseIdError),
    /// A command is measured alone.
    CommandBeside {
        /// A probe that a filter picks beside.
        probe: String,
    },
    /// Run without a command to measure.
    NoCommand {
        /// The probe that was asked for.
        probe: String,
    },
    /// The command's value was asked for in another way.
    OtherValue {
        /// The probe that was asked for.
        probe: String,
    },
    /// Request for more cases than anybody measures.
    TooMany {
        /// The probe whose cases are too many.
        probe: String,
        /// Largest number of cases.
        most: usize,
    },
    /// The process may use no CPU.
    NoCpu,
    /// Malformed `--set`.
    MalformedSet(String),
    /// Two that set the same.
    SetTwice {
        /// One setting, as typed.
        one: String,
        /// Other setting, as typed.
        other: String,
    },
    /// No probe that is selected is meant.
    SetUnselected {
        /// Setting as typed.
        set: String,
    },
    /// The selected probes have other axes.
    SetUnknownAxis {
        /// The axis.
        axis: String,
        /// Theirs.
        known: String,
    },
    /// Malformed list of CPUs.
    NoCpuList(String),
    /// The CPU is offline or absent.
    UnusableCpu {
        /// Number of the CPU.
        cpu: usize,
        /// Usable CPUs.
        usable: String,
    },
    /// The process may not run on the CPU.
    ForbiddenCpu {
        /// Number of the CPU.
        cpu: usize,
        /// Usable CPUs.
        usable: String,
        /// Requested CPUs.
        list: String,
    },
}

impl PlanError {
    /// Message for the person.
    pub fn message(&self) -> Message {
        match self {
            PlanError::UnknownProbe { name, suggestion: Some(nearest) } => {
                say!("no probe is called '{name}'; did you mean {nearest}? (hostmark list shows all)")
            }
            PlanError::UnknownProbe { name, suggestion: None } => {
                say!("no probe is called '{name}'; hostmark list shows all")
            }
            PlanError::UnknownAxis { probe, axis, known } if known.is_empty() => {
                say!("{probe} has no axis '{axis}'; it has none, so leave out the part behind @")
            }
            PlanError::UnknownAxis { probe, axis, known } => {
                say!("{probe} has no axis '{axis}'; use {known}", known = known.join(", "))
            }
            PlanError::UnknownValue { probe, axis, value, known } => {
                say!("invalid {axis} '{value}' for {probe}; use {known}")
            }
            PlanError::TwoValues { probe, axis, one, other } => {
                say!("{probe}'s axis {axis} has two values, {one} and {other}; give one, or two filters")
            }
            PlanError::Malformed(CaseIdError::Probe(typed)) => say!(
                "'{typed}' is not of the form group.probe; write a filter as group, group.probe or group.probe@axis=value"
            ),
            PlanError::Malformed(CaseIdError::Axis(typed)) => say!(
                "'{typed}' is not of the form axis=value, with a value of a-z 0-9 _ . + -; write a filter as group, group.probe or group.probe@axis=value"
            ),
            PlanError::CommandBeside { probe } => {
                say!("--command measures a command and nothing else; leave out the filter that picks {probe}")
            }
            PlanError::NoCommand { probe } => {
                say!("{probe} measures a command, and none was given; name one, as --command 'make -j4'")
            }
            PlanError::OtherValue { probe } => say!(
                "{probe} does not measure what was asked of the command; leave the filter out: --bytes, --value and --unit pick the probe"
            ),
            PlanError::TooMany { probe, most } => {
                say!("{probe} brings the plan to more than {most} cases; name fewer values by --set")
            }
            PlanError::NoCpu => say!("this process may run on no online CPU; widen its affinity"),
            PlanError::MalformedSet(what) => say!(
                "'{what}' is not of the form [PROBE:]AXIS=V1,V2; write --set size=4K,1M or --set memory.read:size=4K"
            ),
            PlanError::SetTwice { one, other } => {
                say!("--set {one} and --set {other} set the same axis; give all its values in one")
            }
            PlanError::SetUnselected { set } => {
                say!("--set {set} is for no selected probe; select one that has this axis, or leave it out")
            }
            PlanError::SetUnknownAxis { axis, known } => say!("no selected probe has an axis '{axis}'; use {known}"),
            PlanError::NoCpuList(what) => say!("'{what}' is no list of CPUs; write one as 0-3,8"),
            PlanError::UnusableCpu { cpu, usable } => {
                say!("cannot bind to CPU {cpu}: it is not online; choose from {usable}")
            }
            PlanError::ForbiddenCpu { cpu, usable, list } => say!(
                "cannot bind to CPU {cpu}: this process is kept off it; choose from {usable}, or start hostmark by taskset -c {list}"
            ),
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(to)
    }
}

impl std::error::Error for PlanError {}

impl From<CaseIdError> for PlanError {
    fn from(malformed: CaseIdError) -> PlanError {
        PlanError::Malformed(malformed)
    }
}
