//! Tests of finding kernel objects again: real ones, and others that have what theirs was.

use rustix::fd::AsFd;

use super::*;
use crate::process::in_a_child;

/// A set and a queue of messages by this key; none where the kernel has none.
fn made(key: libc::key_t, mode: libc::c_int) -> Option<[i32; 2]> {
    let flags = mode | libc::IPC_CREAT | libc::IPC_EXCL;
    // SAFETY: no pointers are given.
    let ids = unsafe { [libc::semget(key, SEMAPHORES, flags), libc::msgget(key, flags)] };
    (ids[0] >= 0 && ids[1] >= 0).then_some(ids)
}

fn objects([set, messages]: [i32; 2]) -> [Object; 2] {
    [Object::set(set).unwrap(), Object::messages(messages).unwrap()]
}

fn are_there([set, messages]: [i32; 2]) -> bool {
    set_state(set).is_ok() && messages_state(messages).is_ok()
}

/// Removes by bare ids what a test made.
fn discard([set, messages]: [i32; 2]) {
    // SAFETY: no memory is concerned.
    unsafe {
        libc::semctl(set, 0, libc::IPC_RMID);
        libc::msgctl(messages, libc::IPC_RMID, std::ptr::null_mut::<libc::msqid_ds>());
    }
}

#[test]
fn a_record_reads_back_as_written_and_other_names_say_nothing() {
    let all = [
        Object::Set { id: 3, made: 17 },
        Object::Messages { id: i32::MAX, made: i64::MAX },
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
fn what_has_another_time_key_mode_or_kind_is_left_alone() {
    let Some(ours) = made(libc::IPC_PRIVATE, MODE) else { return };
    let [Object::Set { id: set, made: at }, Object::Messages { id: messages, .. }] = objects(ours) else { panic!() };
    for wrong in [at - 1, at + 1] {
        for object in [Object::Set { id: set, made: wrong }, Object::Messages { id: messages, made: wrong }] {
            object.remove().unwrap_err();
        }
    }
    // Others may enter this one, and that one is found by a key: no object of ours is so.
    let key = 0x0bad_0000 | std::process::id() as libc::key_t & 0xffff;
    for foreign in [made(libc::IPC_PRIVATE, 0o644), made(key, MODE)] {
        let foreign = foreign.unwrap();
        for object in objects(foreign) {
            object.remove().unwrap_err();
        }
        assert!(are_there(foreign));
        discard(foreign);
    }
    assert!(are_there(ours));
    objects(ours).into_iter().for_each(|object| object.remove().unwrap());
    assert!(!are_there(ours));
}

#[test]
fn what_a_group_has_written_down_is_removed_and_nothing_else() {
    in_a_child(|| {
        let base = tempfile::tempdir()?;
        let directory = || rustix::fs::open(base.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        write_down_in(directory()?);
        let Some((ours, others)) = made(libc::IPC_PRIVATE, MODE).zip(made(libc::IPC_PRIVATE, MODE)) else {
            return Ok(());
        };
        let unrecorded = made(libc::IPC_PRIVATE, MODE).unwrap();
        let records = [(ours, 7), (others, 8)].map(|(ids, group)| objects(ids).map(|it| Record::of_group(it, group)));
        // Their makers are killed.
        std::mem::forget(records);
        let queue = Object::queue()?;
        std::mem::forget(Record::of_group(queue, 7));
        remove_recorded(directory()?.as_fd(), Some(7));
        assert_eq!((are_there(ours), are_there(others), are_there(unrecorded)), (false, true, true));
        remove_recorded(directory()?.as_fd(), None);
        assert_eq!((are_there(others), are_there(unrecorded)), (false, true));
        assert_eq!(std::fs::read_dir(base.path())?.count(), 0);
        discard(unrecorded);
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
