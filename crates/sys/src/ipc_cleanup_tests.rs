//! Tests of finding kernel objects again: real ones, and others that have what theirs was.

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
