//! What the layers between environments cost: the overhead view as a section of the page.

use hostmark_analysis::overhead::{environments, is_wanted, overhead};
use hostmark_model::Run;

use crate::print::html;
use crate::views;

/// The runs of each environment behind each other; none where the page is not about environments.
pub(super) fn by_environment(all: &[Run]) -> Option<Vec<Run>> {
    let sorted = || environments(all).into_iter().flat_map(|one| one.runs).cloned().collect();
    is_wanted(all).then(sorted)
}

/// The section as markup. A page of one environment has none.
pub(super) fn layers(all: &[Run], number: &dyn Fn() -> usize) -> Option<String> {
    // The page has room for every interval.
    let view = overhead(all, None, true).ok().filter(|view| is_wanted(all) && !view.parts.is_empty())?;
    Some(html::write(&views::overhead::overhead(view), 2, number))
}
