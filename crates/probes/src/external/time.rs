//! Probe external.time: a time that a command prints.

use hostmark_engine::prelude::*;

use crate::executed::{ASKED, how_printed};

pub static PROBE: Probe = Probe {
    title: Text { en: "Command, printed time", zh: "命令打印的时间" },
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: how_printed!(
                en "The",
                "ns, us, ms, s or min"
            ),
            zh: how_printed!(
                zh "",
                "ns、us、ms、s 或 min"
            ),
        },
        reading: Text {
            en: "Lower is better. wall is the time of the whole command; a value far below it is one operation among \
                 many. Compare it with the hostmark value that waits for the same thing: ipc.pipe, net.tcp, \
                 disk.fsync.",
            zh: "越低越好。wall 为整个命令所用的时间；远低于它的数值是众多操作之一的时间。与 hostmark 中等待同样事情的行对照：ipc.pipe、net.tcp、disk.fsync。",
        },
        ..ASKED.explain
    },
    needs: &[Need::CommandValue(Unit::Nanoseconds)],
    related: &["external.command", "ipc.pipe", "net.tcp", "disk.fsync"],
    ..ASKED
};
