//! Room for the runs, and for the files of probes.

use hostmark_model::{DirectoryFact, HostFacts, HostWeight, Lang, Purpose, Text, Unit};

use super::{HostRule, text};
use crate::format::value;

/// A thorough run with its journal and a margin.
const RUN_BYTES: u64 = 64 << 20;

pub(super) static DATA: HostRule = HostRule {
    id: "host.no_room_for_runs",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "make room there, or name another place: --out FILE or XDG_DATA_HOME",
        zh: "在该处腾出空间，或另选位置：--out FILE 或 XDG_DATA_HOME",
    },
    see: |host, _| {
        let data = directory(host, Purpose::Data)?;
        if let Some(why) = unwritable(data) {
            return text(
                format!("runs cannot be kept: their directory is {}", why.en),
                format!("无法保存运行：其所在目录{}", why.zh),
            );
        }
        let room = data.available_bytes.filter(|room| *room < RUN_BYTES)?;
        let room = value(room as f64, Unit::Bytes, Lang::En);
        text(
            format!("{room} left where runs are kept: a run may be lost when the disk fills"),
            format!("保存运行之处仅剩 {room}：磁盘写满时运行会丢失"),
        )
    },
};

pub(super) static SCRATCH: HostRule = HostRule {
    id: "host.no_scratch",
    weight: HostWeight::Note,
    cure: Text { en: "name another place: TMPDIR=DIRECTORY", zh: "另选位置：TMPDIR=目录" },
    see: |host, _| {
        let why = unwritable(directory(host, Purpose::Scratch)?)?;
        text(
            format!("scratch directory {}: what needs files is skipped", why.en),
            format!("临时目录{}：需要文件的探针会被跳过", why.zh),
        )
    },
};

fn directory(host: &HostFacts, purpose: Purpose) -> Option<&DirectoryFact> {
    host.storage.directories.iter().find(|directory| directory.purpose == purpose)
}

/// Why no file can be made in a directory; none where one can, or nobody knows.
fn unwritable(directory: &DirectoryFact) -> Option<Text> {
    if directory.options.iter().any(|option| option == "ro") {
        return Some(Text { en: "mounted read-only", zh: "以只读方式挂载" });
    }
    (directory.writable == Some(false))
        .then_some(Text { en: "not this user's to write", zh: "不允许本用户写入" })
}
