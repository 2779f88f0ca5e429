//! Room for the runs, and for the files of probes.

use hostmark_model::{DirectoryFact, HostFacts, HostWeight, Lang, Message, Purpose, Text, Unit};
use hostmark_say::say;

use super::HostRule;
use crate::format::value;
use crate::texts::findings::host::place as texts;
use crate::words;

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

/// The limit of the control group's I/O, the tightest of operations first: `50 operations a second`.
pub(in crate::findings) fn io_limit(host: &HostFacts) -> Option<Message> {
    let set = host.limits.group_settings.get("io.limit").filter(|set| *set != "default")?;
    let mut limits: Vec<(bool, f64)> = Vec::new();
    let mut is_of_bytes = false;
    // `blkio.throttle.write_iops_device 254:0 50`, `io.max 254:0 rbps=max wbps=1048576 riops=max wiops=50`
    for word in set.split([' ', ';', ',']) {
        is_of_bytes = word.contains("bps") || (is_of_bytes && !word.contains("iops"));
        let number = word.rsplit('=').next().and_then(|number| number.parse::<f64>().ok());
        limits.extend(number.map(|number| (is_of_bytes, number)));
    }
    let (is_of_bytes, least) =
        limits.into_iter().min_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)))?;
    Some(match is_of_bytes {
        true => Message::plain(value(least, Unit::BytesPerSecond, Lang::En)),
        false => say!("{least} operations a second"),
    })
}

pub(super) static IO_LIMIT: HostRule = HostRule {
    id: "host.io_limit",
    weight: HostWeight::Shifts,
    cure: texts::IO_LIMIT_CURE,
    see: |host, _| {
        let limit = words(io_limit(host)?);
        Some(texts::io_limit_effect!(limit))
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
