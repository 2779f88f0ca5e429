//! Figures of memory in huge pages that a hypervisor backs with small ones, named wherever they are shown.

use hostmark_model::{CaseRecord, Lang, Message, Run, Unit};
use hostmark_say::say;

use crate::format::value;
use crate::levels::{HIERARCHY, LEVELS, last_cache_size};

/// The probe that tells by which pages huge pages are translated.
pub const EFFECTIVE_PAGE: &str = "memory.effective_page";

/// The share of rounds that must agree.
const SURE: f64 = 0.75;

/// Probes of memory whose buffers are larger than the caches at each of their points.
const IN_MEMORY: [&str; 4] = ["memory.loaded_latency", "memory.numa_latency", "memory.numa_bandwidth", "memory.stream"];

/// The case that shows huge pages cut up below this machine, and into how many bytes. Only a hypervisor cuts them.
pub(crate) fn cut_into(run: &Run) -> Option<(&CaseRecord, f64)> {
    run.host.virtualization.hypervisor.as_ref()?;
    let huge = run.host.memory.pmd_page_bytes? as f64;
    let case = run.cases.iter().find(|case| case.probe == EFFECTIVE_PAGE && case.measured().is_some())?;
    let estimate = &case.measured()?.estimate;
    let is_sure = estimate.value() < huge && estimate.agreement.is_some_and(|share| share >= SURE);
    is_sure.then_some((case, estimate.value()))
}

/// Gives the note on a figure of memory in huge pages; none on others, and where huge pages are whole.
pub fn split_huge_pages(run: &Run) -> impl Fn(&CaseRecord) -> Option<Message> + use<> {
    let (bytes, last_cache) = (cut_into(run).map(|(_, bytes)| bytes), last_cache_size(run));
    move |case| {
        let page = value(bytes.filter(|_| is_of_memory(last_cache, case))?, Unit::Bytes, Lang::En);
        Some(say!("includes page walks: the host uses {page} pages"))
    }
}

/// Tells whether a value is one of memory in huge pages, as far as the levels that were found say.
fn is_of_memory(last_cache: Option<f64>, case: &CaseRecord) -> bool {
    let at = |axis: &str| case.params.get(axis);
    if case.measured().is_none() || at("page").is_some_and(|page| page != "pmd") {
        return false;
    }
    if case.probe == HIERARCHY {
        return LEVELS.iter().any(|level| level.cache.is_none() && at("level") == Some(level.key));
    }
    let is_beyond = || {
        let size: f64 = at("size")?.parse().ok()?;
        Some(size > last_cache?)
    };
    IN_MEMORY.contains(&case.probe.as_str()) || (case.probe.starts_with("memory.") && is_beyond().unwrap_or(false))
}
