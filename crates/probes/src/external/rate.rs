//! Probe external.rate: bytes a second of a command, by its time or as it prints them.

use hostmark_engine::prelude::*;

use crate::executed::{ASKED, how_printed};

pub static PROBE: Probe = Probe {
    title: Text { en: "Command, rate", zh: "命令的速率" },
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: how_printed!(
                en "With --bytes the value is so many bytes over the time that the command takes, from its start until it was waited for: \
                 --command 'dd if=/dev/zero of=file bs=1M count=1024' --bytes 1G. Else the",
                "B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s, kbit/s, Mbit/s or Gbit/s"
            ),
            zh: how_printed!(
                zh "给出 --bytes 时，数值为该字节数除以命令从启动到回收所用的时间：--command 'dd if=/dev/zero of=file bs=1M count=1024' --bytes 1G。否则：",
                "B/s、kB/s、MB/s、GB/s、KiB/s、MiB/s、GiB/s、kbit/s、Mbit/s 或 Gbit/s"
            ),
        },
        reading: Text {
            en: "Compare it with the hostmark value that moves data the same way: memory.copy, ipc.pipe_bandwidth, \
                 net.tcp_bandwidth, disk.read. A rate from --bytes includes the command's start: give it at least a \
                 second of work.",
            zh: "与 hostmark 中以同样方式传输数据的行对照：memory.copy、ipc.pipe_bandwidth、net.tcp_bandwidth、disk.read。用 --bytes 得出的速率包含命令的启动，\
                 应让它至少工作一秒。",
        },
        ..ASKED.explain
    },
    needs: &[Need::CommandValue(Unit::BytesPerSecond)],
    related: &["external.command", "memory.copy", "ipc.pipe_bandwidth", "net.tcp_bandwidth", "disk.read"],
    ..ASKED
};
