//! That reasons are told in Chinese whole, in parts and within one another, and that no text does harm.

use proptest::prelude::*;

use super::errors::within;
use super::recognised::in_chinese;
use super::template::literal_bytes;
use super::*;

fn zh(reason: &str) -> String {
    localized(reason, Lang::Zh)
}

#[test]
fn a_reason_is_reported_with_its_values() {
    let reasons = [
        ("needs root", "需要 root 权限"),
        ("needs 4 CPUs, and may use 2 here", "需要 4 个 CPU，这里只能使用 2 个"),
        (
            "the kernel has not loaded bbr, only cubic: modprobe tcp_bbr",
            "内核未加载 bbr，只有 cubic：请执行 modprobe tcp_bbr",
        ),
        ("found 3 primes below 100, not 25", "在 100 以下找到 3 个素数，而不是 25 个"),
        (
            "2 of 100 datagrams came to the far end: look for a packet filter or a full queue on the way",
            "100 个数据报中有 2 个到达远端：请检查途中是否有包过滤或队列已满",
        ),
    ];
    for (en, wanted) in reasons {
        assert_eq!(zh(en), wanted);
        assert_eq!(localized(en, Lang::En), en);
    }
}

#[test]
fn what_an_error_says_is_reported_within_its_reason() {
    let reasons = [
        ("open: Permission denied (os error 13)", "open：EACCES (13)；请检查权限，或以 root 运行"),
        (
            "cannot bind to CPU 3: sched_setaffinity: it is offline, or not in the cpuset of this process",
            "无法绑定到 CPU 3：sched_setaffinity：它已离线，或不在本进程的 cpuset 中",
        ),
        (
            "2 of 7 rounds: CPU 1 was taken from this run after 3 s: it went offline, or left the cpuset of this process",
            "7 轮中有 2 轮：运行 3 s 后，CPU 1 不再可用：它已离线，或被移出本进程的 cpuset",
        ),
        (
            "/dev/null cannot be opened: No such file or directory (os error 2); make it by: mknod -m 666 /dev/null c 1 3",
            "无法打开 /dev/null：ENOENT (2)；请创建它：mknod -m 666 /dev/null c 1 3",
        ),
        ("a copy on CPU 3 failed: the worker was ended by signal 9", "CPU 3 上的副本失败：工作进程被信号 9 终止"),
        (
            "there is no tmpfs to write to: the scratch directory lies on a device; needs root",
            "没有可写的 tmpfs：临时目录位于块设备上；需要 root 权限",
        ),
        ("the far end is gone: connection reset (needs root)", "远端已断开：对端重置了连接（需要 root 权限）"),
        (
            "needs 64 MiB of memory; the machine can spare 32 MiB, of which at most half is filled by 4 copies",
            "需要 64 MiB 内存；整机还能提供 32 MiB，4 个副本合计最多写满其中一半",
        ),
        ("make ended with status 2: make: *** No rule", "make 以状态 2 退出：make: *** No rule"),
    ];
    for (en, wanted) in reasons {
        assert_eq!(zh(en), wanted);
    }
}

#[test]
fn an_error_of_the_system_has_its_name_and_number_and_no_words_but_what_helps() {
    for number in (1..=133).filter(|number| ![41, 58].contains(number)) {
        let error = std::io::Error::from_raw_os_error(number).to_string();
        for (before, before_zh) in [("", ""), ("open: ", "open：")] {
            let text = zh(&format!("{before}{error}"));
            let rest = text.strip_prefix(before_zh).unwrap();
            let (named, remedy) = rest.split_once('；').map_or((rest, None), |(named, rest)| (named, Some(rest)));
            let name = named.strip_suffix(&format!(" ({number})")).unwrap_or_default();
            assert!(name.starts_with('E') && name.chars().all(|c| c.is_ascii_alphanumeric()), "{text}");
            assert_eq!(remedy, errors::remedy(&error), "{text}");
        }
        // A sentence says itself what helps.
        let named = zh(&error).split('；').next().unwrap_or_default().to_owned();
        assert_eq!(
            within(&format!("无法读取 a（{error}）；请换一个文件")),
            format!("无法读取 a（{named}）；请换一个文件")
        );
    }
    // These two numbers are nobody's.
    for number in [41, 58] {
        let error = std::io::Error::from_raw_os_error(number).to_string();
        assert_eq!(zh(&error), error);
    }
}

#[test]
fn an_unknown_reason_stays_as_it_is() {
    for reason in
        ["", " ", ":", ": ", "; ; ", "nobody knows this", "（已是中文）", "()", " (", "a (os error 13", "\u{1f980}: x"]
    {
        assert_eq!(in_chinese(reason), None, "{reason}");
        assert_eq!(localized(reason, Lang::Zh), reason);
    }
    assert_eq!(in_chinese(&"needs root: ".repeat(1000)), None);
    assert_eq!(zh("Strange error (os error 99999)"), "Strange error (os error 99999)");
}

#[test]
fn a_reason_is_known_where_no_word_of_it_falls_into_a_hole() {
    assert!(is_known("needs 7 CPUs, and may use 7 here", "7"));
    assert!(is_known("cannot be started: 7", "7"));
    assert!(!is_known("cannot be started: it is late", "7"));
    assert!(!is_known("the worker dances", "7"));
}

#[test]
fn every_template_is_sound() {
    for (en, zh) in table::all() {
        let count = en.matches("{}").count();
        let all_named = (0..count).all(|place| zh.contains(&format!("{{{place}}}")));
        assert!(all_named && zh.matches('{').count() == count, "{en}: {zh}");
        assert_ne!(en, zh.replace("{0}", "{}"));
        assert!(literal_bytes(en) > count, "{en}");
        let times = table::all().filter(|(other, _)| *other == en).count();
        assert_eq!(times, 1, "{en}");
    }
}

proptest! {
    #[test]
    fn no_text_does_harm(text in "\\PC{0,80}", cut in 0_usize..400) {
        let _ = localized(&text, Lang::Zh);
        for (en, _) in table::all().skip(cut).take(3) {
            let made = en.replace("{}", &text);
            let _ = localized(&made, Lang::Zh);
            let half: String = made.chars().take(cut).collect();
            let _ = localized(&half, Lang::Zh);
        }
    }
}

#[test]
fn errors_of_the_system_are_named_within_a_chinese_sentence() {
    let denied = std::io::Error::from_raw_os_error(13);
    let text = format!("无法写入 a（{denied}），也无法写入 b（{denied}）");
    assert_eq!(within(&text), "无法写入 a（EACCES (13)），也无法写入 b（EACCES (13)）");
    for odd in ["", " (os error ", "é (os error 13)", "x (os error 99999)", "y (os error )", " (os error é)"] {
        assert_eq!(within(odd), odd);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it is the reader's time that is looked at, and nothing is measured")]
fn a_reason_made_to_be_taken_apart_takes_no_time() {
    let begun = std::time::Instant::now();
    for part in ["a: ", "; ", "no permission: ", " (", "is not there: ", ": ", "needs 2 CPUs: "] {
        let mut reason = part.repeat(4096 / part.len());
        reason += &")".repeat(4096 - reason.len());
        let _ = in_chinese(&reason);
    }
    assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
}
