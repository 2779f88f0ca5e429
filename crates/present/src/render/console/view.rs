//! A run as the blocks look at it: its labels, what is told of it as a whole, and which cases were shown already.

use std::collections::HashSet;

use hostmark_analysis::Spoken;
use hostmark_analysis::format::interval_target;
use hostmark_analysis::labels::{Labels, ProbeLabels};
use hostmark_analysis::split_huge_pages::split_huge_pages;
use hostmark_analysis::spoken;
use hostmark_model::{CaseRecord, FlagKind, Lang, Message, Outcome, ProbeInfo, Reason, Run, Text, Unit};
use hostmark_stats::histogram::Percentile;

use crate::render::RenderOptions;
use crate::runs::{Estimators, Flags, NoteOnCase};

/// Ids of the cases that a block has shown; the rest goes to the sections, so that nothing is silently absent.
pub(crate) type Shown<'a> = HashSet<&'a str>;

/// A run, with what all blocks need to know of it.
pub(crate) struct View<'a> {
    pub(crate) run: &'a Run,
    pub(crate) lang: Lang,
    pub(crate) verbose: bool,
    /// Half-width above which an interval is shown everywhere.
    pub(crate) target: f64,
    /// Flags that are not told beside each value: those that say something about the run, unless all is to be shown.
    pub(crate) shown_once: HashSet<FlagKind>,
    pub(crate) measured: usize,
    pub(crate) estimators: Estimators<'a>,
    pub(crate) split_huge_pages: NoteOnCase,
    labels: Labels<'a>,
}

impl<'a> View<'a> {
    pub(crate) fn new(run: &'a Run, options: &RenderOptions) -> View<'a> {
        let Flags { common, measured, .. } = Flags::of(run);
        View {
            run,
            shown_once: if options.verbose { HashSet::new() } else { common },
            lang: options.lang,
            verbose: options.verbose,
            target: interval_target(run.settings.profile),
            measured,
            estimators: Estimators::of(run),
            split_huge_pages: Box::new(split_huge_pages(run)),
            labels: Labels::of(run),
        }
    }

    pub(crate) fn say(&self, text: Text) -> &'static str {
        text.say(self.lang)
    }

    /// A sentence in the reader's language.
    pub(crate) fn tell(&self, sentence: &Message) -> String {
        spoken(sentence, self.lang)
    }

    /// A label in the reader's language.
    pub(crate) fn label(&self, label: &Message) -> String {
        label.get(self.lang).to_owned()
    }

    /// Description of a probe in the run.
    pub(crate) fn probe<'b>(&self, id: &'b str) -> Option<&'b ProbeInfo>
    where
        'a: 'b,
    {
        self.labels.probe(id).info()
    }

    pub(crate) fn cases_of(&self, probe: &str) -> Vec<&'a CaseRecord> {
        self.run.cases.iter().filter(|case| case.probe == probe).collect()
    }

    /// The unit of a probe, `otherwise` when the run does not describe it.
    pub(crate) fn unit_or(&self, probe: &str, otherwise: Unit) -> Unit {
        self.probe(probe).map_or(otherwise, |info| info.unit)
    }

    /// Tells whether a probe records the tails of its values.
    pub(crate) fn has_percentiles(&self, id: &str) -> bool {
        self.probe(id).is_some_and(|info| info.also.iter().any(|also| Percentile::of_name(&also.name).is_some()))
    }

    /// Labels of a probe's cases and points.
    pub(crate) fn labels<'b>(&self, probe: &'b str) -> ProbeLabels<'b>
    where
        'a: 'b,
    {
        self.labels.probe(probe)
    }
}

/// The reason of a case that has no value, and whether it went wrong.
pub(crate) fn reason(case: &CaseRecord) -> Option<(bool, &Reason)> {
    match &case.outcome {
        Outcome::Measured(_) => None,
        Outcome::Skipped { reason } => Some((false, reason)),
        Outcome::Failed { reason } => Some((true, reason)),
    }
}
