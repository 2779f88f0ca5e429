//! Chinese names of axes, and of those of their values that are words and no identifiers.

/// An axis in case ids, its Chinese name, and values with theirs.
type Axis = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const AXES: &[Axis] = &[
    ("amount", "字节数", &[]),
    ("backing", "映射对象", &[("anonymous", "匿名内存"), ("file", "文件")]),
    ("batch", "每批个数", &[]),
    ("bind", "内存绑定", &[("cpu", "本 CPU 节点"), ("last", "最后一个节点"), ("none", "不绑定")]),
    ("block", "块大小", &[]),
    ("by", "唤醒方式", &[]),
    ("capacity", "管道容量", &[("default", "默认")]),
    ("cause", "退出原因", &[]),
    ("chains", "链数", &[]),
    ("channel", "通道", &[("pipe", "管道"), ("socket", "套接字")]),
    ("child", "子程序", &[("dynamic", "动态链接"), ("static", "静态链接")]),
    ("congestion", "拥塞控制", &[("default", "系统默认")]),
    ("connection", "连接", &[("close", "每次新建"), ("keep_alive", "保持")]),
    ("copies", "份数", &[]),
    ("core", "核心", &[("efficiency", "能效核"), ("low_power", "低功耗核"), ("performance", "性能核")]),
    ("cpus", "CPU", &[]),
    ("data", "数据", &[("sum", "求和"), ("unused", "不使用")]),
    ("datagram", "数据报", &[]),
    ("delay", "间隔", &[("idle", "空闲")]),
    ("delay_us", "间隔（µs）", &[]),
    ("depth", "深度", &[]),
    ("descriptors", "描述符数", &[]),
    ("device", "网络设备", &[]),
    ("direction", "方向", &[("both", "双向"), ("receive", "接收"), ("send", "发送")]),
    ("elements", "元素数", &[("auto", "自动")]),
    ("footprint", "工作集", &[]),
    ("groups", "组数", &[]),
    ("ip", "IP 版本", &[]),
    ("irq", "中断", &[("off", "关闭"), ("on", "开启")]),
    ("isa", "指令集", &[("best", "最快"), ("scalar", "标量")]),
    ("kernel", "循环", &[("best", "最快"), ("scalar", "标量")]),
    (
        "kind",
        "类型",
        &[
            ("anonymous", "匿名页"),
            ("anonymous_pmd", "匿名大页"),
            ("copy_on_write", "写时复制"),
            ("file", "文件"),
            ("file_major", "文件，需读盘"),
            ("file_write", "写文件"),
            ("first", "首次"),
            ("pipe", "管道"),
            ("process", "进程"),
            ("returned", "归还后"),
            ("thread", "线程"),
        ],
    ),
    ("level", "层级", &[]),
    ("load", "负载", &[("both", "双向"), ("receive", "接收"), ("scalar", "标量"), ("send", "发送")]),
    ("message", "消息", &[]),
    (
        "method",
        "方法",
        &[("best", "最快"), ("compare_and_swap", "比较并交换"), ("load_store", "读与写"), ("zero_copy", "零拷贝")],
    ),
    ("mix", "读写", &[("read", "只读"), ("read_write", "读写混合"), ("write", "只写")]),
    ("mtu", "MTU", &[]),
    ("nodes", "节点", &[]),
    (
        "offload",
        "卸载",
        &[
            ("all", "全开"),
            ("big", "更大的包"),
            ("no_gro", "无 GRO"),
            ("no_gso", "无 GSO"),
            ("no_tso", "无 TSO"),
            ("none", "全关"),
        ],
    ),
    (
        "op",
        "运算",
        &[
            ("add", "加法"),
            ("bit", "按位"),
            ("compare_and_swap", "比较并交换"),
            ("div", "除法"),
            ("div_small", "小操作数除法"),
            ("fetch_add", "取后加"),
            ("mod", "取模"),
            ("mod_small", "小操作数取模"),
            ("mul", "乘法"),
            ("read", "读"),
            ("write", "写"),
        ],
    ),
    ("order", "顺序", &[("compact", "紧凑")]),
    ("outstanding", "未完成请求数", &[]),
    ("page", "页", &[("base", "基本页"), ("pmd", "大页")]),
    ("path", "路径", &[]),
    (
        "pattern",
        "模式",
        &[
            ("address", "地址"),
            ("in_page", "页内随机"),
            ("inversions", "反转"),
            ("moving", "移动"),
            ("random", "随机"),
            ("sequential", "顺序"),
        ],
    ),
    ("place", "位置", &[("scratch", "临时目录"), ("scratch_cold", "临时目录，无缓存")]),
    ("processes", "进程数", &[]),
    ("protocol", "协议", &[]),
    ("rate", "速率", &[("auto", "自动")]),
    ("rate_mbit", "速率（Mbit/s）", &[("max", "不限")]),
    ("resident", "常驻内存", &[]),
    ("segmentation", "分段", &[("none", "无")]),
    ("sharers", "共享者", &[]),
    ("size", "大小", &[]),
    ("source", "来源", &[]),
    ("space", "空间", &[("growing", "增长"), ("preallocated", "预分配"), ("written", "已写过")]),
    ("store", "存储", &[("best", "最快"), ("plain", "普通")]),
    ("streams", "流数", &[]),
    ("submission", "提交", &[("call", "系统调用"), ("polled", "内核轮询")]),
    ("sync", "同步", &[("none", "无")]),
    ("threads", "线程", &[("all", "全部")]),
    ("through", "途径", &[("cache", "页缓存"), ("direct", "直接 I/O")]),
    ("to", "对端", &[("here", "本机"), ("peer", "远端")]),
    ("touch", "访问", &[("all", "全部"), ("none", "无"), ("tenth", "十分之一")]),
    ("traffic", "流量", &[("auto", "自动")]),
    ("type", "类型", &[]),
    ("way", "方式", &[("bare", "裸指令"), ("own", "手写"), ("own_mask", "手写，含信号掩码")]),
    ("window", "窗口", &[("default", "默认")]),
    ("within", "范围", &[("all", "全部"), ("l1_blocks_1k", "1 KiB 块内"), ("l1_blocks_4k", "4 KiB 块内")]),
];

fn known(axis: &str) -> Option<&'static Axis> {
    AXES.iter().find(|(name, ..)| *name == axis)
}

/// The Chinese name of an axis; none of one that another program or version named.
pub(super) fn axis(name: &str) -> Option<&'static str> {
    known(name).map(|&(_, chinese, _)| chinese)
}

/// A value of an axis in Chinese, where it is a word.
pub(super) fn value(axis: &str, at: &str) -> Option<&'static str> {
    let (.., values) = known(axis)?;
    values.iter().find(|(value, _)| *value == at).map(|&(_, chinese)| chinese)
}
