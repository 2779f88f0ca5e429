//! `hostmark report NAME=RUN… --format overhead` as a person types it.

use crate::support::{Home, ended, files};

/// A run with one call that takes so many microseconds, kept in a file of this name.
fn run(home: &Home, file: &str, microseconds: &str) -> String {
    let source = home.data.path().join("result");
    let text = format!(
        "[lmbench3.0 results for Linux host 6.1.0 #1 SMP x86_64 GNU/Linux]\nSimple syscall: {microseconds} microseconds\n\n\
         [Thu Jan  7 10:30:00 UTC 2010]\n"
    );
    std::fs::write(&source, text).unwrap();
    let out = home.data.path().join(file);
    let (code, said, errors) = ended(home.hostmark(&["import", "lmbench"]).arg(&source).arg("--out").arg(&out));
    assert_eq!((code, errors.as_str()), (0, ""), "{said}");
    out.display().to_string()
}

#[test]
fn runs_stand_under_the_names_that_they_are_given_and_those_of_one_name_together() {
    let home = Home::new();
    let (native, slow, guest) = (run(&home, "a.json", "0.2"), run(&home, "b.json", "0.4"), run(&home, "c.json", "0.6"));
    let report = |runs: &[&str], more: &[&str]| {
        let start = ["report", "--format", "overhead", "--lang", "en"];
        ended(&mut home.hostmark(&[&start[..], runs, more].concat()))
    };
    let [native_run, slow_run, guest_run] =
        [("native", &native), ("native", &slow), ("guest", &guest)].map(|(name, file)| format!("{name}={file}"));
    let (code, text, errors) = report(&[&native_run, &guest_run], &[]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(text.contains("over native") && text.contains("+200.00 %"), "{text}");
    // The median of two runs of an environment is 0.3.
    let (_, text, _) = report(&[&native_run, &slow_run, &guest_run], &[]);
    assert!(text.contains("+100.00 %"), "{text}");
    // So it is where they are given as a list, as a pattern, and as a directory.
    let at = home.data.path().join("both");
    std::fs::create_dir(&at).unwrap();
    for (file, name) in [(&native, "n-1.json"), (&slow, "n-2.json")] {
        std::fs::copy(file, at.join(name)).unwrap();
    }
    let (list, folder) = (format!("native={native},{slow}"), format!("native={}", at.display()));
    for both in [&list, &folder, &format!("{folder}/n-*.json")] {
        assert_eq!(report(&[both, &guest_run], &[]).1, text, "{both}");
    }
    let (code, _, errors) = report(&[&format!("{folder}/m-*")], &[]);
    assert!(code == 2 && errors.contains("no run is called like"), "{errors}");
    let (code, _, errors) = report(&[&native_run, &guest_run], &["--base", "syscall.nothing"]);
    assert_eq!(code, 2);
    assert!(errors.contains("native has no such case"), "{errors}");
    let (code, _, errors) = ended(&mut home.hostmark(&["report", &native, "--base", "syscall.null"]));
    assert_eq!(code, 2);
    assert!(errors.contains("--format overhead"), "{errors}");
    let (code, _, errors) = report(&["native=nowhere.json"], &[]);
    assert_eq!(code, 2);
    assert!(errors.contains("there is no file nowhere.json"), "{errors}");
    // A file that has an equals sign in its own name.
    let odd = run(&home, "x=y.json", "0.2");
    assert_eq!(report(&[&odd, &guest], &[]).0, 0);
    assert!(files(home.scratch.path()).is_empty());
}
