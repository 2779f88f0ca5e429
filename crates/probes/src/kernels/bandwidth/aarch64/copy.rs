//! Copy kernels: loads, each followed by the store of what it brought.

/// A chunk by pairs of 16-byte loads and stores, by the instructions given.
macro_rules! moves {
    ($load:literal, $store:literal) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7\n",
            $load,
            " q0, q1, [x0, #(\\i * 64)]\n",
            $load,
            " q2, q3, [x0, #(\\i * 64 + 32)]\n",
            $store,
            " q0, q1, [x4, #(\\i * 64)]\n",
            $store,
            " q2, q3, [x4, #(\\i * 64 + 32)]\n",
            ".endr"
        )
    };
}

copy_kernel!(
    /// 64-bit loads and stores.
    scalar,
    moves [
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "ldr x6, [x0, #(\\i * 32)]",
        "ldr x7, [x0, #(\\i * 32 + 8)]",
        "ldr x8, [x0, #(\\i * 32 + 16)]",
        "ldr x9, [x0, #(\\i * 32 + 24)]",
        "str x6, [x4, #(\\i * 32)]",
        "str x7, [x4, #(\\i * 32 + 8)]",
        "str x8, [x4, #(\\i * 32 + 16)]",
        "str x9, [x4, #(\\i * 32 + 24)]",
        ".endr"
    ],
    after []
);

copy_kernel!(
    /// Pairs of 16-byte loads and stores.
    neon,
    moves [moves!("ldp", "stp")],
    after []
);

copy_kernel!(
    /// Pairs of 16-byte loads and stores that ask the caches to keep nothing, and waits until they are out.
    nt,
    moves [moves!("ldnp", "stnp")],
    after ["dsb ishst"]
);
