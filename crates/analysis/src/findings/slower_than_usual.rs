//! A constant that is far slower than on nine of ten servers of the same design.

use hostmark_model::{Better, Lang, Message, Run, Text, Unit};
use hostmark_say::say;

use super::evidence::Proven;
use super::short::short;
use super::{CLOCK_LIMIT, Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS, neighbours};
use crate::constants::{self, ConstantValue};
use crate::format::{amount, in_scale, scale_for, value as shown};
use crate::levels::HIERARCHY;
use crate::references::{NearestReference, ReferenceVerdict, Tone, beside};
use crate::split_huge_pages::cut_into;
use crate::texts::findings::slower_than_usual as texts;
use crate::typography::{COMMA, SEMICOLON};
use crate::words;

pub(super) static RULE: Rule = Rule {
    id: "machine.slower_than_usual",
    shown: Demonstration::Explain(HIERARCHY),
    probes: &[HIERARCHY],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &CLOCK_LIMIT] },
    draw,
};

/// A constant, and how far it lies beyond what is usual.
struct Slow<'a> {
    constant: &'a ConstantValue<'a>,
    verdict: ReferenceVerdict,
}

impl Slow<'_> {
    /// Value as it was judged, and the near end of the usual range.
    fn here_and_near(&self, usual: &NearestReference) -> Option<(Message, String)> {
        let found = usual.counterpart(self.constant)?;
        let value = found.estimate.value();
        let near =
            value * if found.better == Better::Higher { self.verdict.better.recip() } else { self.verdict.better };
        Some((amount(value, found.unit), in_scale(near, scale_for(value, found.unit))))
    }

    /// `DRAM latency 181 ns; 90 % of similar servers stay below 119`.
    fn line(&self, usual: &NearestReference) -> Option<Message> {
        let known = usual.value_of(self.constant)?;
        let (here, near) = self.here_and_near(usual)?;
        let says = match (known.is_of_servers(), self.constant.better) {
            (false, _) => term!("the design takes under"),
            (true, Better::Higher) => term!("90 % of similar servers give more than"),
            (true, _) => term!("90 % of similar servers stay below"),
        };
        let here = Message::joined([self.constant.row.into(), here], " ");
        Some(Message::joined([here, Message::joined([says.into(), Message::plain(near)], " ")], SEMICOLON))
    }

    /// `DRAM 181 ns: 65 % slower than the slow end of what is usual (80 … 110 ns)`.
    fn sentence(&self, usual: &NearestReference) -> Message {
        let Slow { constant, verdict } = self;
        let name = constant.name;
        let here = self.here_and_near(usual).map(|(here, _)| here).unwrap_or_default();
        let range = usual.range_beside(constant).unwrap_or_default();
        let words = Text { en: verdict.unmarked(Lang::En), zh: verdict.unmarked(Lang::Zh) };
        say!("{name} {here}: {words} than the slow end of what is usual ({range})")
    }
}

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let usual = beside(run).filter(NearestReference::is_usual)?;
    let groups = constants::of_run(run);
    let mut slow: Vec<Slow> = groups
        .iter()
        .flat_map(|(_, constants)| constants)
        .filter_map(|constant| Some(Slow { constant, verdict: usual.verdict(constant)? }))
        .filter(|slow| slow.verdict.tone == Tone::Bad)
        .collect();
    slow.sort_by(|one, other| one.verdict.better.total_cmp(&other.verdict.better));
    let worst = slow.first()?;
    let cause = Explanation::of(run, &slow);
    let behind = cause.as_ref().map(Explanation::words).unwrap_or_default();
    let values = words(Message::joined(slow.iter().map(|slow| slow.sentence(&usual)), COMMA));
    let why = cause.as_ref().map_or_else(|| texts::why_unknown!(), Explanation::sentence);
    let text = texts::text!(values, source = words(usual.source()), why);
    let short = short(words(Message::joined([worst.line(&usual)?, behind], "")));
    let cases = slow.iter().map(|slow| slow.constant.case.id.clone()).collect();
    Some(Conclusion { short, text, cases, cost: 1.0 - worst.verdict.better })
}

/// Explanation of a slow value, as far as the run tells.
enum Explanation {
    /// Pages of so many bytes, and what they cost a load, ns.
    HugePagesCut(f64, f64),
    Neighbours,
}

impl Explanation {
    fn of(run: &Run, slow: &[Slow]) -> Option<Explanation> {
        let has = |level: &str| slow.iter().any(|slow| slow.constant.case.params.get("level") == Some(level));
        if let Some((case, bytes)) = cut_into(run).filter(|_| has("dram")) {
            return Some(Explanation::HugePagesCut(bytes, Proven::also(case, "huge")?.value));
        }
        let disturbed = neighbours::draw(run);
        let is_disturbed = |slow: &Slow| disturbed.iter().any(|other| other.cases.contains(&slow.constant.case.id));
        slow.iter().any(is_disturbed).then_some(Explanation::Neighbours)
    }

    fn words(&self) -> Message {
        match self {
            Explanation::HugePagesCut(_, ns) => {
                let ns = shown(*ns, Unit::Nanoseconds, Lang::En);
                say!("; page walks are {ns} of it")
            }
            Explanation::Neighbours => term!("; rounds differ").into(),
        }
    }

    fn sentence(&self) -> Text<String> {
        match self {
            Explanation::HugePagesCut(bytes, ns) => {
                let [page, ns] =
                    [(*bytes, Unit::Bytes), (*ns, Unit::Nanoseconds)].map(|(of, unit)| shown(of, unit, Lang::En));
                texts::why_pages!(page, ns)
            }
            Explanation::Neighbours => texts::why_neighbours!(),
        }
    }
}
