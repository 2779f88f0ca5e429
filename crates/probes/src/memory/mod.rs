//! Group memory: latency and bandwidth of every level.

mod hierarchy;
mod latency;
mod read;

crate::group!("memory": hierarchy read latency);

use crate::kernels::bandwidth::Reach;
use hostmark_engine::prelude::{Case, HostFacts, Pages, Profile, Result, Stop, largest_buffer};

/// The pages that the case's axis `page` names.
fn pages(case: &Case) -> Result<Pages> {
    match case.param::<String>("page")?.as_str() {
        "base" => Ok(Pages::Base),
        "pmd" => Ok(Pages::Pmd),
        other => Err(Stop::failed(format!("there are no pages '{other}'"))),
    }
}

/// Which caches `bytes` of memory fit.
fn reach(case: &Case, bytes: u64) -> Reach {
    match bytes {
        _ if bytes <= case.l1d_bytes() => Reach::FirstCache,
        _ if bytes <= case.llc_bytes() => Reach::Caches,
        _ => Reach::Memory,
    }
}

/// The largest size worth measuring: well beyond the last-level cache, within what the profile and the host allow.
fn largest(host: &HostFacts, profile: Profile) -> u64 {
    let caches = host.caches.iter().map(|cache| cache.size_bytes).max().unwrap_or(32 << 20);
    let beyond = (4 * caches).max(64 << 20);
    let memory = host.fillable_bytes() / 4;
    let profiled = largest_buffer(profile);
    if profile == Profile::Quick { profiled.min(beyond).min(memory) } else { profiled.min(memory) }
}
