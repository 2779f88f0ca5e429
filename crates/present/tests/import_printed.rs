//! What perf bench and sysbench print in other locales and between other text.

use hostmark_model::Run;

use crate::import::{check, measured, read};

fn passed_over_of(run: &Run) -> Vec<&str> {
    run.disturbances.iter().map(|told| told.en.as_str()).collect()
}

#[test]
fn numbers_of_perf_bench_have_the_signs_of_a_locale() {
    let of = |thousands: &str, decimal: &str| {
        let text = "\
# Running 'syscall/basic' benchmark:
# Executed 20~000~000 getppid() calls
     Total time: 2.500 [sec]

       0^125000 usecs/op
      8~000~000 ops/sec
# Running 'uprobe/baseline' benchmark:
# Executed 1~000 usleep(1000) calls
     Total time: 1~060~500 usecs

 1~060^500 usecs/op
# Running 'mem/memset' benchmark:
# function 'default' (Default memset() provided by glibc)
# Copying 1MB bytes ...

      21^500000 GB/sec
# Running 'futex/wake' benchmark:
Run summary [PID 9]: blocking on 2 threads (at [private] futex 0x10), waking up 1 at a time.

[Run 1]: Wokeup 2 of 2 threads in 0^0170 ms
Wokeup 2 of 2 threads in 0^0170 ms (+-0^00%)
# Running 'epoll/wait' benchmark:
Run summary [PID 9]: 1 threads monitoring on 64 file-descriptors for 8 secs.

Averaged 161~730 operations/sec (+- 0^10%), total secs = 8
";
        read("perf-bench", text.replace('~', thousands).replace('^', decimal)).unwrap()
    };
    for (thousands, decimal) in [("", "."), (",", "."), (".", ","), ("\u{202f}", ","), ("\u{2019}", ".")] {
        // What is no sign of a number stays as it is.
        let run = of(thousands, decimal);
        check(
            &run,
            &[
                ("perf.syscall_basic", 125.0),
                ("perf.operation@benchmark=uprobe-baseline", 1_060_500.0),
                ("perf.memset@function=default,size=1048576", 21.5 * 1_073_741_824.0),
                ("perf.futex_wake@threads=2", 17_000.0),
                ("perf.epoll_wait@threads=1", 161_730.0),
            ],
        );
        assert_eq!(measured(&run, "perf.syscall_basic").notes["operations"], "20000000", "{thousands}");
    }
}

#[test]
fn perf_bench_all_gives_what_is_known_and_names_the_rest() {
    let text = "\
Results of this host
...
# Running sched/seccomp-notify benchmark...
# Executed 5000 system calls

     Total time: 0.050 [sec]

      10.000000 usecs/op
         100000 ops/sec

# Running mem/mmap benchmark...
# function 'populate' (Eagerly populated mmap())
# Copying 4gb bytes ...

       2.500000 GB/sec

# Running internals/synthesize benchmark...
  Average synthesis took: 50.500 usec (+- 0.100 usec)

# Running breakpoint/thread benchmark...
# Created/joined 7 threads with 2 breakpoints and 3 parallelism
     Total time: 0.001 [sec]

      54.500000 usecs/op
      54.500000 usecs/op/cpu
";
    let run = read("perf-bench", text).unwrap();
    let breakpoint = "perf.operation@benchmark=breakpoint-thread";
    check(
        &run,
        &[
            ("perf.operation@benchmark=sched-seccomp-notify", 10e3),
            ("perf.mmap@function=populate,size=4294967296", 2.5 * 1_073_741_824.0),
            (breakpoint, 54.5e3),
        ],
    );
    assert_eq!(
        measured(&run, breakpoint).notes["setup"],
        "Created/joined 7 threads with 2 breakpoints and 3 parallelism"
    );
    let [told] = passed_over_of(&run)[..] else { panic!("{:?}", run.disturbances) };
    assert!(told.ends_with("passed over: internals/synthesize"), "{told}");
    let error = read("perf-bench", "# Executed 5 fork() calls\n      10.000000 usecs/op\n").unwrap_err();
    assert!(error.line == 2 && error.what.contains("without a heading"), "{error}");
}

#[test]
fn sysbench_fileio_tells_its_files_and_the_time_of_a_request() {
    let text = "\
run 1: sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 2

Extra file open flags: (none)
16 files, 64MiB each
1GiB total file size
Block size 16KiB
Read/Write ratio for combined random IO test: 1.50
Periodic FSYNC enabled, calling fsync() each 50 requests.
Calling fsync() at the end of test, Enabled.
Using synchronous I/O mode
Doing random r/w test

File operations:
    reads/s:                      300.00
    writes/s:                     200.00
    fsyncs/s:                     160.00

Throughput:
    read, MiB/s:                  4.69
    written, MiB/s:               3.13

General statistics:
    total time:                          5.0010s
    total number of events:              3300

Latency (ms):
         min:                                    0.00
         avg:                                    0.75
         max:                                   20.50
         95th percentile:                        3.25

Threads fairness:
    events (avg/stddev):           1650.0000/5.00
    execution time (avg/stddev):   4.9990/0.00
";
    let run = read("sysbench", text).unwrap();
    let request = "sysbench.file_latency@threads=2,mode=rndrw,block=16384";
    check(&run, &[(request, 75e4), (&format!("{request}/greatest"), 20.5e6), (&format!("{request}/p95"), 3.25e6)]);
    let notes = &measured(&run, "sysbench.file_read@threads=2,mode=rndrw,block=16384").notes;
    let told = ["files", "ratio", "fsync_after"].map(|name| notes[name].as_str());
    assert_eq!(told, ["16 files, 64MiB each", "1.50", "50 requests."]);
    assert!(run.cases.len() == 4 && !measured(&run, request).also.contains_key("least"));
    let each = "Calling fsync() after each write operation.";
    let synced =
        read("sysbench", text.replace("Periodic FSYNC enabled, calling fsync() each 50 requests.", each)).unwrap();
    assert_eq!(measured(&synced, request).notes["fsync_after"], "each write operation.");
}
