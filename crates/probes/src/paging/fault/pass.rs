//! Timed passes over a mapping, and the faults in them.

use hostmark_engine::prelude::*;
use sys::usage::thread_faults;

/// What a fault that maps several pages comes to for each.
pub(super) const PER_PAGE: Quantity = Quantity::given("per_page", Unit::Nanoseconds, Better::Lower, term!("a page"));

/// Passes until the time is over. Where a fault maps several pages, `pages` of a pass tells the time of each.
pub(super) fn passes(
    case: &mut Case,
    pages: Option<usize>,
    mut pass: impl FnMut(&Clock) -> Result<Pass>,
) -> Result<()> {
    let mut a_page: Vec<f64> = Vec::new();
    case.timed(|clock| {
        let Pass { took, faults } = pass(clock)?;
        a_page.extend(pages.map(|pages| clock.ns(took) / pages as f64));
        match faults {
            0 => Err(RoundError::failed(ReasonCode::CheckFailed, say!("the kernel counted no faults"))),
            _ => Ok((took, faults)),
        }
    })
    .time()?;
    case.also(PER_PAGE.name, a_page)
}

/// A timed pass over a mapping.
pub(super) struct Pass {
    /// Its time.
    pub took: Ticks,
    /// The faults that the kernel counted.
    pub faults: u64,
}

impl Pass {
    /// Times `touch`.
    pub fn of(clock: &Clock, touch: impl FnOnce()) -> Result<Pass> {
        let before = thread_faults()?;
        let start = clock.start();
        touch();
        let took = clock.end().since(start);
        let after = thread_faults()?;
        Ok(Pass { took, faults: after.minor + after.major - before.minor - before.major })
    }
}
