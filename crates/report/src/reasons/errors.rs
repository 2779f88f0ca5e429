//! Errors of the system, by their number: what Chinese systems call them.

/// What each number of an error is called.
const NAMES: &[(u32, &str)] = &[
    (1, "不允许的操作"),
    (2, "没有那个文件或目录"),
    (3, "没有那个进程"),
    (4, "被中断的系统调用"),
    (5, "输入/输出错误"),
    (6, "没有那个设备或地址"),
    (7, "参数列表过长"),
    (8, "可执行文件格式错误"),
    (9, "错误的文件描述符"),
    (10, "没有子进程"),
    (11, "资源暂时不可用"),
    (12, "无法分配内存"),
    (13, "权限不够"),
    (14, "错误的地址"),
    (16, "设备或资源忙"),
    (17, "文件已存在"),
    (18, "无效的跨设备链接"),
    (19, "没有那个设备"),
    (20, "不是目录"),
    (21, "是一个目录"),
    (22, "无效的参数"),
    (23, "系统打开的文件过多"),
    (24, "打开的文件过多"),
    (25, "对设备不适当的 ioctl 操作"),
    (26, "文本文件忙"),
    (27, "文件过大"),
    (28, "设备上没有空间"),
    (29, "非法 seek 操作"),
    (30, "只读文件系统"),
    (31, "过多的链接"),
    (32, "断开的管道"),
    (34, "数值结果超出范围"),
    (35, "已避免资源死锁"),
    (36, "文件名过长"),
    (38, "函数未实现"),
    (39, "目录非空"),
    (40, "符号链接的层数过多"),
    (43, "标识符已删除"),
    (61, "没有可用的数据"),
    (62, "定时器超时"),
    (71, "协议错误"),
    (75, "对已定义的数据类型来说值过大"),
    (90, "消息过长"),
    (92, "协议不可用"),
    (93, "不支持的协议"),
    (94, "不支持的套接字类型"),
    (95, "不支持的操作"),
    (97, "协议不支持的地址族"),
    (98, "地址已在使用"),
    (99, "无法指定被请求的地址"),
    (100, "网络已关闭"),
    (101, "网络不可达"),
    (103, "由软件引起的连接中止"),
    (104, "连接被对方重置"),
    (105, "没有可用的缓冲区空间"),
    (107, "传输端点尚未连接"),
    (110, "连接超时"),
    (111, "连接被拒绝"),
    (112, "主机关闭"),
    (113, "没有到主机的路由"),
    (115, "操作正在进行"),
    (122, "超出磁盘限额"),
    (125, "操作已取消"),
];

/// The Chinese of `Permission denied (os error 13)` and its like.
pub(super) fn in_chinese(error: &str) -> Option<String> {
    let (words, number) = error.strip_suffix(')')?.rsplit_once(" (os error ")?;
    let number: u32 = number.parse().ok()?;
    let is_one = !words.is_empty() && !words.contains(": ") && !words.contains("; ");
    is_one.then(|| named(number)).flatten()
}

fn named(number: u32) -> Option<String> {
    let (_, name) = NAMES.iter().find(|(known, _)| *known == number)?;
    Some(format!("{name}（os error {number}）"))
}

/// A text in Chinese in which errors of the system stand as the system says them in English: with those in Chinese.
pub(super) fn within(text: &str) -> String {
    const MARK: &str = " (os error ";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let behind = &rest[at + MARK.len()..];
        let digits = behind.find(')').filter(|&end| end <= 4).map_or("", |end| &behind[..end]);
        let end = at + MARK.len() + digits.len() + 1;
        let known = digits.parse().ok().and_then(|number: u32| {
            let said = std::io::Error::from_raw_os_error(i32::try_from(number).ok()?).to_string();
            let before = rest.get(..end)?.strip_suffix(said.as_str())?;
            Some(format!("{before}{}", named(number)?))
        });
        match known {
            Some(told) => {
                out += &told;
                rest = &rest[end..];
            }
            None => {
                out += &rest[..at + MARK.len()];
                rest = behind;
            }
        }
    }
    out + rest
}
