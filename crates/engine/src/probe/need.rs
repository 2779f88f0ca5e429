//! Needs of a probe, and checks whether this host and the person's inputs meet them.

use std::fmt;

use hostmark_model::{HostFacts, Inputs, Message, Reason, ReasonCode, Sampled, Unit};
use hostmark_say::say;

use crate::round_error::huge_pages_forbidden;

/// Need of a probe for something of its host or of the run's inputs; an unmet need is Skipped with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Need for this many usable CPUs.
    Cpus(usize),
    /// Effective user id 0.
    Root,
    /// Need for this kernel, or a later one.
    Kernel(u32, u32),
    /// Transparent huge pages.
    HugePages,
    /// The project's kernel module.
    Module,
    /// /dev/kvm, and leave to open it.
    Kvm,
    /// A hypervisor beneath.
    Guest,
    /// A command that a person names, of which the time is the value.
    Command,
    /// A command of which something else is the value, in this unit: a rate over its time, or a number that it prints.
    CommandValue(Unit),
}

/// Reason to skip a case of more CPUs than may be used.
pub(crate) fn too_few_cpus(needed: usize, have: usize) -> Reason {
    let reason = ReasonCode::TooFewCpus.because(say!("needs {needed} CPUs, and may use {have} here"));
    reason.lacking(needed as u64, have as u64)
}

/// The version of the module whose requests this program makes.
const MODULE_VERSION: &str = "1";
/// Advice where the kernel module is not loaded.
fn not_loaded() -> Message {
    say!(
        "needs the kernel module hostmark, which is not loaded: as root, make -C kmod and insmod kmod/hostmark.ko (docs/overhead.md)"
    )
}
/// Advice where no guest can be made.
fn no_kvm() -> Message {
    say!(
        "needs KVM, and there is no /dev/kvm: load kvm_intel or kvm_amd; in a guest or container, have its host pass the device on"
    )
}
/// Advice where this user may not make a guest.
fn kvm_denied() -> Message {
    say!("may not open /dev/kvm: run it as root, or join the group that owns the device")
}

impl fmt::Display for Need {
    /// Writes the name used in lists and run files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Need::Cpus(count) => write!(f, "cpus>={count}"),
            Need::Root => f.write_str("root"),
            Need::Kernel(major, minor) => write!(f, "kernel>={major}.{minor}"),
            Need::HugePages => f.write_str("huge_pages"),
            Need::Module => f.write_str("module"),
            Need::Kvm => f.write_str("kvm"),
            Need::Guest => f.write_str("guest"),
            Need::Command => f.write_str("command"),
            Need::CommandValue(_) => f.write_str("command_value"),
        }
    }
}

impl Need {
    /// Tells whether its message is an instruction for setting up, which is given once a probe and not for each of its cases.
    pub(crate) fn is_setup_hint(self) -> bool {
        matches!(self, Need::Module | Need::Kvm)
    }

    /// Tells whether it needs a command that a person names: a run of its own.
    pub(crate) fn is_command(self) -> bool {
        matches!(self, Need::Command | Need::CommandValue(_))
    }

    /// Returns the reason why it is not met here; `None` where it is.
    pub(crate) fn unmet(self, host: &HostFacts, inputs: &Inputs) -> Option<Reason> {
        match self {
            Need::Cpus(wanted) => {
                let have = host.usable_cpus().len();
                (have < wanted).then(|| too_few_cpus(wanted, have))
            }
            Need::Root => {
                (host.limits.is_root != Some(true)).then(|| ReasonCode::Permission.because(say!("needs root")))
            }
            Need::Kernel(major, minor) => {
                let release = &host.kernel.release;
                let mut numbers =
                    release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
                let have = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
                (have < (major, minor))
                    .then(|| ReasonCode::Kernel.because(say!("needs Linux {major}.{minor}, and this is {release}")))
            }
            Need::HugePages => {
                let are_forbidden = host.memory.transparent_huge_pages_forbidden == Some(true);
                match (host.memory.pmd_page_bytes, are_forbidden && inputs.tried.is_none()) {
                    (None, _) => Some(
                        ReasonCode::HugePages.because(say!("needs transparent huge pages, which this kernel lacks")),
                    ),
                    (_, true) => Some(ReasonCode::HugePages.because(huge_pages_forbidden())),
                    (_, false) => None,
                }
            }
            Need::Module => match host.kernel.module_version.as_deref() {
                None => Some(ReasonCode::Kernel.because(not_loaded())),
                Some(MODULE_VERSION) => None,
                Some(other) => Some(ReasonCode::Kernel.because(say!(
                    "the module hostmark that is loaded is version {other}, not {MODULE_VERSION}: build kmod/ anew"
                ))),
            },
            Need::Kvm => match host.virtualization.kvm_permitted {
                None => Some(ReasonCode::MissingFile.because(no_kvm())),
                Some(false) => Some(ReasonCode::Permission.because(kvm_denied())),
                Some(true) => None,
            },
            Need::Guest => {
                let lacks = host.virtualization.hypervisor.is_none();
                lacks.then(|| {
                    ReasonCode::Hardware.because(say!("needs a hypervisor beneath; run it inside a virtual machine"))
                })
            }
            Need::Command | Need::CommandValue(_) => self.not_given(inputs),
        }
    }

    /// Returns the reason why the person's inputs do not meet it, on any host; `None` where they do, or it is a need of the host's.
    pub(crate) fn not_given(self, inputs: &Inputs) -> Option<Reason> {
        match self {
            Need::Command | Need::CommandValue(_) if inputs.command.is_empty() => {
                Some(ReasonCode::MissingOption.because(say!("no command was given: name one by --command")))
            }
            Need::Command => inputs
                .sampled
                .is_some()
                .then(|| ReasonCode::MissingOption.because(say!("another value of the command was asked for"))),
            Need::CommandValue(unit) => {
                let is_it = inputs.sampled.as_ref().and_then(Sampled::unit) == Some(unit);
                (!is_it).then(|| {
                    ReasonCode::MissingOption.because(say!(
                        "no value of the command in this unit was asked for: add --bytes, or --value and --unit"
                    ))
                })
            }
            Need::Cpus(_)
            | Need::Root
            | Need::Kernel(..)
            | Need::HugePages
            | Need::Module
            | Need::Kvm
            | Need::Guest => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::host;

    #[test]
    fn needs_of_the_host_are_looked_up_there() {
        assert_eq!([Need::Cpus(2), Need::Kernel(6, 1)].map(|need| need.to_string()), ["cpus>=2", "kernel>=6.1"]);
        let (mut host, inputs) = (host(), Inputs::default());
        for (release, met) in [("6.1.0", true), ("6.10.3-arch", true), ("5.15.0", false), ("10.0", true), ("6", false)]
        {
            host.kernel.release = release.into();
            let reason = Need::Kernel(6, 1).unmet(&host, &inputs);
            assert_eq!(reason.is_none(), met, "{release}");
            assert!(met || reason.as_deref() == Some(&format!("needs Linux 6.1, and this is {release}")));
        }
        assert_eq!(Need::Cpus(4).unmet(&host, &inputs), None);
        let reason = Need::Cpus(5).unmet(&host, &inputs);
        let wanted = r#"{"reason":"needs 5 CPUs, and may use 4 here","code":"too_few_cpus","arguments":{"available":4,"needed":5},"message":{"#;
        assert!(serde_json::to_string(&reason).unwrap().starts_with(wanted), "{reason:?}");
    }

    #[test]
    fn the_module_must_be_loaded_and_be_of_this_version() {
        let (mut host, inputs) = (host(), Inputs::default());
        assert!(Need::Module.unmet(&host, &inputs).unwrap().contains("insmod kmod/hostmark.ko"));
        host.kernel.module_version = Some("1".into());
        assert_eq!(Need::Module.unmet(&host, &inputs), None);
        host.kernel.module_version = Some("0".into());
        assert!(Need::Module.unmet(&host, &inputs).unwrap().contains("is version 0, not 1"));
    }

    #[test]
    fn kvm_must_be_there_and_permitted_and_a_guest_must_have_a_hypervisor() {
        let (mut host, inputs) = (host(), Inputs::default());
        for (permitted, reason) in [(None, Some(no_kvm())), (Some(false), Some(kvm_denied())), (Some(true), None)] {
            host.virtualization.kvm_permitted = permitted;
            let unmet = Need::Kvm.unmet(&host, &inputs).as_ref().map(Message::from);
            assert_eq!(unmet, reason);
        }
        assert!(Need::Guest.unmet(&host, &inputs).unwrap().contains("inside a virtual machine"));
        host.virtualization.hypervisor = Some("kvm".into());
        assert_eq!(Need::Guest.unmet(&host, &inputs), None);
    }

    #[test]
    fn a_need_of_an_input_is_met_by_what_was_given_alone() {
        let reason = "no command was given: name one by --command";
        let given = Inputs { command: vec!["true".into()], ..Inputs::default() };
        assert_eq!(Need::Command.unmet(&host(), &Inputs::default()).as_deref(), Some(reason));
        assert_eq!(Need::Command.not_given(&Inputs::default()).as_deref(), Some(reason));
        assert_eq!(Need::Command.unmet(&host(), &given), None);
        // What is asked of it picks the one probe that tells it.
        let rate = Inputs { sampled: Some(Sampled::Bytes(1)), ..given.clone() };
        assert!(Need::Command.not_given(&rate).is_some() && Need::CommandValue(Unit::Count).not_given(&rate).is_some());
        assert_eq!(Need::CommandValue(Unit::BytesPerSecond).not_given(&rate), None);
        assert!(Need::CommandValue(Unit::BytesPerSecond).not_given(&given).is_some());
        assert_eq!(Need::Cpus(1 << 20).not_given(&Inputs::default()), None);
    }
}
