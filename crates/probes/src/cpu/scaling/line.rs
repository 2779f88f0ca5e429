//! The speed-ups of one probe along its number of copies.

use super::WITHIN;
use super::sources::is_rate;
use super::speed_up::speed_up;
use hostmark_engine::prelude::*;

/// A copy that is slower than one alone by no more than this is not hindered by the others.
const UNHINDERED: f64 = 0.05;

/// The speed-ups of one probe, by ascending number of copies.
pub fn of_source(cases: &[CaseRecord], source: &str) -> Vec<CaseRecord> {
    // The first is the default case: along its copies alone.
    let Some(default) = cases.iter().find(|case| case.probe == source) else { return Vec::new() };
    let one = default.params.with("copies", "1");
    let at = |case: &CaseRecord| {
        let copies: u64 = case.params.get("copies")?.parse().ok()?;
        (case.params.with("copies", "1") == one).then_some(copies)
    };
    let mut line: Vec<(u64, &CaseRecord)> =
        cases.iter().filter(|case| case.probe == source).filter_map(|case| Some((at(case)?, case))).collect();
    line.sort_by_key(|(copies, _)| *copies);
    let alone = line.first().filter(|(copies, _)| *copies == 1).and_then(|(_, case)| case.measured());
    let of_copies = |&(copies, case): &(u64, &CaseRecord)| {
        let outcome = match (alone, &case.outcome) {
            (Some(alone), Outcome::Measured(many)) => {
                Outcome::Measured(Box::new(speed_up(alone, many, copies, is_rate(source))))
            }
            (None, Outcome::Measured(_)) => {
                Outcome::Skipped { reason: ReasonCode::MissingInput.because(say!("one copy alone was not measured")) }
            }
            (_, Outcome::Skipped { reason } | Outcome::Failed { reason }) => Outcome::Skipped {
                reason: reason.clone().with_text(say!("{what}: {error}", what = case.id, error = reason)),
            },
        };
        record(source, copies, outcome)
    };
    let mut records: Vec<CaseRecord> = line.iter().filter(|(copies, _)| *copies > 1).map(of_copies).collect();
    let is_unhindered = |(copies, record): &(u64, &CaseRecord)| {
        record.measured().is_some_and(|measured| measured.estimate.typical * (1.0 + UNHINDERED) >= *copies as f64)
    };
    let measured = line[1.min(line.len())..].iter().map(|(copies, _)| *copies).zip(&records);
    let within = measured.take_while(is_unhindered).last().map_or(1, |(copies, _)| copies);
    let last = records.iter_mut().rfind(|record| record.measured().is_some());
    if let Some(Outcome::Measured(most)) = last.map(|record| &mut record.outcome) {
        let estimate = estimate(&[vec![within as f64]], 0.0, Better::Neither);
        most.also.insert(WITHIN.into(), Also { estimate });
    }
    records
}

/// The id of the case of `source` with so many copies.
pub fn id(source: &str, copies: u64) -> String {
    format!("cpu.scaling@source={source},copies={copies}")
}

pub fn record(source: &str, copies: u64, outcome: Outcome) -> CaseRecord {
    let params = Params(vec![("source".into(), source.into()), ("copies".into(), copies.to_string())]);
    CaseRecord { id: id(source, copies), probe: "cpu.scaling".into(), params, outcome }
}
