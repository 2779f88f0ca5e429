//! The walk along a chain.

use std::arch::asm;

/// Follows `turns` times 64 links and `rest` more from the node at address `node`; gives the address where it ends.
///
/// # Safety
/// `node` must be the address of a node: 8 readable, aligned bytes that hold the address of a node.
pub(super) unsafe fn walk(node: usize, turns: u64, rest: u64) -> usize {
    let mut node = node;
    // SAFETY: by contract every address met is that of a node. Nothing is written but declared registers.
    unsafe {
        asm!(
            unrolled!("{turns}", "{rest}", follow!("{node}")),
            turns = inout(reg) turns => _,
            rest = inout(reg) rest => _,
            node = inout(reg) node,
            options(readonly, nostack),
        );
    }
    node
}
