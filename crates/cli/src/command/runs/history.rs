//! What the runs that are kept here say of a new one: how far another run of the same host may lie from it.

use std::path::Path;
use std::time::Duration;

use hostmark_analysis::findings;
use hostmark_analysis::repetition::{self, Earlier};
use hostmark_analysis::trust::{trust, with_self_check};
use hostmark_engine::Wall;
use hostmark_model::Run;

use super::self_checked;
use crate::store;
use crate::wall::SinceStart;

/// So many of the latest runs tell enough.
const MOST_RUNS: usize = 20;
/// They are read for no longer than this: the person waits for the table.
const MOST_TIME: Duration = Duration::from_millis(500);

/// Says of each value where another run's is to be expected, and how far the run can be trusted.
pub fn judge(run: &mut Run) {
    // One at a time: all of them together would take more memory than the run.
    let earlier = Earlier::of(run, earlier(run));
    repetition::add(run, &earlier);
    run.trust = trust(run).map(|trust| with_self_check(trust, self_checked::of(&run.host, run.tool.digest.as_deref())));
    run.findings = findings(run);
}

/// The latest runs of this host that are kept, as far as they can be read: whatever lies there besides is nobody's fault.
fn earlier(run: &Run) -> impl Iterator<Item = Run> + use<> {
    let began = SinceStart::now();
    let host = format!("-{}-", store::file_part(&run.host.hostname));
    let named = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&host));
    let mut files = store::kept().unwrap_or_default();
    files.retain(|path| named(path));
    let latest = files.into_iter().rev().take(MOST_RUNS);
    latest.map_while(move |path| (began.elapsed() < MOST_TIME).then(|| store::load(&path).ok())).flatten()
}
