//! Reasons why a case has no value, a code for programs beside the sentence for people; and the exit codes of the binary.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::Message;
use crate::message::{known, recorded, restored};

/// The kinds of cause, a closed list: programs branch on them (docs/schema.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// Needs root, a capability or a permission, or a filter of system calls forbids it.
    Permission,
    /// Not on this CPU architecture.
    Architecture,
    /// The CPU or a device lacks it.
    Hardware,
    /// The kernel or the C library lacks it: its version, its configuration or a module.
    Kernel,
    /// The filesystem lacks it, or is read-only.
    Filesystem,
    /// The kernel gives no huge pages.
    HugePages,
    /// A file, directory or device is missing.
    MissingFile,
    /// A program is missing, or cannot be executed.
    MissingProgram,
    /// Fewer CPUs are usable than it needs.
    TooFewCpus,
    /// No CPUs, cores or memory nodes are placed as it needs.
    Topology,
    /// A CPU cannot be bound to, or was taken from the run.
    CpuUnavailable,
    /// Too little memory.
    TooLittleMemory,
    /// The disk or the quota is full.
    TooLittleSpace,
    /// A limit of processes, open files, file sizes or kernel objects.
    ResourceLimit,
    /// No far end: no peer, or none of that name or address.
    NoPeer,
    /// The network is down, or has no route.
    Unreachable,
    /// A peer, far end or connection broke off.
    ConnectionLost,
    /// No answer within a time limit.
    TimedOut,
    /// The run has no time for it.
    TimeBudget,
    /// Others had the CPU or the device.
    Disturbed,
    /// The run was stopped.
    Interrupted,
    /// The axis values exclude each other, or say nothing here.
    NotApplicable,
    /// An option of the command line is missing, or asks for something else.
    MissingOption,
    /// The samples or rounds do not agree on a value.
    Inconclusive,
    /// The cases that it is computed from have no value.
    MissingInput,
    /// The result is no finite number.
    NoValue,
    /// Wrong data, or an operation did not do what was asked.
    CheckFailed,
    /// Memory returned other data than was written.
    MemoryError,
    /// A worker, thread or child ended early.
    ProcessDied,
    /// The measured command failed.
    CommandFailed,
    /// The device or filesystem reports an error.
    DeviceError,
    /// Any other system call error.
    SystemCall,
    /// A worker or peer said what the protocol does not allow.
    Protocol,
    /// This hostmark has no such probe.
    UnknownProbe,
    /// Another tool reported it.
    Imported,
    /// A fault of hostmark.
    Internal,
}

/// A number or a name within a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Argument {
    /// A number, in the base unit.
    Number(u64),
    /// A name.
    Name(String),
}

/// Why a case has no value. It reads as its sentence.
#[derive(Debug, Clone, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reason {
    /// One fragment that says why.
    #[serde(rename = "reason")]
    pub text: String,
    /// What kind of cause; absent where the file does not say, or says what this hostmark does not know.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub code: Option<ReasonCode>,
    /// What it stands on: `errno`, `needed`, `available`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, Argument>,
    /// The sentence as other languages look it up; absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub message: Option<Message>,
}

impl ReasonCode {
    /// A reason of this kind.
    pub fn because(self, message: impl Into<Message>) -> Reason {
        let (text, message) = recorded(message.into());
        Reason { text, code: Some(self), arguments: BTreeMap::new(), message }
    }

    /// The kind of an error of the system, by its name.
    pub fn of_errno(name: &str) -> ReasonCode {
        match name {
            "EPERM" | "EACCES" => ReasonCode::Permission,
            "ENOSYS" | "EOPNOTSUPP" | "ENOPROTOOPT" | "EPROTONOSUPPORT" | "ESOCKTNOSUPPORT" | "EAFNOSUPPORT" => {
                ReasonCode::Kernel
            }
            "EROFS" => ReasonCode::Filesystem,
            "ENOENT" | "ENODEV" | "ENXIO" | "ENOTDIR" => ReasonCode::MissingFile,
            "ENOMEM" => ReasonCode::TooLittleMemory,
            "ENOSPC" | "EDQUOT" => ReasonCode::TooLittleSpace,
            "EMFILE" | "ENFILE" | "EFBIG" => ReasonCode::ResourceLimit,
            "ENETUNREACH" | "ENETDOWN" | "EHOSTUNREACH" | "EHOSTDOWN" | "EADDRNOTAVAIL" => ReasonCode::Unreachable,
            "ECONNREFUSED" | "ECONNRESET" | "ECONNABORTED" | "EPIPE" | "ENOTCONN" => ReasonCode::ConnectionLost,
            "ETIMEDOUT" | "EAGAIN" => ReasonCode::TimedOut,
            "EINTR" => ReasonCode::Disturbed,
            "EIO" | "ESTALE" | "EUCLEAN" => ReasonCode::DeviceError,
            _ => ReasonCode::SystemCall,
        }
    }

    /// Tells whether it may be over by the next round: what stood still for a while, and no fault that comes back.
    pub fn may_pass(self) -> bool {
        matches!(self, ReasonCode::TimedOut | ReasonCode::Disturbed)
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(to)
    }
}

impl From<u64> for Argument {
    fn from(number: u64) -> Argument {
        Argument::Number(number)
    }
}

impl From<&str> for Argument {
    fn from(name: &str) -> Argument {
        Argument::Name(name.to_owned())
    }
}

impl Reason {
    /// [`ReasonCode::may_pass`], of its code.
    pub fn may_pass(&self) -> bool {
        self.code.is_some_and(ReasonCode::may_pass)
    }

    /// Adds this argument.
    pub fn with(mut self, name: &str, value: impl Into<Argument>) -> Reason {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }

    /// The same cause in other words.
    pub fn with_text(self, message: impl Into<Message>) -> Reason {
        let (text, message) = recorded(message.into());
        Reason { text, message, ..self }
    }

    /// The same as of another kind.
    pub fn of_kind(self, code: ReasonCode) -> Reason {
        Reason { code: Some(code), ..self }
    }

    /// Adds how much is needed and how much of it there is.
    pub fn lacking(self, needed: u64, available: u64) -> Reason {
        self.with("needed", needed).with("available", available)
    }
}

impl From<&Reason> for Message {
    fn from(reason: &Reason) -> Message {
        restored(&reason.text, reason.message.as_ref())
    }
}
crate::has_a_message!(Reason);

impl PartialEq for Reason {
    /// Compares what is said: of one sentence one side may lack the template.
    fn eq(&self, other: &Reason) -> bool {
        (&self.text, self.code, &self.arguments) == (&other.text, other.code, &other.arguments)
    }
}

impl Deref for Reason {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}

/// The names of the errors from 1 on, as x86_64 and aarch64 number them; `-` where there is none.
const NAMES: &str = "\
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST \
    EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM \
    ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP - ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG \
    EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR ENODATA ETIME ENOSR ENONET \
    ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG \
    ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE \
    EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE \
    EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN \
    ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL \
    EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD \
    ENOTRECOVERABLE ERFKILL EHWPOISON";

/// The name of an error of the system.
pub fn errno_name(number: i32) -> Option<&'static str> {
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    NAMES.split(' ').nth(place).filter(|name| *name != "-")
}

/// Exit status of the process for its caller, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything asked for was done; Skipped cases are fine.
    Fine,
    /// `compare --strict` found no regression, and a case that is not known to be the same or faster.
    Undecided,
    /// `compare` found a regression, or `host --check` found something that would disturb.
    Found,
    /// Failure of a case.
    CaseFailed,
    /// A filter selects nothing: no probe, group or lmbench program is called that; or no case that it selects can be measured.
    NothingSelected,
    /// A bad command line or unreadable input.
    BadInput,
    /// Ended by this signal; what was measured until then is kept.
    Signal(u8),
    /// A resource was lost midway, as when the disk filled.
    ResourceLost,
}

impl Exit {
    /// The code that the process ends with.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::Found => 1,
            Exit::BadInput => 2,
            Exit::CaseFailed => 3,
            Exit::NothingSelected => 4,
            Exit::ResourceLost => 5,
            Exit::Undecided => 6,
            Exit::Signal(number) => 128 + number,
        }
    }
    /// The graver of two things that both happened: lost output is the gravest, since a caller that looks no further than the code must not
    /// take a cut-off file for a whole one.
    #[must_use]
    pub fn or(self, other: Exit) -> Exit {
        self.max(other)
    }
}

#[cfg(test)]
mod tests {
    use hostmark_say::say;

    use super::*;
    use crate::{Event, Outcome};

    #[test]
    fn a_reason_has_its_code_and_arguments_beside_its_sentence() {
        let reason = ReasonCode::TooFewCpus.because("needs 2 CPUs").lacking(2, 1);
        let wanted = r#"{"reason":"needs 2 CPUs","code":"too_few_cpus","arguments":{"available":1,"needed":2}}"#;
        assert_eq!(serde_json::to_string(&reason).unwrap(), wanted);
        let outcome = Outcome::Skipped { reason: reason.clone() };
        let text = serde_json::to_string(&outcome).unwrap();
        assert_eq!(text, format!(r#"{{"skipped":{wanted}}}"#));
        assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
        let event = Event::Failed { reason };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(text, format!(r#"{{"event":"failed",{}"#, &wanted[1..]));
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }

    #[test]
    fn a_sentence_has_its_template_beside_it_and_that_of_another_is_not_believed() {
        let said = say!("needs {needed} CPUs", needed = 2);
        let reason = ReasonCode::TooFewCpus.because(&said);
        let wanted = r#"{"reason":"needs 2 CPUs","code":"too_few_cpus","message":{"template":"needs {needed} CPUs","arguments":{"needed":"2"}}}"#;
        assert_eq!(serde_json::to_string(&reason).unwrap(), wanted);
        let read = |text: &str| Message::from(&serde_json::from_str::<Reason>(text).unwrap());
        assert_eq!(read(wanted), said);
        for (ours, other) in
            [("needs 2", "needs 3"), ("template", "of_tomorrow"), (r#":{"needed""#, r#":7,"a":{"needed""#)]
        {
            let text = wanted.replace(ours, other);
            assert!(read(&text).as_finished().is_some(), "{text}");
        }
    }

    #[test]
    fn a_file_without_a_code_or_with_a_strange_one_is_read_and_nothing_is_guessed() {
        for more in ["", r#","code":null"#, r#","code":"of_tomorrow""#, r#","code":7"#, r#","of_tomorrow":{}"#] {
            let outcome = serde_json::from_str(&format!(r#"{{"skipped":{{"reason":"needs root"{more}}}}}"#)).unwrap();
            let Outcome::Skipped { reason } = outcome else { panic!("{outcome:?}") };
            assert_eq!((&*reason, reason.code, reason.arguments.len()), ("needs root", None, 0), "{more}");
        }
    }

    #[test]
    fn an_error_has_its_name_and_its_kind() {
        for (number, name, code) in [
            (1, "EPERM", ReasonCode::Permission),
            (12, "ENOMEM", ReasonCode::TooLittleMemory),
            (22, "EINVAL", ReasonCode::SystemCall),
            (28, "ENOSPC", ReasonCode::TooLittleSpace),
            (38, "ENOSYS", ReasonCode::Kernel),
            (111, "ECONNREFUSED", ReasonCode::ConnectionLost),
        ] {
            assert_eq!(errno_name(number).map(|name| (name, ReasonCode::of_errno(name))), Some((name, code)));
        }
        assert_eq!([0, -1, 41, 4096].map(errno_name), [None; 4]);
        assert_eq!(ReasonCode::TooLittleMemory.to_string(), "too_little_memory");
    }

    #[test]
    fn lost_output_is_reported_before_anything_else_and_fine_only_alone() {
        let all = [
            Exit::Fine,
            Exit::Undecided,
            Exit::Found,
            Exit::CaseFailed,
            Exit::NothingSelected,
            Exit::BadInput,
            Exit::Signal(2),
            Exit::ResourceLost,
        ];
        for (less, one) in all.into_iter().enumerate() {
            for (more, other) in all.into_iter().enumerate() {
                let expected = if less >= more { one } else { other };
                assert_eq!((one.or(other), other.or(one)), (expected, expected), "{one:?} {other:?}");
            }
        }
    }
}
