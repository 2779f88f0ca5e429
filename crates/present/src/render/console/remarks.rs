//! Text behind a value: further quantities, flags, disturbed samples; and the text in place of one.

use std::collections::HashMap;

use hostmark_analysis::findings::soon_enough_for_etcd;
use hostmark_analysis::format::{
    DISTURBED_SHARE, are_apart, between, in_scale, percent, plus_minus_of, scale_for, value,
};
use hostmark_analysis::short_arrays::short_arrays;
use hostmark_analysis::typography::COLON;
use hostmark_analysis::{Spoken, reasons, spoken};
use hostmark_model::{
    CaseRecord, Estimate, Flag, FlagKind, Lang, Leading, Measured, ProbeInfo, QuantityInfo, Reason, Text, Unit,
};
use hostmark_say::say;
use hostmark_stats::histogram::Percentile;
use hostmark_stats::{descriptive, interval};

use super::grid::GridRow;
use super::page::{Piece, Style};
use super::view::{View, reason};
use crate::runs::{in_first_unit, needs_detail, other_estimator};
use crate::words;

/// Further quantities up to this many fit behind a value.
const FEW_QUANTITIES: usize = 3;

/// The further quantities of a measurement.
pub(super) fn quantities(view: &View, case: &CaseRecord, measured: &Measured) -> Vec<Piece> {
    let Some(info) = view.probe(&case.probe) else { return Vec::new() };
    let (estimate, unit) = in_first_unit(measured, info.unit);
    let is_in_cycles = unit == Unit::CoreCycles;
    let is_elsewhere = |name: &str| Percentile::of_name(name).is_some() || is_in_cycles && name == Measured::CYCLES;
    let known = info.also.iter().filter(|quantity| !is_elsewhere(&quantity.name)).filter_map(|quantity| {
        let shown = value(measured.companion(&quantity.name)?.value(), quantity.unit, view.lang);
        Some(match quantity.unit {
            // The unit says it all.
            Unit::CoreCycles | Unit::ReferenceCycles => shown,
            _ => format!("{} {shown}", quantity.title.get(view.lang)),
        })
    });
    let known: Vec<Piece> = known.map(|text| Piece::new(text, Style::Dim)).collect();
    let is_asked = view.verbose || view.run.settings.inputs.counters;
    let mut shown = if known.len() > FEW_QUANTITIES && !is_asked { Vec::new() } else { known };
    if is_in_cycles {
        shown.insert(0, Piece::new(value(measured.estimate.value(), info.unit, view.lang), Style::Dim));
    }
    // The median of rounds that saw two sizes of a structure is neither; the remark has both.
    let has_two = measured.flags.iter().any(|flag| flag.kind == FlagKind::PartlyUsed);
    let other = other_estimator(&view.estimators, case, &estimate, unit).filter(|_| !has_two);
    shown.extend(other.map(|text| Piece::new(text.get(view.lang), Style::Dim)));
    shown.extend(states(measured, info.unit, view.lang).map(|text| Piece::new(text, Style::Dim)));
    if view.verbose {
        shown.extend(intervals(&estimate, unit, view.lang).into_iter().map(|text| Piece::new(text, Style::Dim)));
    }
    shown.extend(percentiles(view, info, measured).map(|text| Piece::new(text, Style::Dim)));
    shown
}

/// Typical values on a core that the case had alone and on one that it shared, where its rounds saw both and they differ.
fn states(measured: &Measured, unit: Unit, lang: Lang) -> Option<String> {
    let rounds = [false, true].map(|is_shared| measured.medians_where(is_shared));
    let [alone, shared] = [descriptive::median(&rounds[0])?, descriptive::median(&rounds[1])?];
    if measured.estimate.estimator() == Leading::Quiet || !are_apart(alone, shared) {
        return None;
    }
    let half = interval::of_medians(&rounds[0], 0.0).map(|ends| (ends.high - ends.low) / 2.0 / alone.abs());
    let half = half.map(|half| format!(" {}", plus_minus_of(half))).unwrap_or_default();
    let (one, other) = (value(alone, unit, lang), value(shared, unit, lang));
    let [few, rest] = rounds.map(|rounds| rounds.len());
    Some(spoken(&say!("core alone {one}{half} ({few:round}), shared {other} ({rest:round})"), lang))
}

/// Both intervals: of this run, and of its repetition.
fn intervals(estimate: &Estimate, unit: Unit, lang: Lang) -> Vec<String> {
    let of = |ends: (f64, f64)| between(ends, estimate.value(), unit);
    let this = estimate.of_this_run().map(|ends| say!("this run {ends}", ends = of(ends)));
    let next = estimate.repetition.map(|next| {
        let ends = of((next.low, next.high));
        match next.runs {
            0 => say!("another run {ends} (scatter assumed)"),
            runs => say!("another run {ends} (scatter of {runs:run})"),
        }
    });
    this.into_iter().chain(next).map(|text| spoken(&text, lang)).collect()
}

/// The percentiles of a measurement, in one unit: `p50 52.1, p99 61.0, p99.9 188 µs`; with their intervals when all is to
/// be shown.
fn percentiles(view: &View, info: &ProbeInfo, measured: &Measured) -> Option<String> {
    let known: Vec<(&QuantityInfo, &Estimate)> = (info.also.iter())
        .filter(|quantity| Percentile::of_name(&quantity.name).is_some())
        .filter_map(|quantity| Some((quantity, &measured.also.get(&quantity.name)?.estimate)))
        .collect();
    let (first, estimate) = known.first()?;
    let scale = scale_for(estimate.value(), first.unit);
    let one = |(quantity, estimate): &(&QuantityInfo, &Estimate)| {
        let half = estimate.relative_half_width().filter(|_| view.verbose);
        let half = half.map(|half| format!(" {}", plus_minus_of(half))).unwrap_or_default();
        format!("{} {}{half}", short_name(&quantity.name), in_scale(estimate.value(), scale))
    };
    let parts: Vec<String> = known.iter().map(one).collect();
    Some(format!("{} {}", parts.join(view.say(words::COMMA)), view.say(scale.suffix)).trim_end().to_owned())
}

/// `p99.9` of `p999`: as people write a percentile.
fn short_name(name: &str) -> String {
    match name.split_at_checked(3) {
        Some((whole, part)) if !part.is_empty() => format!("{whole}.{part}"),
        _ => name.to_owned(),
    }
}

pub(super) fn remarks(view: &View, case: &CaseRecord, measured: &Measured) -> Vec<Piece> {
    let mut texts: Vec<String> = Vec::new();
    for flag in &measured.flags {
        if !view.shown_once.contains(&flag.kind) {
            texts.push(flag_text(view, measured, flag));
        }
    }
    texts.extend(short_arrays(measured).map(|short| short.get(view.lang)));
    texts.extend((view.split_huge_pages)(case).map(|cut| cut.get(view.lang)));
    let noise = &measured.noise;
    let samples = measured.taken().max(1);
    let is_flagged = measured.flags.iter().any(|flag| flag.kind == FlagKind::MostlyDisturbed);
    let share = noise.disturbed as f64 / samples as f64;
    if noise.disturbed > 0 && (view.verbose || (share >= DISTURBED_SHARE && !is_flagged)) {
        texts.push(view.tell(&say!("{disturbed} of {samples:sample} disturbed", disturbed = noise.disturbed)));
    }
    let mut pieces: Vec<Piece> =
        texts.into_iter().map(|text| Piece::new(format!("! {text}"), Style::Warning)).collect();
    pieces.extend(soon_enough_for_etcd(case).map(|soon| Piece::new(soon.get(view.lang), Style::Dim)));
    if view.verbose {
        pieces.extend(measured.notes.iter().map(|(key, note)| Piece::new(format!("{key}: {note}"), Style::Dim)));
        pieces.push(Piece::new(view.run.typed_id(&case.id), Style::Dim));
    }
    pieces
}

/// One flag in words, with what it stands on where that cannot be told in few words of our own.
fn flag_text(view: &View, measured: &Measured, flag: &Flag) -> String {
    let estimate = &measured.estimate;
    let text = match flag.kind {
        FlagKind::BestRoundGap if estimate.best_round > 0.0 && estimate.typical > 0.0 => {
            let by = percent((1.0 - estimate.best_round / estimate.typical).abs());
            Some(say!("median of the best round {by} better"))
        }
        FlagKind::RoundsLost => {
            // At least one is missing, also of those that a case had beyond the plan.
            let done = estimate.rounds;
            Some(say!("only {done} of {rounds:round}", rounds = view.run.settings.rounds.max(done + 1)))
        }
        FlagKind::Contended => {
            measured.noise.others_share.map(percent).map(|share| say!("other programs used {share} of its CPU"))
        }
        FlagKind::MostlyDisturbed if 2 * measured.noise.disturbed > measured.taken() => {
            Some(say!("most samples disturbed"))
        }
        _ => None,
    };
    let text = view.tell(&text.unwrap_or_else(|| words::flag(flag.kind).into()));
    let says_detail = needs_detail(flag.kind) || view.verbose;
    let detail = match (flag.kind, flag.detail.split_once(": ")) {
        // How many there are is said; why there are no more is not.
        (FlagKind::RoundsLost, Some((_, reason))) => flag.sentence().part("reason").cloned().unwrap_or(reason.into()),
        _ if says_detail => flag.sentence(),
        _ => return text,
    };
    match reasons::localized(detail, view.lang) {
        detail if detail.is_empty() => text,
        detail => format!("{text}{}{}", view.say(COLON), view.run.typed_text(&detail)),
    }
}

/// The rows of cases without a value: one for each reason of a probe, with the number of cases that share it.
pub(super) fn reason_rows(view: &View, cases: &[&CaseRecord]) -> Vec<GridRow> {
    let mut groups: Vec<(&str, bool, &Reason, Vec<&CaseRecord>)> = Vec::new();
    let mut places: HashMap<(&str, bool, &str), usize> = HashMap::new();
    for case in cases {
        let Some((is_failed, why)) = reason(case) else { continue };
        let place = *places.entry((&case.probe, is_failed, &why.text)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((.., members)) => members.push(case),
            None => groups.push((&case.probe, is_failed, why, vec![case])),
        }
    }
    let row = |(probe, is_failed, why, members): (&str, bool, &Reason, Vec<&CaseRecord>)| {
        let (word, style): (Text, Style) =
            if is_failed { (words::FAILED, Style::Bad) } else { (words::SKIPPED, Style::Dim) };
        let mut text = format!("{}{}{}", view.say(word), view.say(COLON), reasons::localized(why, view.lang));
        if view.verbose {
            let ids: Vec<String> = members.iter().map(|case| view.run.typed_id(&case.id)).collect();
            text = format!("{text} [{}]", ids.join(" "));
        }
        GridRow::Instead(Piece::plain(which(view, probe, &members)), Piece::new(text, style))
    };
    groups.into_iter().map(row).collect()
}

/// Description of a probe's cases: its title for the default, the point when it is one, else their number.
fn which(view: &View, probe: &str, cases: &[&CaseRecord]) -> String {
    let labels = view.labels(probe);
    if let [case] = cases {
        return view.label(&labels.title(&labels.off_default(&case.params)));
    }
    let title = view.label(&labels.title(&[]));
    format!("{title}{}{} {}", view.say(words::COMMA), cases.len(), view.say(words::CASES))
}
