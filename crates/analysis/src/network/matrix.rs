//! Every host of a run against every other: what TCP carries from one to another, and how long it takes there and back.

use std::collections::HashMap;

use hostmark_model::{CaseRecord, Estimate, HERE, Run};

use super::flow::{Direction, TCP_BANDWIDTH, peers};

/// The probe of TCP's round trip.
pub const TCP_ROUND_TRIP: &str = "net.tcp";

/// A table of hosts by hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix<'a> {
    /// The hosts, the one that ordered the run first.
    pub hosts: Vec<&'a str>,
    /// A row for each of them; none where nothing was measured.
    pub rows: Vec<Vec<Option<&'a Estimate>>>,
}

/// Rates from the host of a row to that of a column, and round trips asked by the host of a row. None where there are fewer
/// than three hosts.
pub fn matrices(run: &Run) -> Option<[Matrix<'_>; 2]> {
    let here = Some(run.host.hostname.as_str()).filter(|name| !name.is_empty()).unwrap_or(HERE);
    let hosts: Vec<&str> = std::iter::once(here).chain(peers(run).map(|peer| peer.name.as_str())).collect();
    if hosts.len() < 3 {
        return None;
    }
    let mut places: HashMap<&str, usize> =
        (1..).zip(peers(run)).map(|(place, peer)| (peer.name.as_str(), place)).collect();
    places.insert(HERE, 0);
    let (mut rates, mut times) = (Cells::new(hosts.len()), Cells::new(hosts.len()));
    let own = run.cases.iter().filter_map(|case| Some((0, *places.get(case.peer()?)?, case)));
    let pairs = run.pairs.iter().filter_map(|pair| {
        let ends = (*places.get(pair.from.as_str())?, *places.get(pair.to.as_str())?);
        Some(pair.cases.iter().map(move |case| (ends.0, ends.1, case)))
    });
    for (asks, answers, case) in own.chain(pairs.flatten()) {
        match (case.probe.as_str(), Direction::of(case)) {
            (TCP_BANDWIDTH, Some(Direction::Send)) => rates.best(asks, answers, case),
            (TCP_BANDWIDTH, Some(Direction::Receive)) => rates.best(answers, asks, case),
            (TCP_ROUND_TRIP, _) => times.first(asks, answers, case),
            _ => {}
        }
    }
    Some([Matrix { hosts: hosts.clone(), rows: rates.0 }, Matrix { hosts, rows: times.0 }])
}

/// The cells of a table while it is filled.
struct Cells<'a>(Vec<Vec<Option<&'a Estimate>>>);

impl<'a> Cells<'a> {
    fn new(hosts: usize) -> Cells<'a> {
        Cells(vec![vec![None; hosts]; hosts])
    }

    fn best(&mut self, row: usize, column: usize, case: &'a CaseRecord) {
        self.put(row, column, case, |new, old| new.value() > old.value());
    }

    /// Keeps the first value: that of the default case.
    fn first(&mut self, row: usize, column: usize, case: &'a CaseRecord) {
        self.put(row, column, case, |_, _| false);
    }

    fn put(&mut self, row: usize, column: usize, case: &'a CaseRecord, wins: impl Fn(&Estimate, &Estimate) -> bool) {
        let cell = self.0.get_mut(row).and_then(|cells| cells.get_mut(column));
        if let (Some(cell), Some(measured)) = (cell, case.measured())
            && cell.is_none_or(|old| wins(&measured.estimate, old))
        {
            *cell = Some(&measured.estimate);
        }
    }
}
