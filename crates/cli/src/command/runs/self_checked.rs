//! Where the result of `hostmark self-check` is stored, for a host, a boot and a program, and what runs of those say of it.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use hostmark_model::{HostFacts, SelfChecked};
use serde::Deserialize;

use crate::store;

/// Bytes that are read of a result at most.
const MOST_BYTES: u64 = 1 << 20;

/// What is read of a result.
#[derive(Deserialize)]
struct Stored {
    started: String,
    checks: Vec<StoredCheck>,
}

#[derive(Deserialize)]
struct StoredCheck {
    outcome: String,
}

/// Its file, beside the runs; none without a home, or where the boot or the program cannot be told from others.
pub fn file(hostname: &str, boot_id: Option<&str>, digest: Option<&str>) -> Option<PathBuf> {
    let part = |text: &str| store::file_part(&text.chars().take(8).collect::<String>());
    let name = [store::file_part(hostname), part(boot_id?), part(digest?)].join("-");
    Some(store::directory()?.with_file_name("self-checks").join(format!("{name}.json")))
}

/// What the last one found on a host since it started, with the program of this digest; none where there is none that can be read.
pub fn of(host: &HostFacts, digest: Option<&str>) -> Option<SelfChecked> {
    let mut text = String::new();
    let file = File::open(file(&host.hostname, host.boot_id.as_deref(), digest)?).ok()?;
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    let Stored { started, checks } = serde_json::from_str(&text).ok()?;
    let count = |outcome: &str| checks.iter().filter(|check| check.outcome == outcome).count() as u32;
    let [passed, failed, error, not_possible] = ["passed", "failed", "error", "not_possible"].map(count);
    // What a check that went wrong put in has not come back either.
    Some(SelfChecked { started, passed, failed: failed + error, not_possible })
}
