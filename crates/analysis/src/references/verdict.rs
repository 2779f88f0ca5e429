//! What a constant comes to beside the nearest kind of machine, in words and by how much.

use hostmark_model::{Better, Estimate, Lang, Text, Unit};

use super::nearest::NearestReference;
use super::{ReferenceValue, ratio_text};
use crate::constants::ConstantValue;
use crate::format::{UNSTEADY, between, scale_for};

/// From here on slower is worth a mark.
const MUCH: f64 = 1.25;
/// That mark.
const MARK: &str = " !";
/// From here on it is told as so many times.
const TIMES: f64 = 1.5;

/// What a constant comes to beside a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceVerdict {
    /// `1.6x slower !`, `as usual`.
    pub words: Text<String>,
    pub tone: Tone,
    /// What is delivered over the near end of what is usual: above 1 is better; 1 where intervals explain the difference.
    pub better: f64,
}

/// How a verdict stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Plain,
    /// Slower, or not to be told.
    Doubtful,
    /// Much slower.
    Bad,
}

impl Tone {
    /// As a page's style calls it.
    pub fn name(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Plain => "plain",
            Tone::Doubtful => "doubtful",
            Tone::Bad => "bad",
        }
    }
}

const AS_USUAL: Text = Text { en: "as usual", zh: "正常" };
/// Beyond what is usual, by less than the interval: from so much on.
const PERHAPS: f64 = 0.02;
const PERHAPS_SLOWER: Text = Text { en: "perhaps slower", zh: "可能偏慢" };
const PERHAPS_FASTER: Text = Text { en: "perhaps faster", zh: "可能偏快" };
/// Beside one machine.
const SAME: Text = Text { en: "same", zh: "相当" };

/// How far a value lies beyond an end, above 1, in words; none of what rounds to nothing.
fn amount(beyond: f64, [en, zh]: [&str; 2]) -> Option<Text<String>> {
    let percent = ((beyond - 1.0) * 100.0).round();
    match beyond {
        TIMES.. => Some(Text {
            en: format!("{} {en}", ratio_text(beyond)),
            zh: format!("{zh}到 {} 倍", ratio_text(beyond).trim_end_matches('x')),
        }),
        _ if percent >= 1.0 => Some(Text { en: format!("{percent} % {en}"), zh: format!("{zh} {percent}%") }),
        _ => None,
    }
}

const SLOWER: [&str; 2] = ["slower", "慢"];
const FASTER: [&str; 2] = ["faster", "快"];

/// Between what a value lies for certain: its interval, and what its rounds came to where they disagree or are too few.
fn ends(estimate: &Estimate) -> Option<(f64, f64)> {
    match (estimate.interval(), estimate.shown_range()) {
        (Some((low, high)), Some([least, most])) => Some((low.min(least), high.max(most))),
        (Some(interval), None) => Some(interval),
        (None, range) => range.map(|[low, high]| (low, high)),
    }
}

impl ReferenceVerdict {
    /// Its words without the mark.
    pub(crate) fn unmarked(&self, lang: Lang) -> &str {
        self.words.get(lang).trim_end_matches(MARK)
    }
}

impl ReferenceValue {
    /// Between what it lies: `12.7 … 15.1 ns`; none of a published number.
    pub(crate) fn range(&self, unit: Unit, lang: Lang) -> Option<String> {
        let [low, high] = self.interval?;
        Some(format!("{} {}", between((low, high), self.value, unit), scale_for(self.value, unit).suffix.get(lang)))
    }
}

impl NearestReference<'_> {
    /// What a constant comes to. It is slower or faster where it lies beyond what is usual by more than its interval; `~` stands before what was
    /// measured by another method, or in one round. None where the reference lacks the constant, or neither direction is good.
    pub fn verdict(&self, constant: &ConstantValue) -> Option<ReferenceVerdict> {
        let known = self.value_of(constant)?;
        let value = constant.estimate.value();
        let same = if self.is_usual() { AS_USUAL } else { SAME };
        let verdict = |words: Text<String>, tone, better| Some(ReferenceVerdict { words, tone, better });
        // How many times as bad as a number, above 1 for what is worse.
        let over = |number: f64| match constant.better {
            Better::Lower => Some(value / number),
            Better::Higher => Some(number / value),
            Better::Neither => None,
        };
        let flags = constant.case.measured().map_or(&[][..], |measured| &measured.flags);
        let (Some([low, high]), Some((from, to)), true) =
            (known.interval, ends(constant.estimate), known.is_alike(flags))
        else {
            return about(over(known.value)?, same);
        };
        let (is_above, is_below) = (from > high, to < low);
        let beyond = over(if is_above { high } else { low })?;
        if !is_above && !is_below {
            if constant.estimate.is_unsteady() {
                return verdict(UNSTEADY.to_owned_text(), Tone::Doubtful, 1.0);
            }
            // 1 within the range.
            let outside = over(value.max(low).min(high))?.ln();
            let words = if !self.is_usual() || outside.abs() < PERHAPS {
                same
            } else if outside > 0.0 {
                PERHAPS_SLOWER
            } else {
                PERHAPS_FASTER
            };
            return verdict(words.to_owned_text(), Tone::Plain, 1.0);
        }
        match (amount(beyond, SLOWER), amount(beyond.recip(), FASTER)) {
            (Some(Text { en, zh }), _) if beyond >= MUCH => {
                verdict(Text { en: en + MARK, zh: zh + MARK }, Tone::Bad, beyond.recip())
            }
            (Some(words), _) => verdict(words, Tone::Doubtful, beyond.recip()),
            (None, Some(words)) => verdict(words, Tone::Good, beyond.recip()),
            (None, None) => verdict(same.to_owned_text(), Tone::Plain, 1.0),
        }
    }

    /// What is usual of a constant: `12.7 … 15.1 ns`; none beside one machine.
    pub fn range(&self, constant: &ConstantValue, lang: Lang) -> Option<String> {
        self.value_of(constant).filter(|_| self.is_usual())?.range(constant.unit, lang)
    }

    /// What the column beside the values is called.
    pub fn column(&self) -> Text {
        match self.is_usual() {
            true => Text { en: "usual for its kind", zh: "同类常见范围" },
            false => Text { en: "beside one machine", zh: "与一台机器相比" },
        }
    }
}

/// What is not comparable enough for more than a rough ratio.
fn about(worse: f64, same: Text) -> Option<ReferenceVerdict> {
    if !(worse.is_finite() && worse > 0.0) {
        return None;
    }
    let words = amount(worse, SLOWER).or_else(|| amount(worse.recip(), FASTER)).unwrap_or_else(|| same.to_owned_text());
    let words = Text { en: format!("~{}", words.en), zh: format!("约{}", words.zh) };
    Some(ReferenceVerdict { words, tone: Tone::Plain, better: worse.recip() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_is_reported_in_percent_and_from_a_half_on_as_times() {
        let said = |beyond| amount(beyond, SLOWER).map(|words| words.en);
        assert_eq!(said(1.004), None);
        assert_eq!(said(1.048).as_deref(), Some("5 % slower"));
        assert_eq!(said(1.494).as_deref(), Some("49 % slower"));
        assert_eq!(said(1.5).as_deref(), Some("1.5x slower"));
        assert_eq!(said(17.3).as_deref(), Some("17x slower"));
        assert_eq!(amount(1.6, FASTER).map(|words| words.zh).as_deref(), Some("快到 1.6 倍"));
        assert_eq!(said(0.5), None);
    }
}
