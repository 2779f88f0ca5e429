//! Names that most tests use: places, processes, the parts of a run, and the commands of a test's own hostmark.

pub use std::collections::{BTreeMap, BTreeSet};
pub use std::fs;
pub use std::io::{Read, Write};
pub use std::os::unix::fs::PermissionsExt;
pub use std::os::unix::process::CommandExt;
pub use std::path::{Path, PathBuf};
pub use std::process::{Command, Stdio};
pub use std::time::Duration;

pub use hostmark_engine::probe::entries;
pub use hostmark_model::{
    CaseRecord, Event, HostFacts, Inputs, Job, Measured, Outcome, Profile, ReasonCode, Run, load_run,
};
pub use hostmark_probes::CATALOGUE;
pub use rustix::process::{Pid, Signal, kill_process};
pub use serde_json::{Value, json};
pub use tempfile::TempDir;

pub use super::{
    Home, PROGRAM, Running, SOON, ended, far_ends, files, processes, refusal, said, succeeded, with_code, within,
    worker_events,
};
pub use crate::alone::alone;
pub use crate::skip::skipped;
