//! Runs of workers that take as long as a machine's would, on a wall clock of their own.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use hostmark_engine::plan::Plan;
use hostmark_engine::{KernelMeters, Observer, RunContext, Wall, run};
use hostmark_launch::{Received, ServiceLink, WorkerLink};
use hostmark_model::{Environment, Event, HostFacts, Job, JobCase, PROTOCOL, RoundNoise, ServiceJob};

/// The time of a run that no clock knows.
#[derive(Clone, Default)]
struct Simulated(Rc<Cell<Duration>>);

impl Simulated {
    fn advance(&self, by: Duration) {
        self.0.set(self.0.get() + by);
    }
}

impl Wall for Simulated {
    fn elapsed(&self) -> Duration {
        self.0.get()
    }
}

/// A worker that says these lines, each after a time.
struct Scripted(Simulated, VecDeque<(Duration, String)>);

impl WorkerLink for Scripted {
    fn receive(&mut self, at_most: Duration) -> Received {
        match self.1.front_mut() {
            None => Received::Ended("ended with status 0".into()),
            Some((after, _)) if *after > at_most => {
                *after -= at_most;
                self.0.advance(at_most);
                Received::TimedOut
            }
            Some(_) => {
                let (after, line) = self.1.pop_front().unwrap();
                self.0.advance(after);
                Received::Line(line)
            }
        }
    }

    fn is_starved(&mut self, _: Duration) -> bool {
        false
    }

    fn end(&mut self) {}
}

impl ServiceLink for Scripted {
    fn close_stdin(&mut self) {}
}

struct Silent;

impl Observer for Silent {
    fn round(&mut self, _: &str, _: usize, _: usize, _: Duration) {}
}

/// Measures a plan on a machine whose rounds take `slower` times what is forecast, by the number of the round; how long that
/// took, and the number of rounds of each case.
pub fn simulated(plan: &Plan, host: &HostFacts, slower: impl Fn(u32) -> f64) -> (Duration, Vec<usize>) {
    let wall = Simulated::default();
    let set_up =
        |id: &str| plan.cases.iter().find(|case| case.id.to_string() == id).map_or(Duration::ZERO, |case| case.set_up);
    let line = |event: &Event| serde_json::to_string(event).unwrap();
    let noise = RoundNoise { iterations: 1000, settled: true, resolution_ns: 1.0, ..RoundNoise::default() };
    let mut open = |job: &Job| -> std::io::Result<Box<dyn WorkerLink>> {
        let of_case =
            |case: &JobCase| Duration::from_nanos(job.budget_ns) + set_up(&case.id).mul_f64(slower(job.round));
        // For a warm-up a worker is started, and its CPU's clock settles.
        let warm_up = job.cases.is_empty().then(|| Duration::from_millis(40).mul_f64(slower(0)));
        let samples =
            Event::Samples { ns: vec![5e3; 3], iterations: vec![1000; 3], amount: 0, disturbance_flags: vec![0; 3] };
        let mut lines = VecDeque::from([(Duration::ZERO, line(&Event::Hello { protocol: PROTOCOL, pid: 1 }))]);
        for time in job.cases.iter().map(of_case).chain(warm_up) {
            lines.push_back((time, line(&samples)));
            lines.push_back((Duration::ZERO, line(&Event::Done { noise: noise.clone() })));
        }
        Ok(Box::new(Scripted(wall.clone(), lines)))
    };
    let open_service = &|_: &ServiceJob| -> std::io::Result<Box<dyn ServiceLink>> {
        let listening = line(&Event::Listening { address: ([127, 0, 0, 1], 1).into() });
        let started = Duration::from_millis(2).mul_f64(slower(1));
        let served = line(&Event::Served(Default::default()));
        Ok(Box::new(Scripted(wall.clone(), VecDeque::from([(started, listening), (Duration::ZERO, served)]))))
    };
    let (environment, meters) = (Environment::bare(), &KernelMeters);
    let setting = RunContext {
        plan,
        host,
        environment,
        past: Vec::new(),
        open_service,
        peers: &hostmark_engine::worker::far::NoPeers,
        meters,
    };
    let mut observer = Silent;
    let results = run(&setting, &mut open, &wall, &mut observer, None);
    (wall.elapsed(), results.record.cases.iter().map(|case| case.rounds.len()).collect())
}
