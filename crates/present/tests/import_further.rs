//! What network tools, UnixBench, sc-membench, hyperfine, google-benchmark, PerfKitBenchmarker and the Phoronix Test Suite wrote:
//! every value in its base unit.

use hostmark_model::{Better, Outcome, Run};
use hostmark_present::RenderOptions;
use hostmark_present::export;

use crate::import::{check, each_output, measured, read, with};

fn text_of(format: &str) -> &'static str {
    each_output().find(|(name, _)| *name == format).unwrap().1
}

fn ids(run: &Run) -> Vec<&str> {
    run.cases.iter().map(|case| case.id.as_str()).collect()
}

#[test]
fn samples_of_perfkit_are_one_case_where_they_were_set_up_alike() {
    let text = text_of("perfkit");
    let run = read("perfkit", text).unwrap();
    let iperf = |threads: u32, machine: &str| {
        let setup = format!("ip_type-internal+sending_thread_count-{threads}");
        format!("perfkit.rate@test=iperf,metric=throughput,unit=mbits-sec,setup={setup},machine={machine}")
    };
    let fio = |program: &str, metric: &str, unit: &str| {
        let setup = "blocksize-4k+direct-1+iodepth-64";
        format!("perfkit.{program}@test=fio,metric=rand-read-{metric},unit={unit},setup={setup},machine=only")
    };
    let (one, other) = (iperf(1, "only"), iperf(8, "only"));
    check(
        &run,
        &[
            (&one, 575e6),
            (&other, 1_137.5e6),
            (&fio("rate", "bandwidth", "kb-s"), 2048.0 * 1024.0),
            (&fio("operations", "iops", "none"), 512.5),
            (
                "perfkit.per_second@test=stream,metric=copy,unit=mb-s,setup=sizes--1--2-+threads-4,machine=only",
                31_000.5,
            ),
            (
                "perfkit.number@test=coremark,metric=coremark-score,unit=none,setup=thread_count-2,machine=only",
                27_031.5,
            ),
            ("perfkit.time@test=iperf,metric=end-to-end-runtime,unit=seconds,setup=none,machine=only", 472.5e9),
        ],
    );
    // What iperf measured beside is no other setup; facts of a machine and dates are no case.
    assert_eq!((measured(&run, &one).estimate.n, run.cases.len()), (2, 7));
    assert_eq!(
        (run.host.cpu.model.as_deref(), run.host.kernel.release.as_str()),
        (Some("Example CPU 9000"), "6.1.0-9")
    );
    assert_eq!(run.started, "2026-03-02T09:20:30Z");
    let better = |id: &str| run.probes.iter().find(|probe| probe.id == id).unwrap().better;
    assert_eq!((better("perfkit.per_second"), better("perfkit.number")), (Better::Higher, Better::Neither));
    // As elements of a list they are the same; several runs in one file are samples.
    let list = format!("[{}]", text.trim_end().replace("}\n{", "},\n{"));
    assert_eq!(ids(&read("perfkit", list).unwrap()), ids(&run));
    let twice = read("perfkit", format!("{text}{text}")).unwrap();
    assert_eq!((ids(&twice), measured(&twice, &one).estimate.n), (ids(&run), 4));
    // Runs of several machines in one file are no samples of one case.
    let larger = text.replace("m.large", "m.2xlarge");
    let both = read("perfkit", format!("{text}{larger}")).unwrap();
    let machine = |name: &str| iperf(1, &format!("vm_1_machine_type-{name}"));
    assert_eq!(measured(&both, &machine("m.large")).estimate.n, 2);
    assert_eq!(measured(&both, &machine("m.2xlarge")).estimate.n, 2);
    // What nobody knows to be a result is taken for a setting.
    let other = with("perfkit", text, &[("|thread_count:2|", "|novel_option:9|,|thread_count:2|")]).unwrap();
    assert!(ids(&other).iter().any(|id| id.contains("setup=novel_option-9+thread_count-2,")), "{:#?}", ids(&other));
}

#[test]
fn results_of_phoronix_are_known_by_all_that_their_tests_were_reported() {
    let text = text_of("phoronix");
    let run = read("phoronix", text).unwrap();
    let at = |program: &str, rest: &str| format!("phoronix.{program}@system=only,{rest}");
    let zstd = at(
        "more",
        "test=pts-compress-zstd-1.6.0,version=1.5.4,options=compression-level--19--long-mode---compression-speed,\
         arguments=-b19---long,unit=mb-s",
    );
    let botan = at("rate", "test=pts-botan-1.6.0,version=2.17.3,options=test--aes-256,arguments=aes-256,unit=mib-s");
    check(
        &run,
        &[
            (&zstd, 2.05),
            (&botan, 1247.5 * 1_048_576.0),
            (
                &at(
                    "time",
                    "test=pts-build-linux-kernel-1.15.0,version=6.1,options=build--defconfig,arguments=defconfig,unit=seconds",
                ),
                101.5e9,
            ),
            (&at("less", "test=botan,version=unknown,options=test-install-size,arguments=none,unit=bytes"), 100_840.0),
            (&at("more", "test=battery,version=1,options=none,arguments=none,unit=minutes"), 312.0),
        ],
    );
    let zstd = measured(&run, &zstd);
    assert_eq!((zstd.estimate.n, zstd.notes["compiler"].as_str()), (3, "gcc -O3 -pthread"));
    assert_eq!((zstd.notes["environment"].as_str(), zstd.notes["system"].as_str()), ("CFLAGS=-O3", "Stock"));
    let failed = |case: &&hostmark_model::CaseRecord| matches!(case.outcome, Outcome::Failed { .. });
    assert_eq!((run.cases.len(), run.cases.iter().filter(failed).count()), (6, 1));
    let better = |id: &str| run.probes.iter().find(|probe| probe.id == id).unwrap().better;
    assert_eq!((better("phoronix.more"), better("phoronix.less")), (Better::Higher, Better::Lower));
    assert_eq!(run.host.cpu.model.as_deref(), Some("2 x Example CPU 9000 @ 2.60GHz (12 Cores / 24 Threads)"));
    assert_eq!((run.host.kernel.release.as_str(), run.host.cpu.architecture.as_str()), ("6.1.0-9-amd64", "x86_64"));
    // A value that is no mean of the runs is what the suite made of them, and stands alone.
    let best = with("phoronix", text, &[("<Value>101.5<", "<Value>99<")]).unwrap();
    let time = best.cases.iter().find(|case| case.probe == "phoronix.time").unwrap();
    assert_eq!(time.measured().unwrap().samples[0], [99e9]);
}

#[test]
fn several_systems_of_phoronix_are_never_samples_of_one_case() {
    let entry = "</Entry>\n      <Entry><Identifier>Tuned</Identifier><Value>90</Value></Entry>\n    </Data>";
    let text = text_of("phoronix").replacen("</Entry>\n    </Data>", entry, 2);
    let run = read("phoronix", text).unwrap();
    let kernel = |system: &str| {
        format!(
            "phoronix.time@system={system},test=pts-build-linux-kernel-1.15.0,version=6.1,options=build--defconfig,\
             arguments=defconfig,unit=seconds"
        )
    };
    check(&run, &[(&kernel("stock"), 101.5e9), (&kernel("tuned"), 90e9)]);
    assert!(run.host.cpu.model.is_none(), "whose would it be?");
}

#[test]
fn what_is_exported_for_viewers_of_phoronix_is_read_again() {
    let stream = read("stream", text_of("stream")).unwrap();
    let xml = export::format_named("openbenchmarking").unwrap().render_one(&stream, &RenderOptions::default());
    let again = read("phoronix", xml).unwrap();
    let rates = |run: &Run, program: &str| {
        let of = run.cases.iter().filter(|case| case.probe == program);
        let mut rates: Vec<f64> = of.filter_map(|case| Some(case.measured()?.estimate.typical)).collect();
        rates.sort_by(f64::total_cmp);
        rates
    };
    let (one, other) = (rates(&stream, "stream.best_rate"), rates(&again, "phoronix.rate"));
    assert_eq!(one.len(), other.len(), "{:#?}", ids(&again));
    // It has six digits.
    assert!(one.iter().zip(&other).all(|(one, other)| (one / other - 1.0).abs() < 1e-5), "{one:?} {other:?}");
}

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
        ("perfkit", "\"value\": 512.5", "\"value\": -1", "-1 is no amount"),
        ("perfkit", "\"metric\": \"Copy\"", "\"name\": \"Copy\"", "missing field `metric`"),
        ("phoronix", "<Value>1247.5<", "<Value>1247,5<", "'1247,5' is no amount"),
        ("phoronix", "</Data>", "</Date>", "give composite.xml"),
        ("phoronix", "a fixture &amp;", "a fixture &much;", "an entity that XML does not have"),
        ("phoronix", "<!--", "<!DOCTYPE a [<!ENTITY b \"c\">]><!--", "declares a document type"),
    ] {
        let text = each_output().find(|(name, _)| *name == format).unwrap().1;
        let error = with(format, text, &[(from, to)]).unwrap_err();
        assert!(error.what.contains(wanted), "{error}");
    }
}
