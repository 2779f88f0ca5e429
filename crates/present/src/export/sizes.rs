//! The tables of one row a size: bandwidth of memory and of a pipe, latency by size and stride.

use super::{ExportFormat, Render};
use crate::tables;

pub(super) const MEMORY_BANDWIDTH: ExportFormat = ExportFormat {
    name: tables::MEMORY_BANDWIDTH.name,
    description: term!("read, write and copy bandwidth by block size, and bytes per core cycle"),
    render: Render::One(|run, options| tables::MEMORY_BANDWIDTH.render(run, options)),
};

/// Latency by size and stride.
pub(super) const SIZE_STRIDE: ExportFormat = ExportFormat {
    name: tables::SIZE_STRIDE.name,
    description: term!("memory latency by size and stride, with the lines touched"),
    render: Render::One(|run, options| tables::SIZE_STRIDE.render(run, options)),
};

/// A pipe by the bytes of one write.
pub(super) const PIPE: ExportFormat = ExportFormat {
    name: tables::PIPE.name,
    description: term!("pipe bandwidth by the bytes of one write"),
    render: Render::One(|run, options| tables::PIPE.render(run, options)),
};
