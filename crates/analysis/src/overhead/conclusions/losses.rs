//! Losses over the plain operation inside the kernel: by reads beside writes, and by the kernel beside the OS.

use hostmark_model::{Message, Params, Text};
use hostmark_say::say;

use super::{
    ClaimVerdict, Claims, LabelledFigure, LayerConclusion, NEEDS_GUEST, NEEDS_KERNEL, needs, of_parts, points,
};
use crate::overhead::family::{FILE, SPACES, Space};
use crate::overhead::kind::EnvironmentKind;
use crate::overhead::names::{overhead, side_of};
use crate::overhead::over;
use crate::overhead::ratio::{READ, WRITE};
use crate::overhead::sheet::at;
use crate::propagated::Propagated;
use crate::words;

/// Fraction by which a time lies over its base.
fn lost(times: &[f64], index: usize, base: usize) -> f64 {
    times[index] / times[base] - 1.0
}

/// Point, and the indices of its read and its write.
type Pair = (Params, [usize; 2]);

/// The pairs of the percentages of a side of an environment.
fn table(claims: &Claims, environment: usize, side: Space) -> Vec<Pair> {
    let pair = |point: Params| {
        let index = |operation| claims.index(environment, operation, side, &point);
        let pair = [index(READ)?, index(WRITE)?];
        Some((point, pair))
    };
    claims.columns(environment, side).into_iter().filter_map(pair).collect()
}

/// Every table of percentages that has reads and writes.
fn tables(claims: &Claims) -> Vec<(usize, Space, Vec<Pair>)> {
    let each = (0..claims.sheet.environments.len()).flat_map(|environment| SPACES.map(|side| (environment, side)));
    let of = |(environment, side)| (environment, side, table(claims, environment, side));
    each.map(of).filter(|(.., pairs)| !pairs.is_empty()).collect()
}

/// Tells whether there are values to judge.
fn has_values(claims: &Claims) -> bool {
    claims.times.iter().any(|(time, _)| time.is_finite())
}

/// Tells whether another environment may have a hypervisor that the first has not.
fn has_guest(claims: &Claims) -> bool {
    claims.kinds.iter().any(|kind| matches!(kind, EnvironmentKind::Guest | EnvironmentKind::Other))
}

/// The overhead of reads is so many times that of writes: the mean over the tables of the mean over their columns.
pub(super) fn ratio(claims: &Claims) -> Option<LayerConclusion> {
    if !has_values(claims) {
        return None;
    }
    let claim = claims.named(term!("The overhead of reads is greater than that of writes").into());
    let (Some(read), Some(write)) = (claims.base(READ), claims.base(WRITE)) else {
        return Some(needs(&claim, NEEDS_KERNEL));
    };
    let tables = tables(claims);
    let of_table = |times: &[f64], pairs: &[Pair]| {
        let ratio = |(_, [reading, writing]): &Pair| {
            let of_write = lost(times, *writing, write);
            (of_write > 0.0).then(|| lost(times, *reading, read) / of_write)
        };
        let ratios: Option<Vec<f64>> = pairs.iter().map(ratio).collect();
        ratios.map(|ratios| ratios.iter().sum::<f64>() / ratios.len() as f64)
    };
    if tables.is_empty() {
        return None;
    }
    let mean = claims.joined(|times| {
        let means: Option<Vec<f64>> = tables.iter().map(|(.., pairs)| of_table(times, pairs)).collect();
        means.map(|means| means.iter().sum::<f64>() / means.len() as f64)
    });
    let of_tables = tables.iter().flat_map(|(.., pairs)| pairs).flat_map(|(_, pair)| *pair);
    let cases = claims.ids(&[read, write].into_iter().chain(of_tables).collect::<Vec<usize>>());
    let Some(mean) = mean else {
        let text = say!("{claim}: a write costs no more than the base at one point or more, so there is no ratio");
        return Some(LayerConclusion { verdict: ClaimVerdict::Unknown, text, short: None, cases, cost: 0.0 });
    };
    let (shown, count) = (super::ratio(&mean, 3), tables.len());
    let label = say!(
        "it is {shown} times as great, the mean of {count:table}; the 4 tables of that report give 2.559, though its text has \
         reads and writes the other way round"
    );
    let times = format!("{:.2}", mean.value);
    let conclusion = of_parts(&claim, &[LabelledFigure::of(label, mean.beyond_one())], cases)?;
    Some(conclusion.in_short(say!("The overhead of reads is {times}x that of writes (file)")))
}

/// Reads lose more than writes: at every point of each table.
pub(super) fn of_reads(claims: &Claims) -> Vec<LayerConclusion> {
    let claim = |place: &Message| claims.named(say!("Reads lose more than writes, {place}"));
    // Without the kernel's side the ratio says what is needed.
    let (Some(read), Some(write)) = (claims.base(READ), claims.base(WRITE)) else { return Vec::new() };
    let mut all = Vec::new();
    for (environment, side, pairs) in tables(claims) {
        let part = |(point, [reading, writing]): &Pair| {
            let figure = claims.joined(|times| Some(lost(times, *reading, read) - lost(times, *writing, write)))?;
            let times: Vec<f64> = claims.times.iter().map(|(time, _)| *time).collect();
            let (of_read, of_write) = (over(lost(&times, *reading, read)), over(lost(&times, *writing, write)));
            let (at, more) = (at(point), points(&figure));
            let label = say!("{at} {of_read} against {of_write}, {more}");
            let short =
                say!("Over the kernel's base: reads {of_read}, writes {of_write} (file, {name})", name = side.name());
            let greatest = (figure.value, short);
            Some((LabelledFigure::of(label, figure), greatest))
        };
        let (parts, shorts): (Vec<LabelledFigure>, Vec<_>) = pairs.iter().filter_map(part).unzip();
        let here = &claims.sheet.environments[environment];
        let (name, place) = (overhead(claims.kinds[environment], side, here), side_of(here, side));
        let name = words(name);
        let place = say!("{name}, {place}", name = Text { en: lower(&name.en), zh: name.zh });
        let used: Vec<usize> = [read, write].into_iter().chain(pairs.iter().flat_map(|(_, pair)| *pair)).collect();
        all.extend(
            of_parts(&claim(&place), &parts, claims.ids(&used)).map(|conclusion| conclusion.by_greatest(shorts)),
        );
    }
    if !has_guest(claims) {
        let place = term!("under a hypervisor").into();
        all.push(needs(&claim(&place), NEEDS_GUEST));
    }
    all
}

/// A name of a table within a sentence.
fn lower(name: &str) -> String {
    let mut letters = name.chars();
    // A word of capitals stays.
    let is_word = name.chars().nth(1).is_some_and(char::is_lowercase);
    match letters.next() {
        Some(first) if is_word => first.to_lowercase().chain(letters).collect(),
        _ => name.to_owned(),
    }
}

/// Inside the kernel an operation loses less than in user space: the most of the one over the least of the other.
pub(super) fn of_kernel(claims: &Claims) -> Vec<LayerConclusion> {
    if claims.kernel_base().is_none() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (environment, here) in claims.sheet.environments.iter().enumerate() {
        let (mut parts, mut shorts, mut used) = (Vec::new(), Vec::new(), Vec::new());
        let family = claims.sheet.family.name;
        for (operation, named) in claims.sheet.operations() {
            let Some(base) = claims.base(operation) else { continue };
            let of = |side| -> Vec<usize> {
                let columns = claims.columns(environment, side);
                columns.iter().filter_map(|point| claims.index(environment, operation, side, point)).collect()
            };
            let [inside, outside] = SPACES.map(of);
            let most = |times: &[f64]| inside.iter().map(|index| lost(times, *index, base)).reduce(f64::max);
            let least = |times: &[f64]| outside.iter().map(|index| lost(times, *index, base)).reduce(f64::min);
            let times: Vec<f64> = claims.times.iter().map(|(time, _)| *time).collect();
            let (Some(at_most), Some(at_least)) = (most(&times), least(&times)) else { continue };
            let Some(figure) = claims.joined(|times| Some(least(times)? - most(times)?)) else { continue };
            // One that is not the least here might be it undisturbed.
            let is_sure = inside.iter().chain(&outside).all(|index| claims.times[*index].1.is_some());
            let figure = Propagated { interval: figure.interval.filter(|_| is_sure), ..figure };
            let (name, less) = (named.name, points(&figure));
            let (at_most, at_least) = (over(at_most), over(at_least));
            let label = say!("{name} at most {at_most} against at least {at_least}, {less}");
            let short =
                say!("{name}: at most {at_most} inside the kernel, at least {at_least} in user space ({family})");
            shorts.push((figure.value, short));
            parts.push(LabelledFigure::of(label, figure));
            used.extend([base].into_iter().chain(inside).chain(outside));
        }
        let claim = claims.named(of_layers(claims.kinds[environment], here.name));
        all.extend(of_parts(&claim, &parts, claims.ids(&used)).map(|conclusion| conclusion.by_greatest(shorts)));
    }
    if !has_guest(claims) && std::ptr::eq(claims.sheet.family, &FILE) {
        all.push(needs(&claims.named(of_layers(EnvironmentKind::Guest, "")), NEEDS_GUEST));
    }
    all
}

/// The claim by what an environment is.
fn of_layers(kind: EnvironmentKind, name: &str) -> Message {
    match kind {
        EnvironmentKind::First => term!("The kernel loses less than the OS").into(),
        EnvironmentKind::Guest => term!("Hypervisor and kernel lose less than hypervisor and guest OS").into(),
        EnvironmentKind::Container | EnvironmentKind::Free | EnvironmentKind::Other => {
            say!("The kernel loses less than the OS in {name}")
        }
    }
}
