//! Cost of an operation beside another: writes beside reads, bound beside unbound; and operations that are impossible.

use hostmark_model::{Message, Params};
use hostmark_say::say;

use super::{ClaimVerdict, Claims, LabelledFigure, LayerConclusion, is_without_irq, of_parts, percentage};
use crate::overhead::Environment;
use crate::overhead::family::{BIND, FREE_OF_CPUS, IRQ, SPACES, Space};
use crate::overhead::names::side_of;
use crate::overhead::over;
use crate::overhead::ratio::{READ, WRITE, mean_ratio};
use crate::overhead::sheet::{Figure, at};

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
