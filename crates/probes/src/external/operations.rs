//! Probe external.operations: operations a second that a command prints.

use hostmark_engine::prelude::*;

use crate::executed::{ASKED, how_printed};

pub static PROBE: Probe = Probe {
    title: Text { en: "Command, printed operations a second", zh: "命令打印的每秒操作数" },
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: how_printed!(
                en "The",
                "ops/s, kops/s or Mops/s (requests, transactions, I/O operations)"
            ),
            zh: how_printed!(
                zh "",
                "ops/s、kops/s 或 Mops/s（请求、事务、I/O 操作）"
            ),
        },
        reading: Text {
            en: "Higher is better. The number of operations in flight divided by this value is the average time per \
                 operation.",
            zh: "越高越好。同时进行的操作数除以该值，就是平均每次操作的时间。",
        },
        ..ASKED.explain
    },
    needs: &[Need::CommandValue(Unit::OperationsPerSecond)],
    related: &["external.command", "net.tcp", "disk.read", "process.fork_exec"],
    ..ASKED
};
