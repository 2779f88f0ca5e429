//! Read kernels: loads into registers that nothing waits for, so that the load ports and the memory set the pace.

/// All 32 vector registers, folded by exclusive or.
macro_rules! checksum {
    () => {
        concat!(
            ".irp i,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n",
            "eor v0.16b, v0.16b, v\\i\\().16b\n",
            ".endr\n",
            "fmov x0, d0\n",
            "mov x1, v0.d[1]\n",
            "eor x0, x0, x1"
        )
    };
}

/// A chunk by pair loads into all 32 vector registers, by the instruction given.
macro_rules! loads {
    ($load:literal) => {
        loads!($load: 0 1 0, 2 3 32, 4 5 64, 6 7 96, 8 9 128, 10 11 160, 12 13 192, 14 15 224, 16 17 256, 18 19 288,
               20 21 320, 22 23 352, 24 25 384, 26 27 416, 28 29 448, 30 31 480)
    };
    ($load:literal: $($first:literal $second:literal $at:literal),*) => {
        concat!($($load, " q", $first, ", q", $second, ", [x0, #", $at, "]\n"),*)
    };
}

read_kernel!(
    /// 64-bit loads, added up: the checksum is the sum of all words read.
    scalar,
    chunk 512,
    before ["mov x4, #0", "mov x5, #0", "mov x6, #0", "mov x7, #0"],
    loads [
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
        "ldr x8, [x0, #(\\i * 32)]",
        "ldr x9, [x0, #(\\i * 32 + 8)]",
        "ldr x10, [x0, #(\\i * 32 + 16)]",
        "ldr x11, [x0, #(\\i * 32 + 24)]",
        "add x4, x4, x8",
        "add x5, x5, x9",
        "add x6, x6, x10",
        "add x7, x7, x11",
        ".endr"
    ],
    after ["add x4, x4, x5", "add x6, x6, x7", "add x0, x4, x6"]
);

read_kernel!(
    /// Pairs of 16-byte loads.
    neon,
    chunk 512,
    before [],
    loads [loads!("ldp")],
    after [checksum!()]
);

read_kernel!(
    /// Pairs of 16-byte loads that ask the caches to keep nothing.
    nt,
    chunk 512,
    before [],
    loads [loads!("ldnp")],
    after [checksum!()]
);
