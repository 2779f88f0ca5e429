//! Room for the runs.

use hostmark_model::{HostWeight, Lang, Purpose, Text, Unit};

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
        let data = host.storage.directories.iter().find(|directory| directory.purpose == Purpose::Data)?;
        if data.options.iter().any(|option| option == "ro") {
            return text(
                "runs cannot be kept: their directory is mounted read-only",
                "无法保存运行：其所在目录以只读方式挂载",
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
