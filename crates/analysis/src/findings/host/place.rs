//! Room for the runs, and for the files of probes.

use hostmark_model::{DirectoryFact, HostFacts, HostWeight, Lang, Purpose, Text, Unit};

use super::HostRule;
use crate::format::value;
use crate::texts::findings::host::place as texts;

/// A thorough run with its journal and a margin.
const RUN_BYTES: u64 = 64 << 20;

pub(super) static DATA: HostRule = HostRule {
    id: "host.no_room_for_runs",
    weight: HostWeight::Disturbs,
    cure: texts::DATA_CURE,
    see: |host, _| {
        let data = directory(host, Purpose::Data)?;
        if let Some(why) = unwritable(data) {
            return Some(texts::data_unwritable_effect!(why));
        }
        let room = data.available_bytes.filter(|room| *room < RUN_BYTES)?;
        let room = value(room as f64, Unit::Bytes, Lang::En);
        Some(texts::data_effect!(room))
    },
};

pub(super) static SCRATCH: HostRule = HostRule {
    id: "host.no_scratch",
    weight: HostWeight::Note,
    cure: texts::SCRATCH_CURE,
    see: |host, _| {
        let why = unwritable(directory(host, Purpose::Scratch)?)?;
        Some(texts::scratch_effect!(why))
    },
};

fn directory(host: &HostFacts, purpose: Purpose) -> Option<&DirectoryFact> {
    host.storage.directories.iter().find(|directory| directory.purpose == purpose)
}

/// Reason why no file can be created in a directory; none where one can, or nobody knows.
fn unwritable(directory: &DirectoryFact) -> Option<Text> {
    if directory.options.iter().any(|option| option == "ro") {
        return Some(term!("mounted read-only"));
    }
    (directory.writable == Some(false)).then_some(term!("not this user's to write"))
}
