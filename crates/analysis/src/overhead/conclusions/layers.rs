//! Conclusions on the layers of a sheet: losses of reads and writes, bindings, interrupts.

use hostmark_model::{Message, Params, Text};
use hostmark_say::say;

use super::super::environment::EnvironmentKind;
use super::super::sheet::{BIND, FILE, FREE_OF_CPUS, IRQ, SPACES, Space};
use super::super::sheet::{Figure, at};
use super::super::sheet::{overhead, side_of};
use super::super::tables::{READ, WRITE, mean_ratio};
use super::super::{Environment, over};
use super::{
    ClaimVerdict, Claims, LabelledFigure, LayerConclusion, NEEDS_GUEST, NEEDS_KERNEL, is_without_irq, needs, of_parts,
    percentage, points,
};
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
    claims.times.iter().any(|time| time.value.is_finite())
}

/// Tells whether another environment may have a hypervisor that the first has not.
fn has_guest(claims: &Claims) -> bool {
    claims.kinds.iter().any(|kind| matches!(kind, EnvironmentKind::Guest | EnvironmentKind::Other))
}

/// The overhead of reads is so many times that of writes: the mean over the tables of the mean over their columns.
pub(super) fn write_ratio(claims: &Claims) -> Option<LayerConclusion> {
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
            let times: Vec<f64> = claims.times.iter().map(|time| time.value).collect();
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
            let times: Vec<f64> = claims.times.iter().map(|time| time.value).collect();
            let (Some(at_most), Some(at_least)) = (most(&times), least(&times)) else { continue };
            let Some(figure) = claims.joined(|times| Some(least(times)? - most(times)?)) else { continue };
            // One that is not the least here might be it undisturbed.
            let is_sure = inside.iter().chain(&outside).all(|index| claims.times[*index].interval.is_some());
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

/// Writes cost more than reads: the mean over all sides of the mean over their points.
pub(super) fn of_writes(claims: &Claims) -> Option<LayerConclusion> {
    let mut sides: Vec<Vec<[usize; 2]>> = Vec::new();
    let mut names: Vec<Message> = Vec::new();
    for (environment, here) in claims.sheet.environments.iter().enumerate() {
        for side in SPACES {
            let pair = |point: &Params| {
                let index = |operation| claims.index(environment, operation, side, point);
                Some([index(READ)?, index(WRITE)?])
            };
            let pairs: Vec<[usize; 2]> = claims.sheet.points(side).iter().filter_map(pair).collect();
            if !pairs.is_empty() {
                sides.push(pairs);
                names.push(side_of(here, side));
            }
        }
    }
    let of_side = |times: &[f64], pairs: &[[usize; 2]]| {
        let turns: Vec<f64> = pairs.iter().flatten().map(|index| times[*index]).collect();
        mean_ratio(&turns)
    };
    let ratio = claims.propagated_ratio(|times| {
        let means: Option<Vec<f64>> = sides.iter().map(|pairs| of_side(times, pairs)).collect();
        means.filter(|means| !means.is_empty()).map(|means| means.iter().sum::<f64>() / means.len() as f64)
    })?;
    let shown = super::ratio(&ratio, 2);
    let of = match names.as_slice() {
        [name] => name.clone(),
        names => say!("the mean of {names} sides", names = names.len()),
    };
    let label = say!(
        "a write takes {shown} times as long as a read, {of}; a published report on native and guest file I/O has 2.55"
    );
    let claim = claims.named(term!("Writes cost more than reads").into());
    let used: Vec<usize> = sides.iter().flatten().flatten().copied().collect();
    let name = claims.sheet.family.name;
    let (times, parts) = (format!("{:.2}", ratio.value), [LabelledFigure::of(label, ratio.beyond_one())]);
    let conclusion = of_parts(&claim, &parts, claims.ids(&used))?;
    Some(conclusion.in_short(say!("A write takes {times}x as long as a read ({name})")))
}

/// Binding to a CPU costs: on each side of each environment, bound over not bound, with interrupts as the base has them.
pub(super) fn of_binding(claims: &Claims) -> Vec<LayerConclusion> {
    let mut all = Vec::new();
    for (environment, here) in claims.sheet.environments.iter().enumerate() {
        for side in SPACES {
            let points: Vec<Params> = claims.sheet.points(side);
            let has_off = points.iter().any(|point| is_without_irq(point) && claims.sheet.family.is_base_without_irq);
            let is_meant = |point: &&Params| point.get(IRQ).is_none() || is_without_irq(point) == has_off;
            let Some(free) = points.iter().filter(is_meant).find(|point| point.get(BIND) == Some(FREE_OF_CPUS)) else {
                continue;
            };
            let (mut parts, mut shorts, mut used) = (Vec::new(), Vec::new(), Vec::new());
            let (place, family) = (side_of(here, side), claims.sheet.family.name);
            for (operation, named) in claims.sheet.operations() {
                for point in points.iter().filter(is_meant).filter(|point| *point != free) {
                    let index = |point| claims.index(environment, operation, side, point);
                    let (Some(bound), Some(unbound)) = (index(point), index(free)) else { continue };
                    let Some(figure) = claims.over(bound, unbound) else { continue };
                    let (name, at, shown) = (named.name, at(point), percentage(&figure));
                    let label = Message::joined([name.into(), at, shown], " ");
                    let over = over(figure.value);
                    let short = say!("{name} {over} when bound to a CPU ({family}, {place})");
                    shorts.push((figure.value, short));
                    used.extend([unbound, bound]);
                    let of_both = claims.of_both(bound, unbound);
                    parts.push(LabelledFigure { label, figure, of_both });
                }
            }
            let claim = claims.named(say!("Binding to a CPU costs, {place}"));
            let worst = parts.iter().map(|part| part.figure.value).fold(0.0, f64::max);
            all.extend(of_parts(&claim, &parts, claims.ids(&used)).map(|conclusion| LayerConclusion {
                cost: if conclusion.verdict == ClaimVerdict::So { worst / (1.0 + worst) } else { 0.0 },
                ..conclusion.by_greatest(shorts)
            }));
        }
    }
    all
}

/// Word in a refusal's reason; other reasons are those of one run.
const REFUSED_FOR: &str = "interrupt";

/// File I/O with interrupts off is refused.
pub(super) fn of_interrupts(claims: &Claims) -> Vec<LayerConclusion> {
    let conclusion = |(environment, here): (usize, &Environment)| {
        let is_meant = |figure: &&Figure| {
            figure.environment == environment && figure.side == Space::Kernel && is_without_irq(&figure.point)
        };
        let figures: Vec<_> = claims.sheet.figures.iter().filter(is_meant).collect();
        let cases = |is_measured: bool| -> Vec<String> {
            let of = figures.iter().filter(|figure| figure.value.is_ok() == is_measured);
            of.map(|figure| figure.id.clone()).collect()
        };
        let (place, measured) = (side_of(here, Space::Kernel), cases(true));
        let claim = say!("File I/O with interrupts off is refused, {place}");
        if !measured.is_empty() {
            let list = measured.join(", ");
            let text = say!("{claim}: it was measured as {list}");
            let count = measured.len();
            let conclusion =
                LayerConclusion { verdict: ClaimVerdict::NotSo, text, short: None, cases: measured, cost: 0.0 };
            return Some(
                conclusion.in_short(say!("File I/O works with interrupts off, {place}: {count:case} measured")),
            );
        }
        let mut reasons = figures.iter().filter_map(|figure| figure.value.as_ref().err());
        let refused = reasons.find(|why| why.to_string().contains(REFUSED_FOR))?;
        let why = refused.parts().last().unwrap_or(refused);
        let text = say!("{claim}: {why}");
        let conclusion =
            LayerConclusion { verdict: ClaimVerdict::So, text, short: None, cases: cases(false), cost: 0.0 };
        Some(conclusion.in_short(claim))
    };
    claims.sheet.environments.iter().enumerate().filter_map(conclusion).collect()
}
