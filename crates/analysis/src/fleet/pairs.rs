//! Network between hosts as values of each host, which are compared like any others.

use std::collections::BTreeMap;

use hostmark_model::{Better, FleetRun, Unit};
use hostmark_stats::descriptive::{median, robust_stddev};

use super::between::{Carried, LEAST_MET, Ways, between, ways};
use super::gathering::{FleetCase, Gathering, RunValue};

/// A median's standard error over the standard deviation, times the square root of the number: sqrt(pi / 2).
const OF_MEDIAN: f64 = 1.2533;

impl Gathering {
    /// Adds what was measured between the hosts of a fleet whose runs were read. `file_of` gives a run's name as it was read.
    pub fn pairs(&mut self, fleet: &FleetRun, file_of: impl Fn(&str) -> String) {
        let runs: BTreeMap<String, usize> =
            self.runs.iter().enumerate().map(|(index, run)| (run.file.clone(), index)).collect();
        let found = between(&fleet.pairs);
        self.between.measured += found.measured;
        self.between.failed.extend(found.failed);
        self.between.apart.extend(found.apart);
        let (rates, times) = (ways(&fleet.pairs, Carried::Bandwidth), ways(&fleet.pairs, Carried::RoundTrip));
        for host in &fleet.hosts {
            let Some(run) = runs.get(&file_of(&host.file)) else { continue };
            let ends = |ways: &Ways, sends: bool, receives: bool| -> Vec<f64> {
                let is_end =
                    |(from, to, _): &&(&str, &str, f64)| sends && *from == host.host || receives && *to == host.host;
                ways.iter().filter(is_end).map(|(_, _, value)| *value).collect()
            };
            let of_host = [ends(&rates, true, false), ends(&rates, false, true), ends(&times, true, true)];
            for (named, (sign, values)) in CASES.iter().zip([1.0, 1.0, -1.0].into_iter().zip(of_host)) {
                if values.len() < LEAST_MET || !self.is_asked_for(&["net", PROBE, named.id]) {
                    continue;
                }
                let Some(middle) = median(&values) else { continue };
                let deviation = robust_stddev(&values).unwrap_or(f64::NAN);
                let error = (OF_MEDIAN * deviation / (values.len() as f64).sqrt()) as f32;
                if let Some(case) = self.number_of(named) {
                    self.runs[*run].values.push(RunValue { case, logarithm: sign * middle, error, other: f32::NAN });
                }
            }
        }
    }
}

/// Probe of a host's three values.
const PROBE: &str = "net.pairs";
static CASES: [FleetCase; 3] = [
    FleetCase {
        id: "net.pairs@direction=send",
        probe: PROBE,
        title: term!("TCP bandwidth to the other hosts"),
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
    },
    FleetCase {
        id: "net.pairs@direction=receive",
        probe: PROBE,
        title: term!("TCP bandwidth from the other hosts"),
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
    },
    FleetCase {
        id: "net.pairs@time=round_trip",
        probe: PROBE,
        title: term!("TCP round trip to the other hosts"),
        unit: Unit::Nanoseconds,
        better: Better::Lower,
    },
];
