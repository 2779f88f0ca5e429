//! What network tools, UnixBench, sc-membench, hyperfine and google-benchmark wrote: every value in its base unit.

use hostmark_model::Outcome;

use crate::import::{check, each_output, measured, read, with};

#[test]
fn tables_and_texts_of_further_tools_give_their_values_in_base_units() {
    let of = |format: &str| read(format, each_output().find(|(name, _)| *name == format).unwrap().1).unwrap();
    let mib = 1_048_576.0;
    let netperf = of("netperf");
    let udp = "netperf.stream@test=udp-stream,message=65507,socket=212992";
    check(
        &netperf,
        &[
            ("netperf.stream@test=tcp-stream,message=1500,socket=131072", 9405.64e6 / 8.0),
            (udp, 890.25e6 / 8.0),
            (&format!("{udp}/sent"), 954.33e6 / 8.0),
            ("netperf.transactions@test=tcp-request-response,request=32,response=1024,socket=131072", 6537.30),
        ],
    );
    let sockperf = of("sockperf");
    let latency = "sockperf.latency@protocol=udp,message=unknown,way=one";
    check(
        &sockperf,
        &[
            (latency, 15_500.0),
            (&format!("{latency}/p999"), 68_989.0),
            (&format!("{latency}/greatest"), 3_955_398.0),
            ("sockperf.messages@protocol=tcp,message=14", 320_000.0),
            ("sockperf.messages@protocol=tcp,message=14/bytes", 4.272 * mib),
        ],
    );
    let unixbench = of("unixbench");
    check(
        &unixbench,
        &[
            ("unixbench.rate@test=dhrystone-2-using-register-variables,copies=1", 40_000_000.5),
            ("unixbench.rate@test=dhrystone-2-using-register-variables,copies=2", 79e6),
            ("unixbench.rate@test=double-precision-whetstone,copies=1", 7000.5e6),
            ("unixbench.rate@test=shell-scripts--1-concurrent-,copies=1", 200.0),
            ("unixbench.file@test=file-copy-1024-bufsize-2000-maxblocks,copies=1", 512e6),
            ("unixbench.index@test=partial,copies=1", 1850.4),
            ("unixbench.index@test=all,copies=2", 2900.1),
        ],
    );
    assert_eq!(
        (unixbench.host.hostname.as_str(), unixbench.host.kernel.release.as_str()),
        ("bench-1", "6.1.0-9-amd64")
    );
    check(
        &of("sc-membench"),
        &[
            ("sc_membench.bandwidth@operation=read,size=16384,threads=4", 120_500.25 * mib),
            ("sc_membench.bandwidth@operation=copy,size=16384,threads=4", 60_250.5 * mib),
            ("sc_membench.latency@operation=latency,size=67108864,threads=1", 85.4),
        ],
    );
    let hyperfine = of("hyperfine");
    let sort = "hyperfine.time@command=sort--n-numbers.txt";
    // Names that only differ in what an axis cannot hold are two commands.
    check(&hyperfine, &[(sort, 21e6), (&format!("{sort}/user"), 17.3e6), (&format!("{sort}+2"), 1.5e9)]);
    assert_eq!(measured(&hyperfine, sort).samples[0].len(), 3);
    assert!(measured(&hyperfine, &format!("{sort}+2")).flags[0].detail.contains("1 of 1 runs"));
    let google = of("google-benchmark");
    let copy = "google_benchmark.time@name=bm_copy-4096,threads=1,statistic=each";
    let lock = "google_benchmark.time@name=bm_lock-threads-8,threads=8,statistic=median";
    check(&google, &[(copy, 105e3), (&format!("{copy}/cpu"), 99.5e3), (lock, 25.5), (&format!("{lock}/items"), 3e8)]);
    assert!(google.cases.len() == 3 && google.started.starts_with("2026-03-02T09:20:30"), "{}", google.started);
    assert!(
        google
            .cases
            .iter()
            .any(|case| matches!(&case.outcome, Outcome::Failed { reason } if reason.contains("no device")))
    );
    for (format, from, to, wanted) in [
        ("netperf", "890.25\n", "\n", "UDP STREAM has no result"),
        ("netperf", "10^6bits/sec", "mops", "names no unit of TCP STREAM"),
        ("sockperf", "---> <MIN> observation", "---> percentile 25.000", "is not whole"),
        ("sockperf", "Summary: BandWidth is", "BandWidth", "within a result"),
        ("google-benchmark", "\"time_unit\": \"us\"", "\"time_unit\": \"h\"", "in no unit that is known (h)"),
        ("sc-membench", "120500.25", "much", "'much' is no amount"),
    ] {
        let text = each_output().find(|(name, _)| *name == format).unwrap().1;
        let error = with(format, text, &[(from, to)]).unwrap_err();
        assert!(error.what.contains(wanted), "{error}");
    }
}
