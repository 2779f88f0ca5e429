//! A CPU, as probes and threads name it.

/// A logical CPU by the kernel's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cpu(pub usize);
