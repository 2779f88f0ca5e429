//! Guests that do not come up, or misbehave: one clear error each, and nothing is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use hostmark_launch::guest::{Accel, Booted, GuestError, GuestSpec};
use hostmark_launch::program::Programs;

use super::spot::spec;

/// The error of a boot, after which QEMU is gone.
fn refused(spec: &GuestSpec, programs: &Programs) -> String {
    let mut id = None;
    let error = Booted::boot(spec, programs, None, |qemu| id = Some(qemu)).unwrap_err();
    if let Some(id) = id {
        assert!(!Path::new(&format!("/proc/{id}")).exists(), "QEMU is still there");
    }
    let text = error.to_string();
    assert!(!text.contains(['\n', '\u{1b}']) && text.len() < 6000, "{text:?}");
    text
}

#[test]
fn a_file_that_is_no_kernel_is_refused_before_anything_is_started() {
    let Some((spec, programs)) = spec() else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "#!/bin/sh\n").unwrap();
    let spec = GuestSpec { kernel: file.path().into(), ..spec };
    let mut has_started = false;
    let error = Booted::boot(&spec, &programs, None, |_| has_started = true).unwrap_err();
    assert!(matches!(error, GuestError::Kernel(_)) && !has_started, "{error}");
}

#[test]
fn a_file_with_only_the_marks_of_a_kernel_ends_within_the_limit() {
    let Some((spec, programs)) = spec() else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut bytes = vec![0; 1 << 16];
    (bytes[0x1f1], bytes[0x1fe], bytes[0x1ff]) = (4, 0x55, 0xaa);
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    fs::write(file.path(), bytes).unwrap();
    let spec = GuestSpec { kernel: file.path().into(), boot_timeout: Duration::from_secs(5), ..spec };
    let text = refused(&spec, &programs);
    assert!(
        text.contains("has not answered in 5 s")
            || text.contains("ended while it booted")
            || text.contains("does not start"),
        "{text}"
    );
}

#[test]
fn a_guest_that_is_late_is_ended_with_the_last_lines_of_its_console() {
    let Some((spec, programs)) = spec() else { return };
    // No first process is found: the kernel goes on to look for others, and panics.
    let append = vec!["rdinit=/no/such".to_owned(), "panic=0".to_owned()];
    let spec = GuestSpec { append, boot_timeout: Duration::from_secs(20), ..spec };
    let text = refused(&spec, &programs);
    assert!(text.contains("has not answered in 20 s; its console ends with: "), "{text}");
    assert!(text.contains("Kernel panic"), "{text}");
}

#[test]
fn a_kernel_that_panics_is_reported_at_once() {
    let Some((spec, programs)) = spec() else { return };
    let spec = GuestSpec { append: vec!["rdinit=/no/such".to_owned()], ..spec };
    let text = refused(&spec, &programs);
    assert!(text.contains("after a panic; its console ends with: ") && text.contains("Kernel panic"), "{text}");
}

/// An emulator whose guests panic as if they had met a breakpoint that nobody set, as often as that; then they boot.
fn misemulates(spec: &GuestSpec, folder: &Path, times: u32) -> GuestSpec {
    let (qemu, panics) = (folder.join("qemu"), r#"console=ttyS0 panic=-1 rdinit=/no/such said="int3: 0000 [#1]""#);
    let script = format!(
        "#!/bin/sh\necho >>{0}/boots\n[ $(wc -l <{0}/boots) -le {times} ] && set -- \"$@\" -append '{panics}'\nexec {1} \"$@\"\n",
        folder.display(),
        spec.qemu.display()
    );
    fs::write(&qemu, script).unwrap();
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o700)).unwrap();
    GuestSpec { qemu: qemu.into(), cpus: 2, ..spec.clone() }
}

#[test]
fn a_guest_whose_emulator_ran_what_the_kernel_had_changed_is_booted_anew() {
    let Some((spec, programs)) = spec() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut ids = Vec::new();
    let booted = Booted::boot(&misemulates(&spec, folder.path(), 1), &programs, None, |qemu| {
        assert!(ids.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists()), "the former QEMU is still there");
        ids.push(qemu);
    });
    let booted = booted.unwrap();
    assert!(ids.len() == 2 && booted.id() == ids[1], "{ids:?}");
}

#[test]
fn an_emulator_that_fails_each_time_is_named() {
    let Some((spec, programs)) = spec() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = refused(&misemulates(&spec, folder.path(), 99), &programs);
    assert!(text.contains("code that the kernel had just changed; its console ends with: "), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join("boots")).unwrap().len(), 3);
}

#[test]
fn a_guest_of_64_mib_comes_up_or_is_said_to_have_too_little_memory() {
    let Some((spec, programs)) = spec() else { return };
    let spec = GuestSpec { memory: 64 << 20, ..spec };
    match Booted::boot(&spec, &programs, None, |_| {}) {
        Ok(_) => {}
        Err(error) => {
            assert!(error.to_string().contains("--memory"), "{error}");
        }
    }
}

#[test]
fn an_option_that_qemu_does_not_know_is_reported_in_its_words() {
    let Some((spec, programs)) = spec() else { return };
    let text = refused(&GuestSpec { cpu: Some("no-such-cpu".into()), ..spec.clone() }, &programs);
    assert!(text.contains("no-such-cpu"), "{text}");
    let text = refused(&GuestSpec { qemu_args: vec!["-no-such-option".into()], ..spec.clone() }, &programs);
    assert!(text.contains("-no-such-option"), "{text}");
    let text = refused(&GuestSpec { qemu: "qemu-no-such".into(), ..spec }, &programs);
    assert!(text.contains("qemu-no-such") && text.contains("install"), "{text}");
}

#[test]
fn a_request_to_stop_ends_a_boot_at_once() {
    let Some((spec, programs)) = spec() else { return };
    let (stop, ask) = rustix::pipe::pipe().unwrap();
    let (begins, begun) = std::sync::mpsc::channel();
    let asks = std::thread::spawn(move || {
        begun.recv().unwrap();
        // In the middle of it.
        std::thread::sleep(Duration::from_millis(300));
        rustix::io::write(&ask, b"x").unwrap();
        ask
    });
    let mut id = 0;
    let started = |qemu| {
        id = qemu;
        begins.send(()).unwrap();
    };
    let error = Booted::boot(&spec, &programs, Some(Rc::new(stop)), started).unwrap_err();
    assert!(matches!(error, GuestError::Stopped), "{error}");
    assert!(!Path::new(&format!("/proc/{id}")).exists());
    asks.join().unwrap();
}

#[test]
fn a_guest_under_kvm_comes_up_or_ends_within_its_limit() {
    let Some((spec, programs)) = spec() else { return };
    let spec = GuestSpec { accel: Accel::Kvm, boot_timeout: Duration::from_secs(10), ..spec };
    let error = match Booted::boot(&spec, &programs, None, |_| {}) {
        Ok(_) => return,
        Err(error) => error.to_string(),
    };
    assert!(error.contains("--accel tcg"), "{error}");
}

#[test]
fn a_module_that_the_kernel_refuses_is_reported_by_its_name() {
    let Some((spec, programs)) = spec() else { return };
    let module = tempfile::NamedTempFile::new().unwrap();
    fs::write(module.path(), "no module").unwrap();
    let spec = GuestSpec { module: Some(module.path().into()), ..spec };
    assert!(refused(&spec, &programs).contains("is no module of hostmark (it is no ELF file); build it in kmod/"));
    fs::write(module.path(), b"\x7fELF\x02\x01").unwrap();
    let text = refused(&spec, &programs);
    assert!(text.contains("it switched itself off") && text.contains("/modules/hostmark.ko: "), "{text}");
}

#[test]
fn memory_and_pages_that_the_host_does_not_have_are_reported() {
    let Some((spec, programs)) = spec() else { return };
    let text = refused(&GuestSpec { huge_pages: Some(1 << 30), memory: 1 << 50, ..spec.clone() }, &programs);
    assert!(text.contains("QEMU does not start ("), "{text}");
    for (spec, word) in [
        (GuestSpec { cpus: 0, ..spec.clone() }, "one CPU"),
        (GuestSpec { cpus: 3, nodes: 2, ..spec.clone() }, "evenly"),
        (GuestSpec { memory: (1 << 30) + 1, ..spec.clone() }, "MiB"),
        (GuestSpec { cpus: 2, pin: vec![0], ..spec.clone() }, "one for each"),
        (GuestSpec { pin: vec![1 << 20], ..spec.clone() }, "--pin"),
        (GuestSpec { modules: Some("/no/such".into()), ..spec.clone() }, "--modules"),
        (GuestSpec { image: Some("/no/such".into()), ..spec }, "--image"),
    ] {
        let text = refused(&spec, &programs);
        assert!(text.contains(word), "{text}");
    }
}
