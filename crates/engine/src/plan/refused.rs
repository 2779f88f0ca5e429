//! Why nothing can be planned.

use hostmark_model::CaseIdError;

/// Why nothing can be planned. Sentences that end with what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// No probe, group or lmbench program is called that.
    #[error("no probe is called '{name}'{}", suggest(.suggestion))]
    UnknownProbe {
        /// What was typed.
        name: String,
        /// The nearest name.
        suggestion: Option<String>,
    },
    /// The probe has no such axis.
    #[error("{probe} has no axis '{axis}'; {}", known_axes(.known))]
    UnknownAxis {
        /// The probe.
        probe: String,
        /// What was typed.
        axis: String,
        /// Its axes.
        known: Vec<String>,
    },
    /// The axis has no such value.
    #[error("'{value}' is no value of {probe}'s axis {axis}; use {known}")]
    UnknownValue {
        /// The probe.
        probe: String,
        /// The axis.
        axis: String,
        /// What was typed.
        value: String,
        /// What may be typed.
        known: String,
    },
    /// A filter gives an axis two values.
    #[error("{probe}'s axis {axis} has two values, {one} and {other}; give one, or two filters")]
    TwoValues {
        /// The probe.
        probe: String,
        /// The axis.
        axis: String,
        /// Its first value.
        one: String,
        /// Its second.
        other: String,
    },
    /// The filter is not of the form of a filter.
    #[error("{0}; write a filter as group, group.probe or group.probe@axis=value")]
    Malformed(#[from] CaseIdError),
    /// A command is measured alone.
    #[error("--command measures a command and nothing else; leave out the filter that picks {probe}")]
    CommandBeside {
        /// A probe that a filter picks beside.
        probe: String,
    },
    /// There is no command to measure.
    #[error("{probe} measures a command, and none was given; name one, as --command 'make -j4'")]
    NoCommand {
        /// The probe that was asked for.
        probe: String,
    },
    /// The command's value was asked for in another way.
    #[error(
        "{probe} does not measure what was asked of the command; leave the filter out: --bytes, --value and --unit pick the probe"
    )]
    OtherValue {
        /// The probe that was asked for.
        probe: String,
    },
    /// What was asked for comes to more cases than anybody measures.
    #[error("{probe} brings the plan to more than {most} cases; name fewer values by --set")]
    TooMany {
        /// The probe whose cases are too many.
        probe: String,
        /// How many there may be.
        most: usize,
    },
    /// The process may use no CPU.
    #[error("this process may run on no online CPU; widen its affinity")]
    NoCpu,
    /// What was set is not of its form.
    #[error("'{0}' is not of the form [PROBE:]AXIS=V1,V2; write --set size=4K,1M or --set memory.read:size=4K")]
    MalformedSet(String),
    /// Two that set the same.
    #[error("--set {one} and --set {other} set the same axis; give all its values in one")]
    SetTwice {
        /// As typed.
        one: String,
        /// As typed.
        other: String,
    },
    /// No probe that is selected is meant.
    #[error("--set {set} is for no selected probe; select one that has this axis, or leave it out")]
    SetUnselected {
        /// As typed.
        set: String,
    },
    /// The selected probes have other axes.
    #[error("no selected probe has an axis '{axis}'; use {known}")]
    SetUnknownAxis {
        /// The axis.
        axis: String,
        /// Theirs.
        known: String,
    },
    /// What should be a list of CPUs is none.
    #[error("'{0}' is no list of CPUs; write one as 0-3,8")]
    NoCpuList(String),
    /// The CPU is offline or absent.
    #[error("cannot bind to CPU {cpu}: it is not online; choose from {usable}")]
    UnusableCpu {
        /// Its id.
        cpu: usize,
        /// Those that can be used.
        usable: String,
    },
    /// The process may not run on the CPU.
    #[error(
        "cannot bind to CPU {cpu}: this process is kept off it; choose from {usable}, or start hostmark by taskset -c {list}"
    )]
    ForbiddenCpu {
        /// Its id.
        cpu: usize,
        /// Those that can be used.
        usable: String,
        /// Those that were asked for.
        list: String,
    },
}

fn suggest(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(name) => format!("; did you mean {name}? (hostmark list shows all)"),
        None => "; hostmark list shows all".into(),
    }
}

fn known_axes(known: &[String]) -> String {
    match known {
        [] => "it has none, so leave out the part behind @".into(),
        _ => format!("use {}", known.join(", ")),
    }
}
