//! Tests that names in a text are recognized, and words that look like names are not.

use hostmark_model::{Message, MessageArgument, Reason, ReasonCode};

use super::*;

#[test]
fn names_go_from_texts_and_words_that_hold_them_stay() {
    let mut names = RedactedNames::default();
    names.place("ssh -p 22 ada@db-17.example.org");
    names.host("vm");
    let cases = [
        ("a copy on db-17 ended: db-170 did not", "a copy on host-3 ended: db-170 did not"),
        ("ssh -p 22 ada@db-17.example.org: no route", "host-1: no route"),
        ("hostmark vm run", "hostmark vm run"),
        ("ada: not in sudoers", "user-1: not in sudoers"),
        ("MB/s in 3/4 of /home/ada/data and '/srv/x y'", "MB/s in 3/4 of path-1 and 'path-2 y'"),
        ("write never to /sys/kernel/mm, /dev/vda or /usr/src", "write never to /sys/kernel/mm, /dev/vda or /usr/src"),
        ("https://example.org/a stays; /dev/mapper/vg-acme goes", "https://example.org/a stays; path-3 goes"),
        (
            "10.1.2.3:80, 10.1.2.3. and fe80::1 by 52:54:00:12:34:56",
            "192.0.2.1:80, 192.0.2.1. and 2001:db8::2 by redacted",
        ),
        ("127.0.0.1 and ::1, at 12:30:45, 1.5 ns", "127.0.0.1 and ::1, at 12:30:45, 1.5 ns"),
        ("一条路径：/home/ada/data，地址 10.1.2.3", "一条路径：path-1，地址 192.0.2.1"),
    ];
    for (text, wanted) in cases {
        assert_eq!(names.text("reason", text), wanted);
    }
    assert_eq!(names.text("release", "6.1.0.7-acme"), "6.1.0.7");
    assert_eq!(names.text("hostname", "vm"), "host-4");
}

#[test]
fn what_a_kernel_calls_things_stays_and_what_somebody_calls_them_goes() {
    for (full, rest) in [
        ("6.18.44-acme3", "6.18.44"),
        ("6.12.63+deb13-cloud-amd64", "6.12.63+deb13-cloud-amd64"),
        ("5.14.0-427.13.1.el9_4.x86_64", "5.14.0-427.13.1.el9_4.x86_64"),
        ("6.1.112-122.189.amzn2023.aarch64", "6.1.112-122.189.amzn2023.aarch64"),
        ("5.15.167.4-microsoft-standard-WSL2", "5.15.167.4-microsoft-standard-WSL2"),
        ("6.8.0-acme.db-generic", "6.8.0-generic"),
        ("6.9.0-rc3+", "6.9.0-rc3+"),
    ] {
        assert_eq!(release(full), rest);
        assert_eq!(release(rest), rest, "once more");
    }
    let version = "#45~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC Debian 6.12.63-1 (2025-12-30) Wed Jan 7 10:00:00 UTC 2026";
    assert_eq!(build(version), version);
    assert_eq!(build("#1-acme SMP root@acme-db1 UTC"), "SMP UTC");
    for name in
        ["lo", "eth0", "enp3s0f1np1", "enP2p1s0", "eno1", "wlp2s0", "bond0.100", "virbr0", "docker0", "ens5", "ibp1s0"]
    {
        assert!(is_interface(name), "{name}");
    }
    for name in ["wg-acmehq", "enx525400123456", "br-0a1b2c3d4e5f", "acme0", "veth1a2b3c4", ""] {
        assert!(!is_interface(name) || name.is_empty(), "{name}");
    }
    for name in ["sda", "sdab12", "vda1", "xvdf", "nvme0n1p2", "mmcblk0p1", "md127", "dm-3", "loop0", "zram0"] {
        assert!(is_disk(name), "{name}");
    }
    for name in ["md_acme", "acmevol", "sdacme"] {
        assert!(!is_disk(name), "{name}");
    }
    let mut names = RedactedNames::default();
    for (layer, wanted) in [
        ("dm-0 (lvm)", "dm-0 (lvm)"),
        ("md127 (raid10)", "md127 (raid10)"),
        ("dm-1 (acme)", "dm-1"),
        ("/dev/vda1", "/dev/vda1"),
        ("vda+vdb", "vda+vdb"),
        ("acmepool", "path-1"),
        ("/srv/acme.img (deleted)", "path-2 (deleted)"),
        ("unknown", "unknown"),
    ] {
        assert_eq!(names.text("layer", layer), wanted);
    }
    assert_eq!(
        names.text("reason", "mount /dev/md_acme; see /dev/kvm, /usr/local/acme, /sys/fs/cgroup/acme.slice, /usr/bin"),
        "mount path-3; see /dev/kvm, path-4, path-5, /usr/bin"
    );
}

#[test]
fn a_busy_process_goes_from_its_sentence_and_nothing_else_does() {
    let texts = [
        "a busy process (pid 4711, acme-trader, 98 % of a CPU) disturbed this run",
        "有繁忙的进程（pid 4711，acme-trader，占一个 CPU 的 98%）干扰了本次运行",
        "a busy process (pid 7, of, a kind, 20 % of a CPU) disturbed this run",
    ];
    let mut names = RedactedNames::default();
    let changed = texts.map(|text| names.without_processes(text));
    assert_eq!(changed[0], "a busy process (pid 4711, process-1, 98 % of a CPU) disturbed this run");
    assert_eq!(changed[1], "有繁忙的进程（pid 4711，process-1，占一个 CPU 的 98%）干扰了本次运行");
    assert_eq!(changed[2], "a busy process (pid 7, process-2, 20 % of a CPU) disturbed this run");
    assert_eq!(names.text("reason", "acme-trader is one of them"), "process-1 is one of them");
}

#[test]
fn of_command_lines_and_mounts_what_explains_figures_stays() {
    assert_eq!(
        revealing_options("root=UUID=1234 mitigations=off quiet ip=10.0.0.1 isolcpus=2-3"),
        "mitigations=off quiet isolcpus=2-3"
    );
    let cases = [
        ("resgid=65534", "resgid=65534"),
        ("addr=10.0.0.1", "addr"),
        ("rsize=1m", "rsize=1m"),
        ("data=ordered", "data=ordered"),
    ];
    for (option, wanted) in cases {
        assert_eq!(mount_option(option), wanted);
    }
}

#[test]
fn a_reason_keeps_its_message_where_that_is_redacted_alike() {
    let path = || vec![("path", MessageArgument::Text("/srv/acme".to_owned()))];
    let said = ReasonCode::Internal.because(Message::new("'{path}' cannot be read", path()));
    let other = Reason { message: Some(Message::new("'{path}' is another matter", path())), ..said.clone() };
    for (mut reason, is_kept) in [(said, true), (other, false)] {
        let mut names = RedactedNames::default();
        reason.each("", &mut |field, leaf| {
            let Leaf::Text(text) = leaf else { panic!() };
            *text = names.text(field, text);
        });
        assert_eq!((&*reason, reason.message.is_some()), ("'path-1' cannot be read", is_kept));
        assert!(!format!("{reason:?}").contains("acme"));
    }
}
