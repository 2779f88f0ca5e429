//! Control groups for processes that are started here, in their janitor's charge.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hostmark_engine::janitor::CleanupEntry;
use hostmark_engine::sys::control_group::{ControlGroup, GroupLimit};
use hostmark_engine::sys::scratch::fresh_name;
use hostmark_host::{Root, nurseries};
use hostmark_model::PathBytes;
use hostmark_say::say;

use super::janitor::Janitor;

/// Goes into a control group and becomes what stands behind it. What the group is called is an argument, never a part of this.
const ENTER: &str = r#"echo $$ > "$0/cgroup.procs" && exec "$@""#;

/// A group with this limit in the first place where one can be made; else why there is none.
pub fn limited(limit: &GroupLimit, janitor: &mut Janitor) -> Result<ControlGroup, String> {
    let mut why = say!("no control groups are mounted").to_string();
    for base in nurseries(&Root::here(), limit.controller()) {
        match made(Path::new(&base), limit, janitor) {
            Ok(group) => return Ok(group),
            Err(error) => why = format!("{base}: {error}"),
        }
    }
    Err(why)
}

fn made(base: &Path, limit: &GroupLimit, janitor: &mut Janitor) -> io::Result<ControlGroup> {
    let name = fresh_name()?;
    // Before there is one: whoever kills this process leaves none.
    let above = PathBytes(base.as_os_str().as_bytes().to_vec());
    janitor.record(&CleanupEntry::ControlGroup { base: above, name: name.clone() });
    ControlGroup::make(base, &name, limit)
}

/// The words behind which a program is in the group.
pub fn words(group: &ControlGroup) -> Vec<OsString> {
    ["sh", "-c", ENTER].map(OsString::from).into_iter().chain([group.path().into()]).collect()
}
