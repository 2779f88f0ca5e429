//! Words of the standard library and of the system that have no number.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[
    ("unexpected end of file", "意外的文件结尾"),
    ("failed to fill whole buffer", "数据不足，未能填满缓冲区"),
    ("failed to write whole buffer", "未能写完全部数据"),
    ("timed out", "超时"),
    ("unsupported", "不支持"),
    ("permission denied", "权限不够"),
    ("entity not found", "没有找到"),
    ("invalid digit found in string", "含有无效的数字"),
    ("cannot parse integer from empty string", "空字符串不是整数"),
    ("number too large to fit in target type", "数值过大"),
    ("out of range integral type conversion attempted", "数值超出范围"),
    ("broken pipe", "断开的管道"),
    ("connection reset", "连接被重置"),
    ("connection refused", "连接被拒绝"),
    ("operation interrupted", "操作被中断"),
    ("out of memory", "内存不足"),
];
