//! Why a program does not come to run at another place, or is heard of no more.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    ("{} cannot make a network of its own", "{0} 无法建立自己的网络"),
    ("the relay could not be started", "无法启动中继进程"),
    ("the scratch directory lies on no disk of its own", "临时目录不在任何磁盘上"),
    ("it did not end in time", "它没有按时结束"),
    ("it printed no run", "它没有输出运行结果"),
    ("no control groups are mounted", "没有挂载控制组（cgroup）"),
    (
        "cannot start {} to reach {}: {}; install it or correct the place",
        "无法启动 {0} 以连接 {1}：{2}；请安装该程序，或更正目标位置",
    ),
    (
        "{} prints more than 64 KiB before its shell starts; use an account that prints no greeting",
        "{0} 在 shell 启动之前输出了超过 64 KiB；请换用登录时不输出欢迎信息的账户",
    ),
    ("{} has no shell ({}); it must lead to where there is sh", "{0} 没有 shell（{1}）；目标处必须有 sh"),
    ("{} opens a terminal, which repeats its input; leave out -t", "{0} 打开了会回显输入的终端；请去掉 -t"),
    (
        "{} was silent for {} s {}; try `{} sh` by hand: it must not ask for anything",
        "{0} 已有 {1} s 没有应答（{2}）；请手动执行 `{3} sh`：它不应要求任何输入",
    ),
    ("{} ended {} ({}); try `{} sh` by hand", "{0} {1}就结束了（{2}）；请手动执行 `{3} sh`"),
    (
        "{} answers '{}' {}; check that it leads to a shell of its own",
        "{0} {2}应答了“{1}”；请确认它通向一个独立的 shell",
    ),
    ("before its shell had begun", "在其 shell 启动之前"),
    ("before it started the program that is installed there", "在启动已安装的程序之前"),
    ("while it looked for a directory", "在查找目录时"),
    ("while the program was copied", "在复制程序时"),
    ("its output was closed", "其输出已关闭"),
    (
        "{} is a {} machine, and there is no {} here; build it by `cargo build --release --target {}-unknown-linux-musl` and copy it to that name",
        "{0} 是 {1} 机器，而本机没有 {2}；请用 `cargo build --release --target {3}-unknown-linux-musl` 构建，并复制为该文件名",
    ),
    (
        "{} is a machine of '{}'; hostmark runs on x86_64 and aarch64: choose one of these",
        "{0} 的架构为“{1}”；hostmark 只能在 x86_64 与 aarch64 上运行：请换用其中之一",
    ),
    (
        "{} is no program for {}; build it by `cargo build --release --target {}-unknown-linux-musl`",
        "{0} 不是 {1} 的程序；请用 `cargo build --release --target {2}-unknown-linux-musl` 构建",
    ),
    ("{} lacks {}, without which no program can be copied there; {}", "{0} 缺少 {1}，无法把程序复制过去；{2}"),
    (
        "{} has no directory that takes a program and executes it; set TMPDIR there to one that has room, is not mounted noexec, and in which and above which nobody else may rename files. Tried: {}",
        "{0} 没有能存放并执行程序的目录；请在该处把 TMPDIR 设为有空间、未以 noexec 挂载、且其自身与上级目录中他人都无法重命名文件的目录。已尝试：{1}",
    ),
    (
        "{} took {} of {} bytes of the program{}; free space there or set TMPDIR",
        "{0} 只接收了程序 {2} 字节中的 {1} 字节{3}；请在该处腾出空间，或设置 TMPDIR",
    ),
    (
        "{} received another program than was sent (SHA-256 {}, sent {}); the connection alters data: repair it",
        "{0} 收到的程序与发送的不同（SHA-256 {1}，发送的是 {2}）；连接改动了数据：请修复连接",
    ),
    ("'{}' broke off ({}); look at that host and at the way there", "“{0}”已断开（{1}）；请检查该主机以及到它的连接"),
    ("'{}' took the program and could not start it ({}); {}", "“{0}”收到了程序但无法启动（{1}）；{2}"),
    (
        "put a static program beside this one: hostmark-x86_64-linux-musl, made by cargo build --release --target x86_64-unknown-linux-musl, or the same for aarch64",
        "请在本程序旁放置静态程序 hostmark-x86_64-linux-musl（用 cargo build --release --target x86_64-unknown-linux-musl 构建），aarch64 同理",
    ),
    ("look at that host's limits of processes and memory", "请检查该主机的进程数与内存限制"),
    ("'{}' gives no agent: {}", "“{0}”没有提供代理：{1}"),
    (
        "'{}' has said nothing for {} s, longer than it may; look at that host and at the way there",
        "“{0}”已有 {1} s 没有应答，超过上限；请检查该主机以及到它的连接",
    ),
    ("'{}' has not ended after {} s; look at that host", "“{0}”在 {1} s 后仍未结束；请检查该主机"),
    (
        "'{}' said what no hostmark says ({}); look at what runs there",
        "“{0}”的应答不是 hostmark 的应答（{1}）；请检查那里运行的程序",
    ),
    ("it does not say which program it is", "它没有说明自己是哪个程序"),
    ("it does not begin with a greeting", "它没有以问候开始"),
    ("a line without an end", "一行没有结尾"),
    ("more than a run has", "内容超过一次运行应有的数量"),
    ("a second plan", "第二个计划"),
    ("what follows a plan, and no plan", "缺少计划，却有其后的内容"),
    ("a line of more values than a run has", "一行的数值超过一次运行应有的数量"),
    (
        "the hostmark behind '{}' speaks version {} of the protocol, this one {}; take the same version of both",
        "“{0}”处的 hostmark 使用协议版本 {1}，本机为 {2}；请在两端使用同一版本",
    ),
    (
        "the program behind '{}' has another digest than the one that was sent; send it anew, and look at the way there",
        "“{0}”处的程序与发送的程序摘要不同；请重新发送，并检查到它的连接",
    ),
    ("'{}' cannot be heard or told ({}); try again", "无法与“{0}”通信（{1}）；请重试"),
    (
        "nobody answers at {} ({}); start hostmark serve there, or correct the address",
        "{0} 处没有应答（{1}）；请在那里启动 hostmark serve，或更正地址",
    ),
    ("the name has no address", "该名称没有对应的地址"),
    ("what answers at {} is no hostmark serve; correct the address", "{0} 处应答的不是 hostmark serve；请更正地址"),
    (
        "the hostmark serve at {} speaks version {} of the channel, this one {}; take the same version of both",
        "{0} 处的 hostmark serve 使用通道版本 {1}，本机为 {2}；请在两端使用同一版本",
    ),
    (
        "the hostmark serve at {} refuses this token; give the file that holds the token of that server",
        "{0} 处的 hostmark serve 拒绝此令牌；请给出保存该服务器令牌的文件",
    ),
    (
        "the server at {} was silent for {} s; it may be overrun: try again later",
        "{0} 处的服务器已有 {1} s 没有应答；它可能过载：请稍后重试",
    ),
    (
        "the connection to {} broke off; look at that host and at the way there",
        "与 {0} 的连接已断开；请检查该主机以及到它的连接",
    ),
    (
        "what came from {} was altered on the way; look at the way there",
        "来自 {0} 的数据在途中被改动；请检查到它的连接",
    ),
    ("the system refuses a connection to {} ({}); try again", "系统拒绝连接 {0}（{1}）；请重试"),
    (
        "{} sessions are under way there, and no more are allowed; try again later, or raise hostmark serve --sessions",
        "那里已有 {0} 个会话，达到上限；请稍后重试，或调高 hostmark serve --sessions",
    ),
    ("it does not greet as hostmark serve does", "其问候与 hostmark serve 不符"),
    ("it speaks version {} of the channel", "它使用通道版本 {0}"),
    ("the token is another one", "令牌不同"),
    ("a record was altered on the way", "一条记录在途中被改动"),
    ("no key can be made", "无法生成密钥"),
    (
        "the token file {} cannot be read ({}); name one that is there and yours",
        "无法读取令牌文件 {0}（{1}）；请指定存在且属于您的文件",
    ),
    ("the token file {} is no regular file; write the token to one", "令牌文件 {0} 不是普通文件；请把令牌写入普通文件"),
    ("the token file {} belongs to another user; use one of your own", "令牌文件 {0} 属于其他用户；请使用自己的文件"),
    (
        "the token file {} is open to others (mode {}); run chmod 600 on it, and make a new token",
        "其他用户可访问令牌文件 {0}（权限 {1}）；请对它执行 chmod 600，并生成新令牌",
    ),
    (
        "the token file {} holds no token; write the 64 hexadecimal digits to it that hostmark serve prints",
        "令牌文件 {0} 中没有令牌；请写入 hostmark serve 输出的 64 位十六进制数字",
    ),
    ("there is no standard output", "没有标准输出"),
    ("stopped", "已停止"),
    ("stopped on request; start again when you like", "已按要求停止；可随时重新开始"),
    ("cannot read {}: {}; make it readable or remove it", "无法读取 {0}：{1}；请使其可读，或删除它"),
    ("cannot read {}, the program's own file: {}; mount /proc", "无法读取程序自身的文件 {0}：{1}；请挂载 /proc"),
    ("no address of this version of the Internet Protocol answers there", "对端没有该 IP 版本的地址应答"),
    ("no peer of this run is called {}", "本次运行没有名为 {0} 的对端"),
    ("the peer said what was not asked for", "对端的回答不是所问"),
    ("mount it", "请挂载它"),
    ("install it", "请安装它"),
    ("the peer said what was not asked for; look at what runs there", "对端的回答不是所问；请检查那里运行的程序"),
];
