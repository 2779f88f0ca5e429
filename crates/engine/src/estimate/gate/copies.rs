//! What copies of a program can do at most: as many times as much as one alone.

use hostmark_model::{Measured, Message, Params};
use hostmark_say::say;

/// One alone and all of them at once are measured one after the other, under clocks that differ by some percent.
const TOLERANCE: f64 = 1.03;

/// How many there are, which is also the most that they do in times of one.
pub(super) fn most(params: &Params, axis: &str) -> Option<f64> {
    params.get(axis)?.parse().ok()
}

/// Why a value is none that so many copies can have, as a sentence.
pub(super) fn broken(measured: &Measured, params: &Params, axis: &str) -> Option<Message> {
    let (most, value) = (most(params, axis)?, measured.estimate.typical);
    let is_broken = value > most * TOLERANCE;
    is_broken.then(|| {
        say!("{value:.2} times what one does alone, and {most} copies do at most {most} times: one alone was disturbed")
    })
}

#[cfg(test)]
mod tests {
    use crate::estimate::gate::mark;
    use crate::fixture::{PLAIN, host, planned_case, record};
    use crate::probe::{Limit, Probe};

    #[test]
    fn two_copies_do_no_more_than_twice_the_work_of_one() {
        static TIMES: Probe = Probe { limit: Limit::Copies("copies"), ..PLAIN };
        let case = planned_case(&TIMES, "cpu.scaling@copies=2");
        let marked = |rounds: &[f64]| {
            let mut records = [record("cpu.scaling@copies=2", rounds)];
            mark(std::slice::from_ref(&case.entry), &mut records, &host(), &[]);
            let measured = records[0].measured().unwrap();
            let details: Vec<String> = measured.flags.iter().map(|flag| flag.detail.clone()).collect();
            (details, measured.estimate.ci_high)
        };
        // A neighbour slowed one alone in most rounds: two copies seem to do more than twice its work.
        let (details, _) = marked(&[1.94, 2.87, 2.0, 3.05, 2.82]);
        assert!(details.len() == 1 && details[0].starts_with("2.82 times"), "{details:?}");
        // In some, which leaves the value; its interval ends where two copies do.
        assert_eq!(marked(&[1.9, 1.95, 1.98, 2.0, 2.7]), (Vec::new(), Some(2.0)));
        assert_eq!(marked(&[2.01, 2.02, 2.02, 2.03, 2.03]).0, Vec::<String>::new());
    }
}
