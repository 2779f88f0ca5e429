//! What of a text is a name, and what only looks like one.

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
    assert_eq!(names.text("release", "6.1.0.7-acme"), "6.1.0.7-acme");
    assert_eq!(names.text("hostname", "vm"), "host-4");
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
