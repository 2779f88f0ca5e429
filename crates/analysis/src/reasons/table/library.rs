//! Words of the standard library and of the system that have no number.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    ("unexpected end of file", "意外的文件结尾"),
    ("failed to fill whole buffer", "数据不足，未能填满缓冲区"),
    ("failed to write whole buffer", "未能写完全部数据"),
    ("timed out", "等待超时"),
    ("unsupported", "此处不支持"),
    ("permission denied", "没有访问权限"),
    ("entity not found", "没有找到"),
    ("invalid digit found in string", "含有无效的数字"),
    ("cannot parse integer from empty string", "空字符串不是整数"),
    ("number too large to fit in target type", "数值过大"),
    ("out of range integral type conversion attempted", "数值超出范围"),
    ("broken pipe", "管道的另一端已关闭"),
    ("connection reset", "对端重置了连接"),
    ("connection refused", "对端没有接受连接"),
    ("operation interrupted", "操作被中断"),
    ("out of memory", "内存已用尽"),
];
