//! The walks along a chain.

/// A walk that does `once` at each node: it goes on from the address in `node`, and may use further registers.
macro_rules! walk {
    ($(#[$text:meta])* $name:ident, $once:expr, [$($register:ident),*], aarch64 [$($more:ident),*], options [$($option:ident),*]) => {
        $(#[$text])*
        pub(super) unsafe fn $name(node: usize, turns: u64, rest: u64) -> usize {
            let mut node = node;
            // SAFETY: by contract every address met is that of a node, and what is written there, if anything, may be.
            unsafe {
                asm_by_arch!(
                    unrolled!("{turns}", "{rest}", $once);
                    x86_64 {}
                    aarch64 { $($more = out(reg) _,)* }
                    turns = inout(reg) turns => _,
                    rest = inout(reg) rest => _,
                    node = inout(reg) node,
                    $($register = out(reg) _,)*
                    options($($option),*),
                );
            }
            node
        }
    };
}

walk!(
    /// Follows `turns` times 64 links and `rest` more from the node at address `node`; gives the address where it ends.
    ///
    /// # Safety
    /// `node` must be the address of a node: 8 readable, aligned bytes that hold the address of a node.
    walk,
    follow!("{node}"),
    [],
    aarch64 [],
    options [readonly, nostack]
);

walk!(
    /// The same, and the word behind each link is written once the link is on its way: the next load waits for no store.
    ///
    /// # Safety
    /// As of [`walk`], and 8 more bytes behind each link are writable and hold no link.
    walk_writing,
    concat!(
        "mov {here}, {node}\n",
        follow!("{node}"),
        "\n",
        by_arch!(x86_64 { "mov [{here} + 8], {here}" } aarch64 { "str {here}, [{here}, #8]" })
    ),
    [here],
    aarch64 [],
    options [nostack]
);

walk!(
    /// The same by one atomic operation a node that stores the link which it loads: the next cannot start before the line is this core's
    /// own.
    ///
    /// AArch64 does it by a pair of exclusive load and store, as its single instructions may be executed where the line is.
    ///
    /// # Safety
    /// As of [`walk`], and the links are writable.
    walk_owning,
    by_arch!(
        x86_64 { "xor {link:e}, {link:e}\nlock xadd [{node}], {link}\nmov {node}, {link}" }
        aarch64 {
            "6:\nldaxr {link}, [{node}]\nstlxr {failed:w}, {link}, [{node}]\ncbnz {failed:w}, 6b\nmov {node}, {link}"
        }
    ),
    [link],
    aarch64 [failed],
    options [nostack]
);
