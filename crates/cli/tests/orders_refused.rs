//! Orders that nobody can mean: whatever a worker is handed, it answers in one sentence, and soon.

#[expect(dead_code, reason = "what lies in them afterwards other tests look at")]
#[path = "support/orders.rs"]
mod orders;
#[expect(dead_code, reason = "what a run leaves other tests look at")]
#[path = "support/traces.rs"]
mod traces;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hostmark_model::{ClockOrder, Event, Order};
use orders::{Places, orders};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostmark");
/// A round of so little time takes a fraction of it, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Workers at the same time.
const AT_ONCE: usize = 8;
/// Addresses that a worker may have here, KiB: what asks for memory without asking first is refused it.
const ADDRESSES_KIB: u64 = 2 << 20;

#[expect(clippy::disallowed_methods, reason = "bounds a wait")]
fn now() -> Instant {
    Instant::now()
}

/// A worker with an order.
struct Asked {
    what: String,
    child: Child,
    begun: Instant,
}

fn ask(what: String, order: &Order) -> Asked {
    let script = format!("ulimit -v {ADDRESSES_KIB} && exec \"$0\" worker");
    let mut command = Command::new("sh");
    command.args(["-c", &script, PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let line = format!("{}\n", serde_json::to_string(order).unwrap());
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    Asked { what, child, begun: now() }
}

impl Asked {
    /// What is wrong with the answer, if anything is.
    fn wrong(mut self) -> Option<String> {
        let has_ended = loop {
            match self.child.try_wait().unwrap() {
                Some(_) => break true,
                None if self.begun.elapsed() > PATIENCE => break false,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        let (mut said, mut errors) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let last = said.lines().last().and_then(|line| serde_json::from_str::<Event>(line).ok());
        let is_answer = match &last {
            Some(Event::Done { .. }) => true,
            Some(Event::Failed { reason } | Event::Skipped { reason }) => {
                !reason.contains("panicked") && !reason.contains('\n') && reason.len() < 400
            }
            _ => false,
        };
        let is_right = has_ended && status.success() && is_answer;
        (!is_right).then(|| format!("{}: {status}, ended: {has_ended}, {last:?} {errors}", self.what))
    }
}

/// The case with another value of an axis.
fn with(order: &Order, axis: &str, value: &str) -> Order {
    let (probe, axes) = order.case.split_once('@').unwrap();
    let axes: Vec<String> = axes
        .split(',')
        .map(|pair| match pair.split_once('=') {
            Some((name, _)) if name == axis => format!("{axis}={value}"),
            _ => pair.to_owned(),
        })
        .collect();
    Order { case: format!("{probe}@{}", axes.join(",")), ..order.clone() }
}

/// Orders that differ from a good one in one number.
fn absurd(order: &Order) -> Vec<(String, Order)> {
    let mut orders = Vec::new();
    let mut add = |what: &str, order: Order| orders.push((format!("{} {what}", order.case), order));
    for cpus in [vec![], vec![usize::MAX], vec![1 << 62], vec![order.cpus[0], usize::MAX]] {
        add(&format!("cpus {cpus:?}"), Order { cpus, ..order.clone() });
    }
    for iterations in [0, 1 << 40, u64::MAX] {
        add(&format!("iterations {iterations}"), Order { iterations: Some(iterations), ..order.clone() });
    }
    let most = u64::MAX;
    add("budget", Order { budget_ns: most, ..order.clone() });
    add("no budget", Order { budget_ns: 0, ..order.clone() });
    add("caches", Order { l1d_bytes: most, llc_bytes: most, llc_sum_bytes: most, ..order.clone() });
    add("line 0", Order { line_bytes: 0, ..order.clone() });
    add("line", Order { line_bytes: most, ..order.clone() });
    add("no memory", Order { memory_bytes: 0, ..order.clone() });
    add("set-up", Order { setup_ns: most, ..order.clone() });
    add("other CPU", Order { other_cpu: Some(usize::MAX), ..order.clone() });
    for hz in [0.0, -1.0, 1e300, f64::MIN_POSITIVE] {
        add(&format!("{hz} Hz"), Order { clock: ClockOrder::Counter { hz, synchronized: true }, ..order.clone() });
    }
    for folder in ["", "..", "a/b", "a\0b"] {
        add(&format!("folder {folder:?}"), Order { folder: folder.into(), ..order.clone() });
    }
    add("case", Order { case: "@=,".into(), ..order.clone() });
    add("no axes", Order { case: order.case.split('@').next().unwrap().to_owned(), ..order.clone() });
    orders
}

#[test]
fn an_order_that_cannot_be_meant_is_answered_in_a_sentence() {
    let places = Places::new();
    let orders: Vec<Order> = orders(&places);
    let mut asked: Vec<(String, Order)> = Vec::new();
    let mut seen = BTreeSet::new();
    for order in &orders {
        let Some((probe, axes)) = order.case.split_once('@') else { continue };
        for (axis, value) in axes.split(',').filter_map(|pair| pair.split_once('=')) {
            if value.parse::<u64>().is_ok() && seen.insert((probe.to_owned(), axis.to_owned())) {
                for value in ["0", "1048576", "70368744177664", "18446744073709551615", "-1"] {
                    asked.push((format!("{probe} {axis}={value}"), with(order, axis, value)));
                }
            }
        }
    }
    for case in ["clock.loop", "ipc.pipe@cpus=same_cpu", "syscall.null@copies=2", "syscall.stat@", "cpu.flops@"] {
        let order = orders.iter().find(|order| order.case.starts_with(case));
        asked.extend(order.into_iter().flat_map(absurd));
    }
    assert!(asked.len() > 200, "{}", asked.len());
    let mut wrong = Vec::new();
    for some in asked.chunks(AT_ONCE) {
        let under_way: Vec<Asked> = some.iter().map(|(what, order)| ask(what.clone(), order)).collect();
        wrong.extend(under_way.into_iter().filter_map(Asked::wrong));
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), asked.len(), wrong.join("\n"));
}
