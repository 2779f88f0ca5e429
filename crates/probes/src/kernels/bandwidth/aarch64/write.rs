//! Write kernels: stores of a register pattern that grows by a step from chunk to chunk.

/// A chunk by pair stores of one vector register, by the instruction given.
macro_rules! stores {
    ($store:literal) => {
        concat!(
            ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            $store,
            " q0, q0, [x0, #(\\i * 32)]\n",
            ".endr\n",
            "add v0.2d, v0.2d, v1.2d"
        )
    };
}

write_kernel!(
    /// 64-bit stores.
    scalar,
    before [],
    stores [
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "str x4, [x0, #(\\i * 32)]",
        "str x4, [x0, #(\\i * 32 + 8)]",
        "str x4, [x0, #(\\i * 32 + 16)]",
        "str x4, [x0, #(\\i * 32 + 24)]",
        ".endr",
        "add x4, x4, x5"
    ],
    after []
);

write_kernel!(
    /// Pairs of 16-byte stores.
    neon,
    before ["dup v0.2d, x4", "dup v1.2d, x5"],
    stores [stores!("stp")],
    after []
);

write_kernel!(
    /// Pairs of 16-byte stores that ask the caches to keep nothing, and waits until they are out.
    nt,
    before ["dup v0.2d, x4", "dup v1.2d, x5"],
    stores [stores!("stnp")],
    after ["dsb ishst"]
);
