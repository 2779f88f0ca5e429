//! Far ends of a measurement: processes here, or on a peer.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    ("no far end was started", "没有启动远端"),
    ("the far end {}", "远端{0}"),
    ("the far end speaks protocol {}, not {}", "远端使用协议 {0}，而不是 {1}"),
    ("the far end wrote what none says before it listens", "远端在监听之前写出了无法识别的内容"),
    ("the far end wrote what none says when it ends", "远端在结束时写出了无法识别的内容"),
    ("the far end did not listen within {} s", "远端在 {0} s 内没有开始监听"),
    ("its far ends did not listen within {} s", "其远端在 {0} s 内没有开始监听"),
    (
        "{} far ends were asked for, and hostmark serve starts one for each CPU that it may use at most: {}",
        "请求了 {0} 个远端，而 hostmark serve 至多为每个可用的 CPU 启动一个：{1} 个",
    ),
    ("no process for the far end", "无法启动远端进程"),
    ("it has served to its end", "它已服务完毕"),
    ("there is no service '{}'", "没有服务“{0}”"),
    ("the job of a far end cannot be meant: {}", "远端的任务不合理：{0}"),
    ("the far end has no scratch directory", "远端没有临时目录"),
    ("the far end's directory cannot be made", "无法创建远端的目录"),
    ("the far end did not answer within {} s", "远端在 {0} s 内没有应答"),
    ("the far end is gone: {}", "远端已断开：{0}"),
    ("the far end answered something else", "远端的应答与预期不符"),
    ("the far end did not say within {} s what became of the datagrams", "远端在 {0} s 内没有报告数据报的去向"),
];
