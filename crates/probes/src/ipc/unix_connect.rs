//! Probe ipc.unix_connect: a connection to a socket file that is accepted and closed.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Unix connect + close", zh: "Unix 连接并关闭" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "A child listens at a socket file in the scratch directory, accepts each connection and closes \
                 it. This process makes a socket, connects it, reads until the other end is closed, and closes \
                 its own. The value is one such connection.",
            zh: "子进程在临时目录的套接字文件上监听，接受每个连接并关闭它。本进程创建套接字、连接、读到对端关\
                 闭，然后关闭自己的一端。数值是一次这样的连接。",
        },
        why: Text {
            en: "Clients that connect anew for each request, as name services, loggers and command-line tools of \
                 daemons do, pay this before the first byte.",
            zh: "每次请求都重新连接的客户端（名字服务、日志、守护进程的命令行工具）在第一个字节之前就要付出这\
                 些。",
        },
        reading: Text {
            en: "On one CPU 8 to 20 µs, two to four times the round trip of a byte: two sockets are made and \
                 destroyed, a path is looked up, and both processes are woken. Security modules check each step.",
            zh: "同一个 CPU 上为 8 到 20 µs，是一个字节往返的二到四倍：要创建并销毁两个套接字、查找路径、唤醒\
                 双方。安全模块会检查每一步。",
        },
    },
    axes: &[super::PLACEMENT],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_unix_connect"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    let listener = sys::listener::Listener::spawn(&other, &directory).map_err(super::refused)?;
    case.time(|| listener.connect_and_close())
}
