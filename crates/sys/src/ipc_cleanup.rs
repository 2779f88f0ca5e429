//! Kernel objects that outlive every process: each is written down in a directory of the run's before it is made, by what it is
//! and not by who made it, so that what is found there later is that object and no other.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use rustix::fd::{BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};

use super::call::{Call, returned};
use super::control_group::GroupPlace;
use super::names;

/// Access rights of the objects: their maker alone.
pub const MODE: libc::c_int = 0o600;
const SEMAPHORES: libc::c_int = 2;
/// First word of the records' names.
const RECORD: &str = "object";

/// The run's directory in which this process writes down what it makes.
static RECORDS: OnceLock<OwnedFd> = OnceLock::new();

/// Records what this process makes from now on in this directory, which only the run's user enters. The first call counts.
pub fn write_down_in(directory: OwnedFd) {
    let _ = RECORDS.set(directory);
}

/// An object, told apart by an unforeseeable key or name, and no older than its record, which is written before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    Set {
        key: libc::key_t,
        /// A time before it was made, seconds since 1970.
        made: i64,
    },
    /// A System V message queue.
    Messages {
        key: libc::key_t,
        /// A time before it was made, seconds since 1970.
        made: i64,
    },
    /// A POSIX message queue.
    Queue {
        /// The random part of its name.
        number: u64,
        /// A time before it was made, seconds since 1970.
        made: i64,
    },
}

impl Object {
    /// A set of semaphores that is about to be made.
    pub fn set() -> io::Result<Object> {
        Ok(Object::Set { key: random_key()?, made: just_before() })
    }

    /// A System V message queue that is about to be made.
    pub fn messages() -> io::Result<Object> {
        Ok(Object::Messages { key: random_key()?, made: just_before() })
    }

    /// A POSIX queue that is about to be made.
    pub fn queue() -> io::Result<Object> {
        Ok(Object::Queue { number: names::random_number()?, made: just_before() })
    }

    pub fn call(self) -> &'static str {
        match self {
            Object::Set { .. } => "semget",
            Object::Messages { .. } => "msgget",
            Object::Queue { .. } => "mq_open",
        }
    }

    /// Makes a System V object, which there was not: its id.
    pub fn make(self) -> io::Result<i32> {
        self.id(libc::IPC_CREAT | libc::IPC_EXCL | MODE)
    }

    /// The id of the System V object of this key, by the call that makes it too.
    fn id(self, flags: libc::c_int) -> io::Result<i32> {
        // SAFETY: no pointers are given.
        let id = unsafe {
            match self {
                Object::Set { key, .. } => libc::semget(key, SEMAPHORES, flags),
                Object::Messages { key, .. } => libc::msgget(key, flags),
                Object::Queue { .. } => return Err(io::ErrorKind::InvalidInput.into()),
            }
        };
        returned(self.call(), id)
    }

    /// Removes it, if what has its key or its name now is still it: of this user and this user's alone, and no older.
    pub fn remove(self) -> io::Result<()> {
        let is_ours = |of: &libc::ipc_perm, key: libc::key_t| {
            let user = rustix::process::geteuid().as_raw();
            of.cuid == user && of.uid == user && of.mode as libc::c_int & 0o777 == MODE && key_of(of) == key
        };
        match self {
            Object::Set { key, made } => {
                let id = self.id(0)?;
                let state = set_state(id)?;
                // SAFETY: GETVAL takes no pointer.
                let has = |index: libc::c_int| unsafe { libc::semctl(id, index, libc::GETVAL) } >= 0;
                let is_as_made = state.rest[MADE_AT] as i64 >= made && has(SEMAPHORES - 1) && !has(SEMAPHORES);
                if is_as_made && is_ours(&state.permissions, key) {
                    // SAFETY: IPC_RMID takes no further argument.
                    return returned("semctl", unsafe { libc::semctl(id, 0, libc::IPC_RMID) }).map(drop);
                }
            }
            Object::Messages { key, made } => {
                let id = self.id(0)?;
                let state = messages_state(id)?;
                if state.msg_ctime >= made && is_ours(&state.msg_perm, key) {
                    // SAFETY: IPC_RMID ignores its null pointer.
                    let removed = unsafe { libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
                    return returned("msgctl", removed).map(drop);
                }
            }
            Object::Queue { number, made } => return unlink_ours(&queue_name(number)?, made),
        }
        Err(io::ErrorKind::PermissionDenied.into())
    }

    /// The name of its record, made by a process of this group.
    fn record(self, group: u32) -> String {
        match self {
            Object::Set { key, made } => format!("{RECORD}-{group}-set-{key}-{made}"),
            Object::Messages { key, made } => format!("{RECORD}-{group}-messages-{key}-{made}"),
            Object::Queue { number, made } => format!("{RECORD}-{group}-queue-{number}-{made}"),
        }
    }

    /// Parses a record's name: the object, and its group.
    fn recorded(name: &CStr) -> Option<(u32, Object)> {
        let words: Vec<&str> = name.to_str().ok()?.split('-').collect();
        let [RECORD, group, kind, which, made] = *words.as_slice() else { return None };
        let made = made.parse().ok()?;
        let object = match kind {
            "set" => Object::Set { key: which.parse().ok()?, made },
            "messages" => Object::Messages { key: which.parse().ok()?, made },
            "queue" => Object::Queue { number: which.parse().ok()?, made },
            _ => return None,
        };
        Some((group.parse().ok()?, object))
    }
}

/// The name of a POSIX queue. The kernel's names have no slash.
pub fn queue_name(number: u64) -> io::Result<CString> {
    Ok(CString::new(format!("hostmark-{number:016x}"))?)
}

/// Returns the name of the record of this control group, made by a process of this group; its content is the directory above.
fn group_record(number: u64, group: u32) -> String {
    format!("{RECORD}-{group}-cgroup-{number}")
}

pub fn control_group_name(number: u64) -> String {
    format!("hostmark-{number:016x}")
}

/// A number for a control group that nobody can foresee.
pub fn fresh_number() -> io::Result<u64> {
    names::random_number()
}

/// The record of an object; it goes when this does.
#[derive(Debug)]
pub struct Record(Option<CString>);

impl Record {
    /// Writes an object down, where the run has a directory for it. Without one there is still who made it, and its guard.
    pub fn of(object: Object) -> Record {
        let group = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
        Record::of_group(object, group)
    }

    /// The same for who has left the group of the worker.
    pub fn of_group(object: Object, group: u32) -> Record {
        Record(written(object.record(group), b""))
    }

    pub fn none() -> Record {
        Record(None)
    }

    /// Writes down a control group that is about to be made under [`control_group_name`] of this number in the one whose directory is
    /// `base`. None where the run has no directory for it: nobody would remove what a killed process leaves.
    pub fn of_control_group(base: &Path, number: u64) -> Option<Record> {
        let group = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
        written(group_record(number, group), base.as_os_str().as_bytes()).map(|name| Record(Some(name)))
    }
}

/// Makes a record that holds this; none where it cannot be made.
fn written(name: String, holds: &[u8]) -> Option<CString> {
    let name = CString::new(name).ok()?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(RECORDS.get()?, &name, flags, Mode::RUSR | Mode::WUSR).ok()?;
    File::from(file).write_all(holds).ok().map(|()| name)
}

/// Removes the control group of a record, if this name is that of one and it is of this process group or of any.
fn remove_control_group(directory: BorrowedFd, name: &CStr, group: Option<u32>) -> Option<()> {
    let words: Vec<&str> = name.to_str().ok()?.split('-').collect();
    let [RECORD, of, "cgroup", number] = *words.as_slice() else { return None };
    let number = number.parse().ok()?;
    if group.is_some_and(|group| of != group.to_string()) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut base = Vec::new();
    let file = File::from(rustix::fs::openat(directory, name, flags, Mode::empty()).ok()?);
    file.take(libc::PATH_MAX as u64).read_to_end(&mut base).ok()?;
    let place = GroupPlace::of(Path::new(OsStr::from_bytes(&base)), &control_group_name(number));
    // Whoever was in it was killed along with the process that made it, or has gone by then.
    let _ = place.and_then(|place| place.remove_when_empty());
    rustix::fs::unlinkat(directory, name, AtFlags::empty()).ok()
}

impl Drop for Record {
    fn drop(&mut self) {
        if let (Some(name), Some(directory)) = (&self.0, RECORDS.get()) {
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// Removes what the run's directory records and is still there, of one process group or of all, when they are dead: System V objects whose
/// guard was killed too, control groups, and POSIX queues whose maker could not take their names away.
pub fn remove_recorded(directory: BorrowedFd, group: Option<u32>) {
    // Nobody is left who could be told of an error.
    for name in names::entries(directory).unwrap_or_default() {
        if remove_control_group(directory, &name, group).is_some() {
            continue;
        }
        if let Some((of, object)) = Object::recorded(&name)
            && group.is_none_or(|group| group == of)
        {
            let _ = object.remove();
            let _ = rustix::fs::unlinkat(directory, &name, AtFlags::empty());
        }
    }
}

/// State of a set of semaphores, from IPC_STAT. It begins so for every C library; not every one has a name for it.
#[repr(C)]
struct SetState {
    permissions: libc::ipc_perm,
    /// Times and numbers: more than the kernel writes on any 64-bit machine (56 bytes).
    rest: [u64; 16],
}

/// Index of the word of [`SetState::rest`] that is the time of the set's making: on x86 each time has a word of its
/// own behind it (asm/sembuf.h of the kernel).
const MADE_AT: usize = if cfg!(target_arch = "x86_64") { 2 } else { 1 };

/// A time before now, seconds since 1970: the kernel writes an object's time by a clock that lags behind by a tick.
fn just_before() -> i64 {
    rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec - 1
}

/// A positive key, so that it is not IPC_PRIVATE and its digits are one word of a record's name.
fn random_key() -> io::Result<libc::key_t> {
    Ok((names::random_number()? >> 33) as libc::key_t | 1)
}

/// The key of an object. It stands first for every C library, which do not agree on its name.
fn key_of(permissions: &libc::ipc_perm) -> libc::key_t {
    // SAFETY: the structure begins with the key, as the kernel's does.
    unsafe { std::ptr::from_ref(permissions).cast::<libc::key_t>().read() }
}

fn set_state(id: i32) -> io::Result<SetState> {
    // SAFETY: a set's state is plain data, which IPC_STAT fills, and is larger than what it fills.
    unsafe {
        let mut state = std::mem::zeroed::<SetState>();
        returned("semctl", libc::semctl(id, 0, libc::IPC_STAT, &raw mut state)).map(|_| state)
    }
}

fn messages_state(id: i32) -> io::Result<libc::msqid_ds> {
    // SAFETY: a queue's state is plain data, which IPC_STAT fills.
    unsafe {
        let mut state = std::mem::zeroed::<libc::msqid_ds>();
        returned("msgctl", libc::msgctl(id, libc::IPC_STAT, &raw mut state)).map(|_| state)
    }
}

/// Takes the name away of a queue that this user made since then, as hostmark makes them.
fn unlink_ours(name: &CStr, since: i64) -> io::Result<()> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: a name that ends in zero; nothing is created, so that neither mode nor attributes are read.
    let opened = returned("mq_open", unsafe { libc::syscall(libc::SYS_mq_open, name.as_ptr(), flags, 0, 0) })?;
    // SAFETY: a descriptor that is new, and nobody else's.
    let queue = unsafe { OwnedFd::from_raw_fd(opened as i32) };
    let status = rustix::fs::fstat(&queue).call("fstat")?;
    if status.st_uid != rustix::process::geteuid().as_raw()
        || status.st_mode & 0o777 != MODE as u32
        || status.st_ctime < since
    {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // SAFETY: the same name. The queues' directory lets nobody but its owner take a name away.
    returned("mq_unlink", unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr()) }).map(drop)
}

#[cfg(test)]
mod tests {
    use rustix::fd::AsFd;

    use super::*;
    use crate::process::in_a_child;
    use crate::skip::skipped;

    /// A set and a queue of messages, which are there now; none where the kernel has none.
    fn made() -> Option<[Object; 2]> {
        let both = [Object::set().unwrap(), Object::messages().unwrap()];
        both.iter().all(|object| object.make().is_ok()).then_some(both)
    }

    fn are_there(objects: [Object; 2]) -> bool {
        objects.iter().all(|object| object.id(0).is_ok())
    }

    #[test]
    fn a_record_reads_back_as_written_and_other_names_say_nothing() {
        let all = [
            Object::Set { key: 3, made: 17 },
            Object::Messages { key: i32::MAX, made: i64::MAX },
            Object::Queue { number: u64::MAX, made: 0 },
        ];
        for object in all {
            let name = CString::new(object.record(99)).unwrap();
            assert_eq!(Object::recorded(&name), Some((99, object)));
        }
        for other in
            [c"round-1", c"object", c"object-1-set-2", c"object-1-set--2-3", c"object-x-set-2-3", c"object-1-shm-2-3"]
        {
            assert_eq!(Object::recorded(other), None, "{other:?}");
        }
    }

    #[test]
    fn what_is_older_or_of_another_mode_shape_or_kind_is_left_alone() {
        let Some(ours) = made() else { return skipped("there are no System V objects here") };
        let [Object::Set { key: set, made: at }, Object::Messages { key: messages, .. }] = ours else { panic!() };
        // Made by others before this run asked for one of its key.
        let later = at + 60;
        for object in [Object::Set { key: set, made: later }, Object::Messages { key: messages, made: later }] {
            object.remove().unwrap_err();
        }
        // A key is of one kind.
        for object in [Object::Set { key: messages, made: at }, Object::Messages { key: set, made: at }] {
            object.remove().unwrap_err();
        }
        // Others may enter these, and the last is of another size.
        let [
            Object::Set { key: open_set, .. },
            Object::Messages { key: open_messages, .. },
            Object::Set { key: large, .. },
        ] = [Object::set(), Object::messages(), Object::set()].map(Result::unwrap)
        else {
            panic!()
        };
        let flags = libc::IPC_CREAT | libc::IPC_EXCL;
        // SAFETY: no pointers are given.
        let foreign = unsafe {
            [
                libc::semget(open_set, SEMAPHORES, flags | 0o644),
                libc::msgget(open_messages, flags | 0o644),
                libc::semget(large, SEMAPHORES + 1, flags | MODE),
            ]
        };
        let keys = [(open_set, true), (open_messages, false), (large, true)];
        for (key, is_set) in keys {
            let object = if is_set { Object::Set { key, made: at } } else { Object::Messages { key, made: at } };
            object.remove().unwrap_err();
            object.id(0).unwrap();
            // What there is already is nobody's to make.
            assert_eq!(object.make().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        // SAFETY: no memory is concerned.
        unsafe {
            libc::semctl(foreign[0], 0, libc::IPC_RMID);
            libc::msgctl(foreign[1], libc::IPC_RMID, std::ptr::null_mut::<libc::msqid_ds>());
            libc::semctl(foreign[2], 0, libc::IPC_RMID);
        }
        assert!(are_there(ours));
        ours.into_iter().for_each(|object| object.remove().unwrap());
        assert!(!ours.iter().any(|object| object.id(0).is_ok()));
    }

    #[test]
    fn what_a_group_has_written_down_is_removed_and_nothing_else() {
        in_a_child(|| {
            let base = tempfile::tempdir()?;
            let directory = || rustix::fs::open(base.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
            write_down_in(directory()?);
            let (Some(ours), Some(others), Some(unrecorded)) = (made(), made(), made()) else { return Ok(()) };
            let records = [(ours, 7), (others, 8)].map(|(both, group)| both.map(|it| Record::of_group(it, group)));
            // Their makers are killed.
            std::mem::forget(records);
            let queue = Object::queue()?;
            std::mem::forget(Record::of_group(queue, 7));
            // One that was killed between its record and its object.
            std::mem::forget(Record::of_group(Object::messages()?, 7));
            remove_recorded(directory()?.as_fd(), Some(7));
            assert_eq!((are_there(ours), are_there(others), are_there(unrecorded)), (false, true, true));
            remove_recorded(directory()?.as_fd(), None);
            assert_eq!((are_there(others), are_there(unrecorded)), (false, true));
            assert_eq!(std::fs::read_dir(base.path())?.count(), 0);
            unrecorded.into_iter().for_each(|object| object.remove().unwrap());
            Ok(())
        });
    }

    #[test]
    fn a_record_goes_with_its_object() {
        in_a_child(|| {
            let base = tempfile::tempdir()?;
            write_down_in(rustix::fs::open(base.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?);
            let record = Record::of(Object::queue()?);
            assert_eq!(std::fs::read_dir(base.path())?.count(), 1);
            drop(record);
            assert_eq!(std::fs::read_dir(base.path())?.count(), 0);
            Ok(())
        });
    }

    #[test]
    fn a_control_group_of_a_killed_process_is_removed_by_its_record_and_no_other() {
        in_a_child(|| {
            let (base, above) = (tempfile::tempdir()?, tempfile::tempdir()?);
            let directory = || rustix::fs::open(base.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
            assert!(Record::of_control_group(above.path(), 1).is_none(), "nobody would remove it");
            write_down_in(directory()?);
            let [ours, bystander] = [7, 8].map(|number| above.path().join(control_group_name(number)));
            let record = Record::of_control_group(above.path(), 7);
            std::fs::create_dir(&ours)?;
            std::fs::create_dir(&bystander)?;
            std::mem::forget(record);
            remove_recorded(directory()?.as_fd(), Some(1));
            assert!(ours.exists(), "it is of another group");
            remove_recorded(directory()?.as_fd(), None);
            assert_eq!((ours.exists(), bystander.exists()), (false, true));
            assert_eq!(std::fs::read_dir(base.path())?.count(), 0);
            Ok(())
        });
    }
}
