//! A filter of system calls as container runtimes set it: an allow-list, and everything else is refused.

mod allowed;

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter, sock_filter,
};

use super::process::only_one_thread;
use allowed::{ALLOWED, ALLOWED_HERE, ALLOWED_LATE};

/// The flags of clone(2) that make namespaces: mount, cgroup, UTS, IPC, user, PID and network.
const NEW_NAMESPACES: u64 = 0x7e02_0000;
/// What personality(2) may be asked for: Linux, Linux of 32 bits, each also without random addresses, and nothing new.
const PERSONALITIES: [u64; 5] = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];
/// The socket family that reaches the hypervisor past every network namespace.
const VSOCK: u64 = 40;

/// From now on this process, which must have one thread, and all that it starts may make the calls alone that a container
/// runtime allows by default to a container without further capabilities; any other fails with EPERM. Nobody gets
/// privileges any more by executing a program. There is no way back.
pub fn enter() -> io::Result<()> {
    only_one_thread()?;
    programs().map_err(io::Error::other)?.iter().try_for_each(apply)
}

/// What a filter looks at before it allows a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LooksAt {
    /// The call's number alone: since Linux 5.11 the kernel notes once which numbers are allowed in any case.
    Number,
    /// Its first argument too, so that it has to run at every call.
    Argument,
}

/// From now on a filter of so many instructions, 2 at least, stands before every call of the calling thread and of what that
/// thread starts; it allows all of them. It ends with the thread, which gets no privileges any more by executing a program.
pub fn allow_all_after(instructions: u16, at: LooksAt) -> io::Result<()> {
    apply(&allows_all(instructions, at))
}

/// A load, comparisons that lead on in any case, and the permission.
fn allows_all(instructions: u16, at: LooksAt) -> BpfProgram {
    // struct seccomp_data: the number, the architecture, the address, and from byte 16 on the arguments.
    let offset = if at == LooksAt::Number { 0 } else { 16 };
    let load = sock_filter { code: BPF_LOAD, jt: 0, jf: 0, k: offset };
    let compare = sock_filter { code: BPF_IF_EQUAL, jt: 0, jf: 0, k: u32::MAX };
    let allow = sock_filter { code: BPF_RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let compares = std::iter::repeat_n(compare, usize::from(instructions.max(2)) - 2);
    std::iter::once(load).chain(compares).chain([allow]).collect()
}

/// BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, and BPF_RET | BPF_K.
const BPF_LOAD: u16 = 0x20;
const BPF_IF_EQUAL: u16 = 0x15;
const BPF_RETURN: u16 = 0x06;

fn apply(program: &BpfProgram) -> io::Result<()> {
    apply_filter(program).map_err(|error| match error {
        seccompiler::Error::Prctl(error) => super::call::named("prctl", error),
        seccompiler::Error::Seccomp(error) => super::call::named("seccomp", error),
        other => io::Error::other(other),
    })
}

/// Two filters, since one has a single answer for what it refuses; the stricter answer of the two counts.
fn programs() -> Result<[BpfProgram; 2], seccompiler::Error> {
    let filter = |rules, otherwise, then| -> Result<BpfProgram, seccompiler::Error> {
        let here = std::env::consts::ARCH.try_into()?;
        Ok(SeccompFilter::new(rules, otherwise, then, here)?.try_into()?)
    };
    let refused = |error: i32| SeccompAction::Errno(error.unsigned_abs());
    // Its flags are in memory, where no filter can look. A C library that is told that there is no such call takes clone.
    let lacking = filter(BTreeMap::from([(libc::SYS_clone3, vec![])]), SeccompAction::Allow, refused(libc::ENOSYS))?;
    Ok([lacking, filter(rules()?, refused(libc::EPERM), SeccompAction::Allow)?])
}

/// The calls that are allowed with any arguments.
fn allowed() -> impl Iterator<Item = c_long> {
    ALLOWED.iter().chain(ALLOWED_LATE).chain(ALLOWED_HERE).copied()
}

/// The calls that are allowed, and with which arguments.
fn rules() -> Result<BTreeMap<c_long, Vec<SeccompRule>>, seccompiler::BackendError> {
    let on_first = |how, value| -> Result<SeccompRule, seccompiler::BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, how, value)?])
    };
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = allowed().map(|call| (call, Vec::new())).collect();
    // Answered by the first filter.
    rules.insert(libc::SYS_clone3, Vec::new());
    rules.insert(libc::SYS_clone, vec![on_first(SeccompCmpOp::MaskedEq(NEW_NAMESPACES), 0)?]);
    rules.insert(libc::SYS_socket, vec![on_first(SeccompCmpOp::Ne, VSOCK)?]);
    let personalities = PERSONALITIES.map(|persona| on_first(SeccompCmpOp::Eq, persona));
    rules.insert(libc::SYS_personality, personalities.into_iter().collect::<Result<_, _>>()?);
    Ok(rules)
}

#[cfg(test)]
#[path = "call_filter_tests.rs"]
mod tests;
