//! The tables of one row a size: bandwidth of memory and of a pipe, latency by size and stride.

use hostmark_model::Text;

use super::{ExportFormat, Render};
use crate::tables;

/// Memory by block.
pub(super) const MEMORY_BANDWIDTH: ExportFormat = ExportFormat {
    name: tables::MEMORY_BANDWIDTH.name,
    description: Text {
        en: "read, write and copy bandwidth by block size, and bytes per core cycle",
        zh: "按块大小列出的内存读、写、复制带宽，以及每核心周期字节数",
    },
    render: Render::One(|run, options| tables::MEMORY_BANDWIDTH.render(run, options)),
};

/// Latency by size and stride.
pub(super) const SIZE_STRIDE: ExportFormat = ExportFormat {
    name: tables::SIZE_STRIDE.name,
    description: Text {
        en: "memory latency by size and stride, with the lines touched",
        zh: "按大小与步长列出的内存延迟，附访问的缓存行数",
    },
    render: Render::One(|run, options| tables::SIZE_STRIDE.render(run, options)),
};

/// A pipe by the bytes of one write.
pub(super) const PIPE: ExportFormat = ExportFormat {
    name: tables::PIPE.name,
    description: Text {
        en: "pipe bandwidth by the bytes of one write", zh: "按每次写入字节数列出的管道带宽"
    },
    render: Render::One(|run, options| tables::PIPE.render(run, options)),
};
