//! What perf bench, stress-ng and sysbench print in other locales, with other options and between other text.

use hostmark_model::{Outcome, Run};

use crate::import::{check, measured, read};

const STRESS_NG: &str = "\
$ stress-ng --cpu 3 --flock 2 --vm 1 -t 4 --metrics -v
stress-ng: debug: [70] stress-ng 0.18.02 g1a2b3c
stress-ng: info:  [70] dispatching hogs: 3 cpu, 2 flock, 1 vm
stress-ng: metrc: [70] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s CPU used per       RSS Max
stress-ng: metrc: [70]                           (secs)    (secs)    (secs)   (real time) (usr+sys time) instance (%)          (KB)
stress-ng: metrc: [70] cpu                4100      4.00     11.90      0.10      1025.00         341.67       100.00          5120
stress-ng: metrc: [70] flock            800000      4.00      0.50      7.50    200000.00      100000.00       100.00          2048
stress-ng: metrc: [70] vm                 4000      4.00      3.00      1.00      1000.00        1000.00       100.00         70000
stress-ng: metrc: [70] miscellaneous metrics:
stress-ng: metrc: [70] flock                512.25 nanosecs per flock lock call (harmonic mean of 2 instances)
stress-ng: metrc: [70] vm                   310.50 MB/sec written (average per stressor)
stress-ng: info:  [70] for a 4.01s run time:
stress-ng: info:  [70]     load average: 1.00 0.50 0.25
stress-ng: info:  [70] failed: 1: vm (1)
";

fn passed_over_of(run: &Run) -> Vec<&str> {
    run.disturbances.iter().map(|remark| remark.en.as_str()).collect()
}

#[test]
fn the_table_of_stress_ng_is_read_as_its_yaml_is() {
    let run = read("stress-ng", STRESS_NG).unwrap();
    let cpu = "stress_ng.bogo_operations@stressor=cpu";
    check(
        &run,
        &[
            (cpu, 1025.0),
            (&format!("{cpu}/of_cpu_time"), 341.67),
            (&format!("{cpu}/peak_memory"), 5120.0 * 1024.0),
            ("stress_ng.bogo_operations@stressor=flock", 2e5),
            ("stress_ng.time@stressor=flock,metric=nanosecs-per-flock-lock-call", 512.25),
            ("stress_ng.metric@stressor=vm,metric=mbsec-written", 310.5),
        ],
    );
    let notes = &measured(&run, cpu).notes;
    assert_eq!((notes["instances"].as_str(), notes["cpu-usage-per-instance"].as_str()), ("3", "100"));
    assert_eq!((run.tool.version.as_str(), run.cases.len()), ("stress-ng 0.18.02", 5));
    let failed = run.cases.iter().find(|case| case.id == "stress_ng.bogo_operations@stressor=vm").unwrap();
    assert!(matches!(&failed.outcome, Outcome::Failed { reason } if reason.contains("vm failed")), "{failed:?}");
    // Without what stands before each message, and with the YAML between the lines.
    let brief: String = STRESS_NG.lines().skip(2).map(|line| format!("{}\n", &line[23..])).collect();
    assert_eq!(measured(&read("stress-ng", brief).unwrap(), cpu).estimate, measured(&run, cpu).estimate);
    let printed = &STRESS_NG[STRESS_NG.find("stress-ng: info:").unwrap()..];
    let (table, rest) = printed.split_at(printed.find("stress-ng: metrc: [70] flock").unwrap());
    let yaml = format!(
        "    - stressor: cpu\n      bogo-ops: 4100\n{rest}      bogo-ops-per-second-real-time: 1025.125\n...\n"
    );
    let both = read("stress-ng", format!("---\nmetrics:\n{table}{yaml}")).unwrap();
    assert_eq!((measured(&both, cpu).estimate.typical, both.cases.len()), (1025.125, 1));
    let error = read("stress-ng", STRESS_NG.replace("1025.00", "nan")).unwrap_err();
    assert!(error.line == 6 && error.what.contains("'nan' is no amount"), "{error}");
    let without = read("stress-ng", "stress-ng: info:  [70] dispatching hogs: 3 cpu\n").unwrap_err();
    assert!(without.what.contains("--metrics"), "{without}");
    for end in 0..STRESS_NG.len() {
        let _ = read("stress-ng", &STRESS_NG[..end]);
    }
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
    let [remark] = passed_over_of(&run)[..] else { panic!("{:?}", run.disturbances) };
    assert!(remark.ends_with("passed over: internals/synthesize"), "{remark}");
    let error = read("perf-bench", "# Executed 5 fork() calls\n      10.000000 usecs/op\n").unwrap_err();
    assert!(error.line == 2 && error.what.contains("without a heading"), "{error}");
}

#[test]
fn sysbench_fileio_reports_its_files_and_the_time_of_a_request() {
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
    let remark = ["files", "ratio", "fsync_after"].map(|name| notes[name].as_str());
    assert_eq!(remark, ["16 files, 64MiB each", "1.50", "50 requests."]);
    assert!(run.cases.len() == 4 && !measured(&run, request).also.contains_key("least"));
    let each = "Calling fsync() after each write operation.";
    let synced =
        read("sysbench", text.replace("Periodic FSYNC enabled, calling fsync() each 50 requests.", each)).unwrap();
    assert_eq!(measured(&synced, request).notes["fsync_after"], "each write operation.");
}
