//! The gate of `compare`: what is slower, and the cases that are not known to be the same or faster.

use hostmark_model::Lang;
use hostmark_say::say;

use super::{Against, CaseComparison, Comparison, FALSE_DISCOVERIES, GroupChange, ReasonKind, Verdict};
use crate::words;

/// A case that is not known to be the same or faster.
#[derive(Debug)]
pub struct Open<'a> {
    /// Name of the side in the table.
    pub side: &'a str,
    pub case: &'a CaseComparison,
}

impl Open<'_> {
    /// Tells whether the sides' values are all there, and more or calmer runs would decide.
    pub fn is_undecided(&self) -> bool {
        self.case.verdict == Verdict::Inconclusive && self.case.failed_runs == 0
    }

    pub fn why(&self, lang: Lang) -> String {
        let text = match &self.case.reason {
            Some(reason) => return reason.text.get(lang).to_owned(),
            None if self.case.failed_runs > 0 => {
                let runs = self.case.failed_runs;
                return words(say!("failed in {runs} of its runs")).get(lang).to_owned();
            }
            None if self.is_undecided() => term!("undecided"),
            None => term!("changed, and not known to be the same"),
        };
        text.say(lang).to_owned()
    }
}

impl Comparison {
    /// Tells whether a case or the clock became slower by more than `fraction` (0.05 is 5 %) on any side, in all of its operations or some;
    /// or a group or a table did, with its whole interval.
    pub fn has_regression(&self, fraction: f64) -> bool {
        let of_side = |against: &Against| {
            let Against { cases, clock, groups, tables, .. } = against;
            cases.iter().chain(clock).any(|case| case.is_regression(fraction))
                || groups.iter().chain(tables).any(|group| group.is_regression(fraction))
        };
        self.new.iter().any(of_side)
    }

    /// The cases of either side that are no regression, and not known to be the same or faster, on any side.
    pub fn open<'a>(&'a self, fraction: f64) -> Vec<Open<'a>> {
        let of_side = |Against { side, cases, .. }: &'a Against| {
            let is_open = move |case: &&CaseComparison| !case.is_regression(fraction) && !case.passes();
            cases.iter().filter(is_open).map(move |case| Open { side: &side.name, case })
        };
        self.new.iter().flat_map(of_side).collect()
    }

    /// Tells whether a side has no case with a verdict.
    pub fn has_no_verdict(&self) -> bool {
        let has_verdict = |case: &CaseComparison| case.verdict != Verdict::NotComparable;
        self.new.iter().any(|against| !against.cases.iter().any(has_verdict))
    }

    /// Tells whether no side has any case of the base.
    pub fn has_nothing(&self) -> bool {
        let is_of_one = |case: &CaseComparison| case.has_reason(ReasonKind::OneSide);
        self.new.iter().flat_map(|against| &against.cases).all(is_of_one)
    }

    /// The ids of the cases that more pairs of runs may decide: told neither to differ nor to be the same, or of too few pairs.
    pub fn undecided(&self) -> Vec<&str> {
        let cases = self.new.iter().flat_map(|against| &against.cases);
        let is_one =
            |case: &&CaseComparison| case.verdict == Verdict::Inconclusive || case.has_reason(ReasonKind::TooFewPairs);
        cases.filter(is_one).map(|case| case.id.as_str()).collect()
    }
}

impl GroupChange {
    fn is_regression(&self, fraction: f64) -> bool {
        self.verdict == Verdict::Slower && self.low > 1.0 + fraction
    }
}

impl CaseComparison {
    fn has_reason(&self, kind: ReasonKind) -> bool {
        self.reason.as_ref().is_some_and(|reason| reason.kind == kind)
    }

    fn is_regression(&self, fraction: f64) -> bool {
        self.is_worse() && self.shown_change().is_some_and(|change| change.abs() > fraction)
    }

    /// Tells whether it is known to be faster or the same, or cannot be judged.
    fn passes(&self) -> bool {
        let test = self.effect.as_ref().and_then(|effect| effect.test.as_ref());
        let passes = match self.verdict {
            Verdict::Same | Verdict::Faster => true,
            // What changed may be shown to have changed by no more than what counts as the same.
            Verdict::Slower | Verdict::Changed | Verdict::ChangedShape => {
                test.is_some_and(|test| test.same_p_value <= FALSE_DISCOVERIES)
            }
            Verdict::Inconclusive => false,
            Verdict::NotComparable => self.reason.as_ref().is_some_and(|reason| !reason.is_open),
        };
        passes && self.failed_runs == 0
    }
}
