//! Whether the kernel's audit follows system calls, and its rules, as it says itself.

use std::io;

use hostmark_model::Audit;
use hostmark_sys::call::errno;
use hostmark_sys::netlink::{NetlinkAnswer, Scope, ask_audit};
use rustix::io::Errno;

use crate::root::Root;

/// AUDIT_GET and AUDIT_LIST_RULES of linux/audit.h.
const GET: u16 = 1000;
const LIST_RULES: u16 = 1013;
/// The words of an audit_status and of an audit_rule_data: what is valid, whether it is on; which list, what to do, how many
/// conditions.
const ENABLED: usize = 1;
const LIST: usize = 0;
const ACTION: usize = 1;
const CONDITIONS: usize = 2;
/// AUDIT_FILTER_TASK: the rules that decide for a new process.
const TASK: u32 = 1;
/// AUDIT_NEVER.
const NEVER: u32 = 0;

/// Whether it does, and how many rules there are; a captured tree does not tell.
pub(crate) fn read(root: &Root) -> (Option<Audit>, Option<u64>) {
    if !root.is_this_machine() {
        return (None, None);
    }
    let mut is_on = None;
    let asked = ask_audit(GET, Scope::Lone, &mut |answer| is_on = word(&answer, ENABLED).map(|enabled| enabled != 0));
    if let Err(error) = asked {
        return (state(&error), None);
    }
    let mut rules: Vec<NetlinkAnswer> = Vec::new();
    let are_listed = ask_audit(LIST_RULES, Scope::All, &mut |answer| rules.push(answer)).is_ok();
    let rules = are_listed.then_some(rules);
    let audit = is_on.map(|is_on| match is_on {
        false => Audit::Off,
        true if rules.as_deref().is_some_and(exempts_all) => Audit::Exempt,
        true => Audit::On,
    });
    (audit, rules.map(|rules| rules.len() as u64))
}

/// What a refusal says.
fn state(error: &io::Error) -> Option<Audit> {
    match Errno::from_raw_os_error(errno(error)?) {
        // Not built in, or turned off when the machine was booted.
        Errno::PROTONOSUPPORT => Some(Audit::Off),
        // Namespaces of users have no audit.
        Errno::PERM | Errno::ACCESS | Errno::CONNREFUSED => Some(Audit::Untold),
        _ => None,
    }
}

/// Whether the first rule for new processes keeps all of them out.
fn exempts_all(rules: &[NetlinkAnswer]) -> bool {
    let first = rules.iter().find(|rule| word(rule, LIST) == Some(TASK));
    first.is_some_and(|rule| word(rule, ACTION) == Some(NEVER) && word(rule, CONDITIONS) == Some(0))
}

fn word(answer: &NetlinkAnswer, index: usize) -> Option<u32> {
    answer.body.get(4 * index..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(words: [u32; 3]) -> NetlinkAnswer {
        NetlinkAnswer { kind: LIST_RULES, body: words.map(u32::to_ne_bytes).concat() }
    }

    #[test]
    fn the_first_rule_for_new_processes_decides() {
        const EXIT: u32 = 4;
        let (never, always, some) = (rule([TASK, NEVER, 0]), rule([TASK, 2, 0]), rule([TASK, NEVER, 1]));
        assert!(exempts_all(&[rule([EXIT, NEVER, 0]), never.clone(), always.clone()]));
        assert!(!exempts_all(&[always, never.clone()]) && !exempts_all(&[some, never]));
        assert!(!exempts_all(&[]) && !exempts_all(&[NetlinkAnswer { kind: LIST_RULES, body: vec![1, 0, 0] }]));
    }

    #[test]
    fn who_may_not_ask_does_not_know() {
        let of = |errno: Errno| state(&io::Error::from(errno));
        assert_eq!(of(Errno::PROTONOSUPPORT), Some(Audit::Off));
        assert_eq!([Errno::PERM, Errno::CONNREFUSED].map(of), [Some(Audit::Untold); 2]);
        assert_eq!([Errno::NOSYS, Errno::AGAIN].map(of), [None; 2]);
        assert_eq!(read(&Root::at("/nowhere")), (None, None));
        // This kernel answers at once, whatever it is; an emulator may refuse in a way of its own.
        let (audit, rules) = read(&Root::here());
        assert!(
            rules.is_none() || matches!(audit, Some(Audit::Off | Audit::Exempt | Audit::On)),
            "{audit:?}, {rules:?}"
        );
    }
}
