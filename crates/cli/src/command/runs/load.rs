//! Reads a run that is to be shown.

use std::path::Path;

use anyhow::Result;
use hostmark_analysis::consistency;
use hostmark_analysis::spoken;
use hostmark_model::{Lang, Run};
use hostmark_say::say;

use crate::{output, store};

/// The run that a person means: a file, or one that is kept.
pub fn found(run: &str, lang: Lang) -> Result<Run> {
    checked(&store::find(run)?, lang)
}

/// Reads a run to be shown, and says on standard error what in its file does not fit.
pub fn checked(path: &Path, lang: Lang) -> Result<Run> {
    let run = store::load(path)?;
    if let Some(what) = consistency::sentence(&run) {
        let (file, what) = (path.display(), what.get(lang));
        output::remark(&spoken(&say!("{file} contradicts itself: {what}; measure again, or restore the file"), lang));
    }
    Ok(run)
}
