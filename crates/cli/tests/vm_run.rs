//! `hostmark vm run` as a person meets it: who takes turns, what native runs are held to, and that nothing is left.

use hostmark_engine::sys::control_group::{ControlGroup, GroupLimit};
use hostmark_engine::sys::scratch::fresh_name;
use hostmark_host::{Root, nurseries};
use hostmark_launch::guest::kernel;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::control_group::groups;
use crate::prelude::*;

// Runs are timed: one at a time.
/// What is small and measured everywhere.
const CASE: &str = "syscall.null";

/// The runs below a directory, in the order of turns, by the side's name.
fn sides(directory: &Path) -> BTreeMap<String, Vec<Run>> {
    let mut sides: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    let mut all = files(directory);
    all.sort();
    for file in all {
        let run = load_run(&fs::read_to_string(&file).unwrap()).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        assert_eq!(
            stem.rsplit_once('-').map(|(side, _)| side),
            Some(run.name.as_str()),
            "a file is called after its side"
        );
        sides.entry(run.name.clone()).or_default().push(run);
    }
    sides
}

fn names(sides: &BTreeMap<String, Vec<Run>>) -> Vec<(&str, usize)> {
    sides.iter().map(|(name, runs)| (name.as_str(), runs.len())).collect()
}

/// Nothing of it is alive or lies where runs have their files.
fn assert_nothing_is_left(home: &Home) {
    assert!(within(SOON, || processes(home).is_empty()), "left: {:?}", processes(home));
    let scratch = || fs::read_dir(home.scratch.path()).unwrap().next().is_none();
    assert!(within(SOON, scratch), "left: {:?}", files(home.scratch.path()));
    assert!(within(SOON, || groups().is_empty()), "left: {:?}", groups());
}

#[test]
fn every_side_measures_the_network_to_the_same_other_end() {
    let _alone = alone();
    let home = Home::new();
    let words =
        ["vm", "run", "--on", "env", "net.round_trip@to=peer", "--peer", "here", "--runs", "1", "--format", "overhead"];
    with_code(0, home.says(&words));
    let sides = sides(home.data.path());
    for name in ["native", "guest"] {
        let [run] = &sides[name][..] else { panic!("{name}: {:?}", names(&sides)) };
        assert_eq!(run.peers[0].place.as_deref(), Some("here"), "{name}");
        assert!(run.cases.iter().any(|case| case.measured().is_some() && case.id.to_string().contains("to=peer")));
    }
    assert_nothing_is_left(&home);
}

#[test]
fn every_side_measures_the_same_in_turns_and_what_is_kept_can_be_shown_again() {
    let _alone = alone();
    let (home, out) = (Home::new(), tempfile::tempdir().unwrap());
    let directory = out.path().join("runs");
    let out = directory.display().to_string();
    let words =
        ["vm", "run", "--on", "env", CASE, "--runs", "2", "--also", "own=unshare -u", "--seed", "7", "--out", &out];
    let (shown, errors) = with_code(0, home.says(&words));
    assert!(errors.contains("3 sides take 2 turns each, 30 s at most: 3 min in all"), "{errors}");
    for part in ["native", "guest", "own", CASE, "kept in "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let sides = sides(&directory);
    assert_eq!(names(&sides), [("guest", 2), ("native", 2), ("own", 2)]);
    let native = &sides["native"];
    for (name, runs) in &sides {
        for (run, native) in runs.iter().zip(native) {
            assert_eq!((&run.tool.digest, run.settings.seed), (&native.tool.digest, native.settings.seed), "{name}");
            assert_eq!(run.settings.inputs.limit_s, Some(30), "a side's time is shared by its runs");
            assert!(run.tool.digest.is_some() && run.settings.limit_s <= 30.0);
        }
        let typed = [("guest", Some("env")), ("native", None), ("own", Some("unshare -u"))];
        let place = typed.iter().find(|(of, _)| of == name).unwrap().1;
        assert!(runs.iter().all(|run| run.place.as_deref() == place), "{name}");
    }
    assert_ne!(native[0].settings.seed, native[1].settings.seed);
    assert!(home.data.path().read_dir().unwrap().next().is_none(), "all of it is where --out says");

    let all: Vec<String> = files(&directory).iter().map(|file| file.display().to_string()).collect();
    let again: Vec<&str> =
        ["report", "--format", "overhead"].into_iter().chain(all.iter().map(String::as_str)).collect();
    let again = succeeded(home.says(&again));
    assert!(again.contains(CASE), "{again}");

    let (code, _, errors) = home.says(&words);
    assert!(code == 2 && errors.contains("holds runs of an earlier trial; give another directory"), "{errors}");
    assert_nothing_is_left(&home);
}

#[test]
fn native_runs_keep_to_as_many_cpus_as_the_guest_and_are_measured_free_too() {
    let _alone = alone();
    let cpus = hostmark_host::read_here().usable_cpus();
    let [first, _, ..] = cpus[..] else { return skipped("this machine has one CPU") };
    let home = Home::new();
    let on = format!("taskset -c {first}");
    with_code(0, home.says(&["vm", "run", "--on", &on, CASE, "--runs", "1"]));
    let sides = sides(home.data.path());
    assert_eq!(names(&sides), [("guest", 1), ("native", 1), ("native-free", 1)]);
    let usable = |name: &str| sides[name][0].host.usable_cpus().len();
    assert_eq!((usable("native"), usable("guest"), usable("native-free")), (1, 1, cpus.len()));
    assert_eq!(sides["native"][0].settings.inputs.cpus, Some(first.to_string()));
    assert_eq!(sides["native-free"][0].settings.inputs.cpus, None);
    assert_nothing_is_left(&home);
}

/// A group of so much memory in which a guest's place is; none where none can be made.
fn group(bytes: u64) -> Option<ControlGroup> {
    let made =
        |base: &String| ControlGroup::make(Path::new(base), &fresh_name().unwrap(), &GroupLimit::Memory(bytes)).ok();
    nurseries(&Root::here(), "memory").iter().find_map(made)
}

#[test]
fn native_runs_have_no_more_memory_than_the_guest_and_the_group_is_gone_afterwards() {
    let _alone = alone();
    let bytes = 1 << 30;
    let Some(group) = group(bytes) else { return skipped("no control group can be made here that limits memory") };
    let (home, at) = (Home::new(), group.path().display().to_string());
    let on = format!(r#"sh -c 'echo $$ > {at}/cgroup.procs && exec "$@"' x"#);
    let (code, shown, errors) = home.says(&["vm", "run", "--on", &on, CASE, "--runs", "1"]);
    let removed = group.remove();
    assert_eq!(code, 0, "{shown}{errors}");
    removed.unwrap();
    let sides = sides(home.data.path());
    assert_eq!(names(&sides), [("guest", 1), ("native", 1), ("native-free", 1)]);
    let limit = |name: &str| sides[name][0].host.limits.memory_limit_bytes;
    assert_eq!((limit("native"), limit("guest")), (Some(bytes), Some(bytes)));
    assert!(limit("native-free").is_none_or(|free| free > bytes));
    assert_nothing_is_left(&home);
}

/// A seed by which the guest has the first of two turns: then no run is whole when it fails.
fn guest_first() -> String {
    let is_first = |seed: &u64| {
        let mut order = [0, 1];
        order.shuffle(&mut Pcg64Mcg::seed_from_u64(*seed));
        order[0] == 1
    };
    (0..64).find(is_first).unwrap().to_string()
}

#[test]
fn a_side_that_fails_ends_the_turns_with_one_sentence_that_names_it() {
    let _alone = alone();
    for (words, code, says) in [
        (&["--on", "false"][..], 2, "'false' ended before its shell had begun"),
        (&["--on", "no-such-program"], 2, "cannot start 'no-such-program'"),
        (&["--on", "sh -c 'echo hello; exit 3'"], 2, "ended before its shell had begun"),
        (&["--on", "sh -c 'yes | head -c 200000' x"], 2, "prints more than 64 KiB before its shell starts"),
        (&["--on", "env", "--also", "own=false"], 2, "'false' ended before its shell had begun"),
        (&["--on", "timeout -s KILL 4 env", "--seed", &guest_first()], 5, "turn 1 of 1 of guest: "),
        (&["--on", "tcp:db-17"], 2, "log in, as by --on 'ssh vm1'"),
        (&["--on", "env", "no.such"], 4, "no.such"),
        (&["--on", "env", "--set", "nonsense=1"], 2, "nonsense"),
    ] {
        let home = Home::new();
        // Long enough that the one that is killed is measuring.
        let filter = ["memory.read", "syscall"];
        let filter = if words.contains(&"no.such") { &filter[..0] } else { &filter };
        let arguments = [&["vm", "run", "--runs", "1", "--profile", "quick"], words, filter].concat();
        let (ended_with, shown, errors) = home.says(&arguments);
        let sentence = errors.lines().last().unwrap_or_default();
        assert!(ended_with == code && sentence.contains(says), "{words:?}: {ended_with} {shown}{errors}");
        assert_nothing_is_left(&home);
        assert!(files(home.data.path()).iter().all(|file| file.extension().is_some_and(|kind| kind == "json")));
        let runs = home.data.path().join("hostmark/runs");
        let empty = |entry: fs::DirEntry| entry.path().is_dir() && entry.path().read_dir().unwrap().next().is_none();
        let left = runs.read_dir().into_iter().flatten().filter_map(Result::ok).any(empty);
        assert!(!left, "{words:?}: an empty directory is left");
    }
}

/// The marks of a kernel and of a static program: enough for what is looked at before QEMU starts.
fn stand_ins(folder: &Path) -> String {
    let mut kernel = vec![0; 1 << 16];
    (kernel[0x1fe], kernel[0x1ff]) = (0x55, 0xaa);
    kernel[0x202..0x206].copy_from_slice(b"HdrS");
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(64, 0);
    program[18] = 62;
    fs::write(folder.join("hostmark-x86_64-linux-musl"), program).unwrap();
    fs::write(folder.join("vmlinuz"), kernel).unwrap();
    folder.join("vmlinuz").display().to_string()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_dry_run_of_a_guest_refuses_what_the_run_refuses_in_the_same_words() {
    let _beside = beside();
    let home = Home::new();
    // Static programs are looked for beside the program.
    let folder = tempfile::tempdir_in(Path::new(PROGRAM).parent().unwrap()).unwrap();
    let program = folder.path().join("hostmark");
    if fs::hard_link(PROGRAM, &program).is_err() {
        return skipped("the program cannot be linked");
    }
    let kernel = stand_ins(folder.path());
    for (words, says) in [
        (&["--kernel", "/no/such"][..], "the kernel /no/such cannot be read"),
        (&["--kernel", "/dev/null"], "cannot be read"),
        (&["--kernel", &kernel, "--memory", "1025K"], "a number of MiB for each node"),
        (&["--kernel", &kernel, "--smp", "3", "--nodes", "2"], "choose a multiple of the nodes"),
        (&["--kernel", &kernel, "--image", "/no/such"], "the image /no/such cannot be read"),
        (&["--kernel", &kernel, "--disk", "1M"], "choose 64 MiB or more"),
        (&["--kernel", &kernel, "--out", "/proc/x"], "/proc/x cannot be made"),
        (&["--kernel", &kernel, "--qemu", "/no/such"], "install it, or name it by --qemu"),
    ] {
        let said = |more: &[&str]| {
            let mut command = home.start(program.to_str().unwrap());
            ended(command.args(["vm", "run", "--accel", "tcg", CASE]).args(words).args(more))
        };
        let refused = said(&[]);
        assert!(refused.0 == 2 && refused.2.contains(says), "{words:?}: {refused:?}");
        assert_eq!(said(&["--dry-run"]), refused, "{words:?}");
    }
    for (words, says) in [(["--also", "own=false"], "'false' ended"), (["--peer", "false"], "'false' ended")] {
        let (code, _, errors) = ended(home.hostmark(&["vm", "run", "--on", "env", "--dry-run", CASE]).args(words));
        assert!(code == 2 && errors.contains(says), "{words:?}: {errors}");
    }
    assert_nothing_is_left(&home);
}

/// Turns under way of which some are over.
struct UnderWay {
    home: Home,
    child: Running,
}

impl UnderWay {
    fn start(home: Home, mut command: Command, limit: Duration, has_begun: impl Fn(&Path) -> bool) -> UnderWay {
        let child = Running::start(command.process_group(0));
        assert!(within(limit, || has_begun(home.data.path())), "{:?}", files(home.data.path()));
        UnderWay { home, child }
    }
}

fn native_turns() -> UnderWay {
    let home = Home::new();
    let command = home.heeding(&["vm", "run", "--on", "taskset -c 0", CASE, "--runs", "200"]);
    UnderWay::start(home, command, SOON * 4, |data| {
        let kept = sides(data);
        kept.len() == 3 && kept["native"].len() > 1
    })
}

fn guest_turns(program: &str) -> UnderWay {
    let home = Home::new();
    let command = vm_run(&home, program, &["syscall.null", "--runs", "200"]);
    let has_guest = |data: &Path| files(data).iter().any(|file| file.to_string_lossy().contains("guest-"));
    UnderWay::start(home, command, Duration::from_secs(240), has_guest)
}

#[test]
fn who_asks_to_stop_is_shown_what_is_whole_and_nothing_else_is_left() {
    let _alone = alone();
    let mut turns = native_turns();
    turns.child.signal(Signal::INT);
    let (shown, _) = with_code(130, said(&turns.child.ends(SOON)));
    let kept = sides(turns.home.data.path());
    assert!(shown.contains(CASE), "{shown}");
    assert!(kept.values().flatten().all(|run| run.interrupted.is_none()));
    assert_nothing_is_left(&turns.home);
}

#[test]
fn who_is_killed_leaves_whole_runs_and_nothing_else() {
    let _alone = alone();
    let mut turns = native_turns();
    turns.child.signal(Signal::KILL);
    turns.child.wait().unwrap();
    assert_nothing_is_left(&turns.home);
    assert!(sides(turns.home.data.path()).values().flatten().all(|run| run.interrupted.is_none()));
}

// Guests share the machine's CPUs: one at a time.

/// An emulated machine boots in seconds, and a loaded host takes its time.
const BOOTS_WITHIN: &str = "180";

/// The kernel that is named so, else one of this machine.
const KERNEL: &str = "HOSTMARK_KERNEL";

fn named(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// The program as it runs in guests; none, and the reason told, where something is missing.
fn program() -> Option<String> {
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        skipped("there is no qemu-system-x86_64");
        return None;
    }
    if let Err(error) = named(KERNEL).map_or_else(kernel::found, Ok) {
        skipped(&error.to_string());
        return None;
    }
    let found = named("HOSTMARK_STATIC");
    if found.is_none() {
        skipped(
            "HOSTMARK_STATIC names no static program: cargo build --target x86_64-unknown-linux-musl -p hostmark makes one",
        );
    }
    Some(found?.display().to_string())
}

/// The command that makes a guest under emulation, of a program in a home.
fn vm_run(home: &Home, program: &str, words: &[&str]) -> Command {
    // A background job of a script is started with signals ignored, and its children inherit it.
    let mut command = home.start("env");
    command.args(["--default-signal=INT,HUP", program]);
    command.args(["vm", "run", "--accel", "tcg", "--boot-timeout", BOOTS_WITHIN, "--smp", "1"]);
    // A test may name others.
    if !words.contains(&"--memory") {
        command.args(["--memory", "512M"]);
    }
    if let Some(kernel) = named(KERNEL).filter(|_| !words.contains(&"--kernel")) {
        command.arg("--kernel").arg(kernel);
    }
    command.args(words);
    command
}

fn runs(home: &Home) -> Vec<Run> {
    let mut all = files(home.data.path());
    all.sort();
    all.iter().map(|file| load_run(&fs::read_to_string(file).unwrap()).unwrap()).collect()
}

#[test]
fn a_guest_is_made_and_measured_beside_this_machine_and_says_what_it_was() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let home = Home::new();
    let (shown, _) = with_code(0, ended(&mut vm_run(&home, &program, &["syscall.null", "--runs", "2"])));
    assert_nothing_is_left(&home);
    let runs = runs(&home);
    let of = |name: &str| runs.iter().filter(|run| run.name == name).collect::<Vec<_>>();
    let (native, guest) = (of("native"), of("guest"));
    assert_eq!((native.len(), guest.len()), (2, 2), "{shown}");
    for (native, guest) in native.iter().zip(&guest) {
        assert_eq!(native.tool, guest.tool, "the same file on both sides");
        assert_eq!((native.settings.seed, &native.guest, &guest.place), (guest.settings.seed, &None, &None));
        assert_ne!(native.host.boot_id, guest.host.boot_id);
        assert_eq!(native.host.usable_cpus().len(), guest.host.usable_cpus().len());
        assert!(guest.cases.iter().all(|case| matches!(case.outcome, Outcome::Measured(_))), "{:?}", guest.cases);
        let facts = guest.guest.as_ref().unwrap();
        assert_eq!((facts.accel.as_str(), facts.cpus, facts.memory), ("tcg", 1, 512 << 20));
        assert!(facts.vmm.contains("QEMU") && facts.command.len() > 5 && facts.digests.contains_key("kernel"));
        assert!(facts.idle_cpus.is_some_and(|cpus| (0.0..1.5).contains(&cpus)), "{:?}", facts.idle_cpus);
        assert!(facts.host.contains_key("clock_source"), "{:?}", facts.host);
    }
}

#[test]
fn a_program_that_is_not_static_says_what_to_put_beside_it() {
    let _beside = beside();
    let beside = Path::new(PROGRAM).with_file_name("hostmark-x86_64-linux-musl");
    if program().is_none() {
        return;
    }
    let home = Home::new();
    let (code, _, errors) = home.says(&["vm", "run", "--accel", "tcg", "--memory", "1M", "syscall.null"]);
    // A static one boots, or has too little memory for that.
    if code == 2 && errors.contains("not static") {
        assert!(errors.contains("put hostmark-x86_64-linux-musl beside it"), "{errors}");
    } else {
        assert!(beside.exists() || code != 0, "{errors}");
        skipped("this program is static, or one lies beside it");
    }
}

#[test]
fn a_guest_with_too_little_memory_says_so_and_leaves_nothing() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let home = Home::new();
    let (code, _, errors) = ended(&mut vm_run(&home, &program, &["--memory", "64M", "syscall.null"]));
    assert!(code == 5 && errors.contains("more memory by --memory") && errors.lines().count() == 1, "{code} {errors}");
    assert_nothing_is_left(&home);
    assert!(files(home.data.path()).is_empty());
}

#[test]
fn who_stops_or_kills_it_leaves_no_guest() {
    let _alone = alone();
    let Some(program) = program() else { return };
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut turns = guest_turns(&program);
        turns.child.signal(signal);
        assert_eq!(turns.child.ends(SOON).status.code(), code);
        assert_nothing_is_left(&turns.home);
        assert!(runs(&turns.home).iter().all(|run| run.interrupted.is_none()));
    }
}

// Runs are timed: one at a time.

/// One of each kind of exit, and what needs neither KVM nor a hypervisor.
const FILTERS: [&str; 3] = ["virt.exit@cause=cpuid", "virt.exit@cause=port", "virt.timer"];

/// As a shell's words: what makes a /dev without KVM, in a namespace of mounts.
const BARE_DEV: &str = "mount -t tmpfs -o mode=755 hostmark-test /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/zero c 1 5 \
     && mknod -m 666 /dev/urandom c 1 9 && mkdir -m 1777 /dev/shm";
/// What lets nobody but root open it there.
const KVM_OF_ROOT: &str = "mknod -m 600 /dev/kvm c 10 232";
const NULL_AS_KVM: &str = "mount --bind /dev/null /dev/kvm";

/// A run that ended well and left nothing.
fn measured(home: &Home, command: &mut Command) -> Run {
    let (json, _) = with_code(0, ended(command.args(["run", "--format", "json"]).args(FILTERS)));
    assert!(files(home.scratch.path()).is_empty(), "{:?}", files(home.scratch.path()));
    load_run(&json).unwrap()
}

fn exits(run: &Run) -> impl Iterator<Item = &CaseRecord> {
    run.cases.iter().filter(|case| case.probe == "virt.exit")
}

/// Why no exit was measured, which is told once.
fn reason(run: &Run) -> &str {
    let [exit] = exits(run).collect::<Vec<_>>()[..] else { panic!("{:?}", exits(run).collect::<Vec<_>>()) };
    assert!(run.cases.iter().any(|case| case.probe == "virt.timer" && case.measured().is_some()));
    match &exit.outcome {
        Outcome::Skipped { reason } => reason,
        other => panic!("{other:?}"),
    }
}

/// The program after `shell` in a namespace of mounts; none where that cannot be.
fn inside(home: &Home, shell: &str, user: &[&str]) -> Option<Command> {
    let start = || {
        let mut command = home.start("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &format!("{shell} && exec \"$@\""), "sh"]);
        command.args(user).arg(PROGRAM);
        command
    };
    start().arg("--version").output().is_ok_and(|output| output.status.success()).then(start)
}

#[test]
fn exits_are_measured_or_say_why_not() {
    let _alone = alone();
    let home = Home::new();
    let run = measured(&home, &mut home.hostmark(&[]));
    for exit in exits(&run) {
        match &exit.outcome {
            Outcome::Measured(measured) => {
                let [whole, overhead] = ["whole", "overhead"].map(|name| measured.also[name].estimate.typical);
                assert!(whole > overhead && overhead > 0.0, "{}: {whole} {overhead}", exit.id);
                let handled = if exit.id.ends_with("port") { "user space" } else { "kernel" };
                assert_eq!(measured.notes["handled_in"], handled);
            }
            Outcome::Skipped { reason } => {
                assert!(reason.contains("KVM") || reason.contains("kvm"), "{reason}");
                skipped(reason);
            }
            Outcome::Failed { reason } => panic!("{}: {reason}", exit.id),
        }
    }
}

#[test]
fn without_the_device_or_the_right_to_open_it_no_exit_is_measured() {
    let _alone = alone();
    let home = Home::new();
    let Some(mut command) = inside(&home, BARE_DEV, &[]) else {
        return skipped("no namespace of mounts, or no device file, can be made here");
    };
    assert!(reason(&measured(&home, &mut command)).starts_with("needs KVM, and there is no /dev/kvm: load kvm_intel"));
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let home = Home::new();
    for directory in [home.data.path(), home.scratch.path()] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let Some(mut command) = inside(&home, &format!("{BARE_DEV} && {KVM_OF_ROOT}"), &user) else {
        return skipped("no other user is available here, or it cannot start the program");
    };
    assert!(reason(&measured(&home, &mut command)).starts_with("may not open /dev/kvm: run it as root"));
}

#[test]
fn what_is_no_kvm_is_reported_and_not_used() {
    let _alone = alone();
    if !Path::new("/dev/kvm").exists() {
        return skipped("there is no /dev/kvm to be hidden");
    }
    let home = Home::new();
    let Some(mut command) = inside(&home, NULL_AS_KVM, &[]) else {
        return skipped("no namespace of mounts can be made here");
    };
    let run = measured(&home, &mut command);
    for exit in exits(&run) {
        let Outcome::Skipped { reason } = &exit.outcome else { panic!("{:?}", exit.outcome) };
        assert!(
            reason.starts_with("KVM here cannot do ") && reason.contains("its interface is version -1"),
            "{reason}"
        );
    }
    assert_eq!(exits(&run).count(), 2);
}
