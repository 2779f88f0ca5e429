//! Views that would be empty.

use crate::support::{Home, ended, files, in_process};

#[test]
fn a_view_that_would_be_empty_says_so_and_ends_with_2() {
    let home = Home::new();
    for format in ["table", "json"] {
        let (code, out, errors) = ended(&mut home.hostmark(&["runs", "--format", format]));
        assert!(
            code == 2 && errors.contains("hostmark run makes one") && errors.lines().count() == 1,
            "{code} {errors}"
        );
        assert_eq!(out.trim(), if format == "json" { "[]" } else { "" });
    }
    // A run of one case that no table has.
    let measured = in_process(&home.hostmark(&["run", "clock.loop"]));
    assert_eq!(measured.0, 0, "{measured:?}");
    let mut empty = Vec::new();
    for format in hostmark_present::export::FORMATS {
        let (code, out, errors) = ended(&mut home.hostmark(&["report", "--format", format.name]));
        match code {
            0 => assert!(!out.trim().is_empty() && errors.is_empty(), "{} {errors}", format.name),
            2 => {
                assert!(out.is_empty() && errors.contains("--table") && errors.lines().count() == 1, "{out} {errors}");
                empty.push(format.name);
            }
            other => panic!("{} ended with {other}: {errors}", format.name),
        }
    }
    let tables =
        ["memory-bandwidth", "size-stride", "pipe", "stream", "lmbench", "lmbench-result", "overhead", "data-path"];
    assert_eq!(empty, tables);
    // Nothing in common.
    let measured = in_process(&home.hostmark(&["run", "syscall.null@copies=1"]));
    assert_eq!(measured.0, 0, "{measured:?}");
    let (code, out, errors) = ended(&mut home.hostmark(&["compare", "last-1", "last"]));
    assert!(code == 2 && out.contains("only the base has it") && errors.contains("no case"), "{code} {out} {errors}");
    assert!(files(home.scratch.path()).is_empty());
}
