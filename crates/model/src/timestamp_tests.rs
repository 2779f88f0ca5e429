//! Moments that files write, and texts that only look like some.

use std::time::Duration;

use super::*;

/// Parses and prints it again, with the fraction.
fn read(text: &str) -> Option<(String, u32)> {
    Timestamp::parse(text).map(|time| (time.to_string(), time.nanoseconds()))
}

#[test]
fn moments_are_read_with_offsets_and_fractions() {
    for (text, wanted, ns) in [
        ("2026-11-21T06:15:00Z", "2026-11-21T06:15:00Z", 0),
        ("2026-11-21t06:15:00z", "2026-11-21T06:15:00Z", 0),
        ("2026-11-21 06:15:00Z", "2026-11-21T06:15:00Z", 0),
        ("2026-11-21T06:15:00.5Z", "2026-11-21T06:15:00Z", 500_000_000),
        ("2026-11-21T06:15:00.1234567899Z", "2026-11-21T06:15:00Z", 123_456_789),
        ("2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00Z", 0),
        ("2027-01-01T05:29:00.25+05:30", "2026-12-31T23:59:00Z", 250_000_000),
        ("2026-11-21T06:15:00-00:00", "2026-11-21T06:15:00Z", 0),
        ("2026-11-21T06:15:00+23:59", "2026-11-20T06:16:00Z", 0),
        ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z", 0),
        ("2000-02-29T12:00:00Z", "2000-02-29T12:00:00Z", 0),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z", 0),
        ("1969-12-31T23:59:59.75Z", "1969-12-31T23:59:59Z", 750_000_000),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", 0),
        ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z", 0),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59Z", 999_999_999),
    ] {
        assert_eq!(read(text), Some((wanted.to_owned(), ns)), "{text}");
    }
}

#[test]
fn what_is_no_moment_is_none() {
    for text in [
        "",
        "Z",
        "2026",
        "2026-11-21",
        "2026-11-21T06:15:00",
        "2026-11-21T06:15Z",
        "2026-11-21T06:15:00Zz",
        "2026-11-21T06:15:00Z ",
        " 2026-11-21T06:15:00Z",
        "2026-11-21_06:15:00Z",
        "2026-11-21T06:15:00.Z",
        "2026-11-21T06:15:00,5Z",
        "2026-11-21T06:15:00.5",
        "2026-11-21T06:15:00+",
        "2026-11-21T06:15:00+1:00",
        "2026-11-21T06:15:00+0100",
        "2026-11-21T06:15:00+24:00",
        "2026-11-21T06:15:00-01:60",
        "2026-11-21T24:00:00Z",
        "2026-11-21T06:60:00Z",
        "2026-11-21T06:15:61Z",
        "2026-00-21T06:15:00Z",
        "2026-13-21T06:15:00Z",
        "2026-11-00T06:15:00Z",
        "2026-11-31T06:15:00Z",
        "2026-02-29T06:15:00Z",
        "1900-02-29T06:15:00Z",
        "-026-11-21T06:15:00Z",
        "+2026-11-21T06:15:00Z",
        "12026-11-21T06:15:00Z",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "२०२६-11-21T06:15:00Z",
        "2026-11-21T06:15:00é",
        "\0\0\0\0-11-21T06:15:00Z",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    let whole = "2026-11-21T06:15:00.25+05:30";
    for end in 0..whole.len() {
        assert_eq!(read(&whole[..end]), None, "{end}");
    }
}

#[test]
fn every_day_of_ten_thousand_years_reads_back() {
    let mut expected = [0, 1, 1];
    for day in days(0, 1, 1)..days(10_000, 1, 1) {
        let time = Timestamp::from_seconds(day * DAY_S + 86_399).unwrap();
        assert_eq!(time.civil(), expected);
        let [year, month, of_month] = &mut expected;
        let is_leap = *year % 4 == 0 && (*year % 100 != 0 || *year % 400 == 0);
        let length = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][*month as usize - 1];
        *of_month += 1;
        if *of_month > length {
            (*month, *of_month) = (*month + 1, 1);
        }
        if *month > 12 {
            (*year, *month) = (*year + 1, 1);
        }
    }
    assert_eq!(expected, [10_000, 1, 1]);
    for text in ["0000-12-31T23:59:59Z", "1999-12-31T00:00:01Z", "9999-12-31T23:59:59Z"] {
        assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn moments_are_in_order_and_apart_by_what_lies_between() {
    let time = |text: &str| Timestamp::parse(text).unwrap();
    let (early, late) = (time("2026-12-31T23:59:59.5Z"), time("2027-01-01T00:00:01.25Z"));
    assert!(early < late && late < time("2027-01-01T00:00:01.5Z"));
    assert_eq!((late.since(early), early.since(late)), (1.75, -1.75));
    assert_eq!(time("2024-03-01T01:02:03Z").days_before(1), Some(time("2024-02-29T01:02:03Z")));
    assert_eq!((early.days_before(1_000_000), early.days_before(i64::MAX)), (None, None));
    assert_eq!((late.seconds(), late.nanoseconds()), (1_798_761_601, 250_000_000));
}

#[test]
fn seconds_outside_of_the_calendar_are_none() {
    let text = |seconds| Timestamp::from_seconds(seconds).map(|time| time.to_string());
    assert_eq!(text(0).as_deref(), Some("1970-01-01T00:00:00Z"));
    assert_eq!(text(253_402_300_799).as_deref(), Some("9999-12-31T23:59:59Z"));
    assert_eq!(text(-62_167_219_200).as_deref(), Some("0000-01-01T00:00:00Z"));
    for seconds in [253_402_300_800, -62_167_219_201, i64::MAX, i64::MIN] {
        assert_eq!(text(seconds), None, "{seconds}");
    }
}

#[test]
fn the_systems_time_is_one_and_date_prints_it() {
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_795_241_700, 7);
    let time = Timestamp::from(time);
    assert_eq!((time.to_string().as_str(), time.nanoseconds()), ("2026-11-21T06:15:00Z", 7));
    assert_eq!(time.date(), "Sat Nov 21 06:15:00 UTC 2026");
    assert_eq!(Timestamp::default().date(), "Thu Jan  1 00:00:00 UTC 1970");
}
