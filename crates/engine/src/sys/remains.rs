//! Kernel objects that outlive every process, found again by the process group that made them: their keys and names follow
//! from its number.

use std::io;

use super::call::returned;
use super::message_queue;

/// The keys of a group's System V objects have this first byte, then 22 bits of the group's number (PID_MAX_LIMIT), then two
/// that tell its objects of one kind apart.
const MARK: libc::key_t = 0x68 << 24;
const KEYS: libc::key_t = 4;
/// Who may use them: their maker alone.
pub(super) const MODE: libc::c_int = 0o600;
/// Semaphores of a set.
pub(super) const SEMAPHORES: libc::c_int = 2;

/// The keys that objects of a process group may have, of one kind.
pub(super) fn keys(group: u32) -> impl Iterator<Item = libc::key_t> {
    let first = MARK | (group as libc::key_t & 0x3f_ffff) << 2;
    (0..KEYS).map(move |number| first | number)
}

/// Removes what the processes of a group left: System V objects whose guard was killed along with their user, and POSIX
/// queues of which the group's leader was killed before it could take their names away. Called when all of them are dead.
///
/// `since` is when the run began, seconds since 1970: what is older is another program's that has the same key by chance.
pub fn remove_of_group(group: u32, since: i64) {
    // Nobody is left who could be told of an error.
    for key in keys(group) {
        // SAFETY: no pointers are given.
        let (set, queue) = unsafe { (libc::semget(key, 0, 0), libc::msgget(key, 0)) };
        if set >= 0 && is_our_set(set, since) {
            let _ = remove_set(set);
        }
        if queue >= 0 && is_our_queue(queue, since) {
            let _ = remove_queue(queue);
        }
    }
    for purpose in [message_queue::THERE, message_queue::BACK] {
        for name in message_queue::names(group, purpose) {
            let _ = message_queue::unlink_ours(&name, since);
        }
    }
}

/// Whether an object with a key of ours is as ours are: another program may have the same key by chance.
fn is_ours(permissions: &libc::ipc_perm) -> bool {
    permissions.cuid == rustix::process::geteuid().as_raw() && permissions.mode as libc::c_int & 0o777 == MODE
}

/// What IPC_STAT tells of a set of semaphores. It begins so for every C library; not every one has a name for it.
#[repr(C)]
struct SetState {
    permissions: libc::ipc_perm,
    /// Times and numbers: more than the kernel writes on any 64-bit machine (56 bytes).
    rest: [u64; 16],
}

/// Which word of [`SetState::rest`] is the time of the set's making: on x86 each time has a word of its own behind it
/// (asm/sembuf.h of the kernel).
const MADE_AT: usize = if cfg!(target_arch = "x86_64") { 2 } else { 1 };

/// The time now as IPC objects have it: seconds since 1970.
pub fn now() -> i64 {
    rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec
}

fn is_our_set(id: i32, since: i64) -> bool {
    // SAFETY: a set's state is plain data, which IPC_STAT fills, and is larger than what it fills; GETVAL takes no pointer.
    unsafe {
        let mut state = std::mem::zeroed::<SetState>();
        let told = libc::semctl(id, 0, libc::IPC_STAT, &raw mut state) >= 0;
        let has = |index: libc::c_int| libc::semctl(id, index, libc::GETVAL) >= 0;
        let is_new = state.rest[MADE_AT] as i64 >= since;
        told && is_new && is_ours(&state.permissions) && has(SEMAPHORES - 1) && !has(SEMAPHORES)
    }
}

fn is_our_queue(id: i32, since: i64) -> bool {
    // SAFETY: a queue's state is plain data, which IPC_STAT fills.
    unsafe {
        let mut state = std::mem::zeroed::<libc::msqid_ds>();
        let told = libc::msgctl(id, libc::IPC_STAT, &raw mut state) >= 0;
        told && state.msg_ctime >= since && is_ours(&state.msg_perm)
    }
}

/// Removes a set of semaphores.
pub(super) fn remove_set(id: i32) -> io::Result<()> {
    // SAFETY: IPC_RMID takes no further argument.
    returned("semctl", unsafe { libc::semctl(id, 0, libc::IPC_RMID) }).map(drop)
}

/// Removes a message queue.
pub(super) fn remove_queue(id: i32) -> io::Result<()> {
    // SAFETY: IPC_RMID ignores its null pointer.
    returned("msgctl", unsafe { libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut()) }).map(drop)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_of_one_group_alone_and_never_private() {
        let groups = [1, 2, 4095, (1 << 22) - 1];
        let all: Vec<_> = groups.into_iter().flat_map(keys).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 4 * groups.len());
        assert!(all.iter().all(|&key| key != libc::IPC_PRIVATE && key >> 24 == 0x68), "{all:x?}");
    }

    #[test]
    fn what_a_group_left_is_removed_and_what_is_not_as_ours_is_not() {
        // No process group has this number while the test runs: it is over the usual most.
        let group = (1 << 22) - 1 - std::process::id() % 1000;
        let mut keys = keys(group);
        let mut make = |mode: libc::c_int| {
            let (key, flags) = (keys.next().unwrap(), mode | libc::IPC_CREAT | libc::IPC_EXCL);
            // SAFETY: no pointers are given.
            unsafe { (libc::semget(key, SEMAPHORES, flags), libc::msgget(key, flags)) }
        };
        let (ours, others) = (make(MODE), make(0o644));
        if ours.0 < 0 {
            // Kernels without them say so.
            return assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS));
        }
        // Of a run that began later they are nobody's business.
        remove_of_group(group, now() + 3600);
        assert!(is_our_set(ours.0, 0) && is_our_queue(ours.1, 0));
        remove_of_group(group, now() - 3600);
        let removed = |result: io::Result<()>| result.is_err();
        assert!(removed(remove_set(ours.0)) && removed(remove_queue(ours.1)));
        assert!(remove_set(others.0).is_ok() && remove_queue(others.1).is_ok());
    }
}
