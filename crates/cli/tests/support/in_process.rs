//! Runs commands in the test process, with their own streams, variables and clock, on a mock of the machine.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::io::Write;
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hostmark::commands;
use hostmark::world::{MockMachine, ProcessContext, StandardStream, World, time_of_day};
use hostmark_engine::clock::Calibration;
use hostmark_engine::mock::{MockWall, Script, Unmetered, Workers};
use hostmark_engine::{mock, probe};
use hostmark_model::{HostFacts, Job, Unit};
use hostmark_probes::CATALOGUE;

/// The facts of this machine, which the mock has too, but for its processor: what is known of one must not decide a test.
static HOST: LazyLock<HostFacts> = LazyLock::new(|| {
    let mut host = hostmark_host::read_here();
    (host.cpu.model, host.cpu.microarchitecture) = (Some("Made-up CPU".into()), None);
    host
});

/// Executes hostmark with the arguments and variables of `command`: exit code, standard output, standard error. The workers of a
/// run are mocks.
pub fn in_process(command: &Command) -> (i32, String, String) {
    scripted(command, |job, _| healthy_worker(job))
}

/// The same with scripted workers. To press Ctrl-C, a script stores the signal and ends with `Interrupted`.
pub fn scripted(
    command: &Command,
    script: impl FnMut(&Job, &AtomicUsize) -> Script + 'static,
) -> (i32, String, String) {
    let output = Written::default();
    let (code, errors) = printing_to(command, Box::new(output.clone()), script);
    (code, output.text(), errors)
}

/// The same with another standard output: exit code and standard error.
pub fn printing_to(
    command: &Command,
    output: Box<dyn StandardStream>,
    script: impl FnMut(&Job, &AtomicUsize) -> Script + 'static,
) -> (i32, String) {
    let errors = Written::default();
    (with_streams(command, output, errors.clone(), script), errors.text())
}

/// Exit code of a command in this process with these streams.
pub fn with_streams(
    command: &Command,
    output: Box<dyn StandardStream>,
    errors: Written,
    mut script: impl FnMut(&Job, &AtomicUsize) -> Script + 'static,
) -> i32 {
    assert!(command.get_current_dir().is_none(), "all commands in this process share a directory");
    let (wall, asked) = (MockWall::default(), Arc::<AtomicUsize>::default());
    let set: Vec<(OsString, Option<OsString>)> =
        command.get_envs().map(|(name, value)| (name.to_owned(), value.map(OsString::from))).collect();
    let variable = move |name: &str| match set.iter().find(|(known, _)| known == name) {
        Some((_, value)) => value.clone(),
        None => std::env::var_os(name),
    };
    let context = ProcessContext {
        output: RefCell::new(output),
        errors: RefCell::new(Box::new(errors)),
        variable: Box::new(variable),
        now: Box::new(time_of_day),
        // The test program is no hostmark, and must not be started as one.
        program: Box::new(|| Err(io::ErrorKind::Unsupported.into())),
    };
    let by_signal = Arc::clone(&asked);
    let mut workers = Workers::new(&wall, move |job: &Job| script(job, &by_signal));
    let mock_machine = MockMachine {
        host: HOST.clone(),
        calibration: Calibration::NONE,
        open: Box::new(move |job| workers.open(job)),
        meters: Box::new(Unmetered),
        asked,
    };
    let mut world = World { context: Rc::new(context), wall: Box::new(wall), mock_machine: Some(mock_machine) };
    let words: Vec<OsString> = command.get_args().map(OsString::from).collect();
    commands::run(&words, &mut world).code().into()
}

/// A stream that keeps what is written to it.
#[derive(Clone, Default)]
pub struct Written {
    pub bytes: Rc<RefCell<Vec<u8>>>,
    pub is_terminal: bool,
}

impl Written {
    pub fn text(&self) -> String {
        String::from_utf8(self.bytes.borrow().clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StandardStream for Written {
    fn is_terminal(&self) -> bool {
        self.is_terminal
    }
}

/// A worker that measures all cases of its job: each in the time that it was granted, and each of its own value.
pub fn healthy_worker(job: &Job) -> Script {
    let granted = Duration::from_nanos(job.budget_ns);
    if job.cases.is_empty() {
        return vec![mock::hello(), (Duration::from_millis(20), mock::line(&mock::done(0)).1)];
    }
    let mut script = vec![mock::hello()];
    for case in &job.cases {
        script.push((granted, mock::line(&samples(&case.id, case.seed)).1));
        script.push(mock::line(&mock::done(1000)));
    }
    script
}

/// Samples of a case: some percent around a value that its name gives.
fn samples(id: &str, seed: u64) -> hostmark_model::Event {
    let value = 20.0 + id.bytes().map(f64::from).sum::<f64>() % 80.0;
    let ns: Vec<f64> = (0..8).map(|sample| value * (1.0 + 0.001 * ((seed % 7 + sample) % 11) as f64)).collect();
    let entry = probe::find(CATALOGUE, id.split('@').next().unwrap_or_default());
    let is_rate =
        entry.is_some_and(|entry| matches!(entry.info().unit, Unit::BytesPerSecond | Unit::OperationsPerSecond));
    match mock::samples(&ns) {
        hostmark_model::Event::Samples { ns, iterations, disturbance_flags, .. } => {
            hostmark_model::Event::Samples { ns, iterations, disturbance_flags, amount: if is_rate { 64 } else { 0 } }
        }
        other => other,
    }
}
