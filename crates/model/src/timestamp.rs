//! Moments as run files write them (RFC 3339), between the years 0 and 9999.

use std::fmt;
use std::time::SystemTime;

const DAY_S: i64 = 86_400;
const NS_OF_SECOND: u32 = 1_000_000_000;
/// Month names as `date` and lmbench's files abbreviate them.
pub const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// A moment in UTC. It is shown in RFC 3339 with whole seconds; the default is 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
}

impl Timestamp {
    /// The moment so many seconds after 1970 began; none that needs a year of more than four digits.
    pub fn from_seconds(seconds: i64) -> Option<Timestamp> {
        Timestamp::new(seconds, 0)
    }

    fn new(seconds: i64, nanoseconds: u32) -> Option<Timestamp> {
        let known = days(0, 1, 1) * DAY_S..days(10_000, 1, 1) * DAY_S;
        known.contains(&seconds).then_some(Timestamp { seconds, nanoseconds })
    }

    /// Reads RFC 3339, with an offset from UTC or without. A leap second is the one before it; what is smaller than a nanosecond is cut off.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let rest = &mut text.as_bytes();
        let year = number(rest, 4)?;
        let month = number(after(rest, b"-")?, 2)?;
        let day = number(after(rest, b"-")?, 2)?;
        let hour = number(after(rest, b"Tt ")?, 2)?;
        let minute = number(after(rest, b":")?, 2)?;
        let second = number(after(rest, b":")?, 2)?;
        let nanoseconds = if rest.starts_with(b".") { fraction(after(rest, b".")?)? } else { 0 };
        let offset_s = match *rest.first()? {
            b'Z' | b'z' => after(rest, b"Zz").map(|_| 0)?,
            sign => {
                let sign = if sign == b'-' { -1 } else { 1 };
                let hours = number(after(rest, b"+-")?, 2).filter(|hours| *hours < 24)?;
                let minutes = number(after(rest, b":")?, 2).filter(|minutes| *minutes < 60)?;
                sign * (hours * 60 + minutes) * 60
            }
        };
        let is_date = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
        let is_time = hour < 24 && minute < 60 && second <= 60;
        let seconds = days(year, month, day) * DAY_S + (hour * 60 + minute) * 60 + second.min(59);
        (is_date && is_time && rest.is_empty()).then(|| Timestamp::new(seconds - offset_s, nanoseconds))?
    }

    /// Whole seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// The part of a second behind them, ns.
    pub fn nanoseconds(self) -> u32 {
        self.nanoseconds
    }

    /// Seconds from another moment to this one; below 0 where the other is later.
    pub fn since(self, earlier: Timestamp) -> f64 {
        (self.seconds - earlier.seconds) as f64 + (f64::from(self.nanoseconds) - f64::from(earlier.nanoseconds)) / 1e9
    }

    /// The moment so much later; this one where no such has four digits of a year.
    pub fn after(self, elapsed: std::time::Duration) -> Timestamp {
        let nanoseconds = self.nanoseconds + elapsed.subsec_nanos();
        let seconds =
            i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX).saturating_add(i64::from(nanoseconds / NS_OF_SECOND));
        let later = Timestamp::new(self.seconds.saturating_add(seconds), nanoseconds % NS_OF_SECOND);
        later.unwrap_or(self)
    }

    /// Returns the time so many days before; `None` before the year 0.
    pub fn days_before(self, days: i64) -> Option<Timestamp> {
        Timestamp::new(self.seconds.checked_sub(days.checked_mul(DAY_S)?)?, self.nanoseconds)
    }

    /// Formats as `date` prints it: `Sat Nov 21 06:15:00 UTC 2026`.
    pub fn date(self) -> String {
        let [year, month, day] = self.civil();
        let weekday = WEEKDAYS[(self.seconds.div_euclid(DAY_S) + 4).rem_euclid(7) as usize];
        format!("{weekday} {} {day:2} {} UTC {year}", MONTHS[month as usize - 1], self.clock())
    }

    /// The time of day: `06:15:00`.
    fn clock(self) -> String {
        let second = self.seconds.rem_euclid(DAY_S);
        format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
    }

    fn civil(self) -> [i64; 3] {
        let day = self.seconds.div_euclid(DAY_S);
        // 146 097 days are 400 years; this is at most one off.
        let year = 1970 + (day * 400).div_euclid(146_097);
        let year = (year - 1..=year + 1).rev().find(|year| days(*year, 1, 1) <= day).unwrap_or(year);
        let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day).unwrap_or(1);
        [year, month, day - days(year, month, 1) + 1]
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).ok();
        seconds.and_then(|seconds| Timestamp::new(seconds, since.subsec_nanos())).unwrap_or_default()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, month, day] = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}T{}Z", self.clock())
    }
}

/// Days from 1970-01-01 to this one. Years are counted from March, so that a leap day ends them.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 719_469
}

fn days_of(year: i64, month: i64) -> i64 {
    days(year, month + 1, 1) - days(year, month, 1)
}

/// Takes one of these bytes from the front.
fn after<'a, 'b>(rest: &'a mut &'b [u8], bytes: &[u8]) -> Option<&'a mut &'b [u8]> {
    let (_, behind) = rest.split_first().filter(|(first, _)| bytes.contains(first))?;
    *rest = behind;
    Some(rest)
}

/// Takes so many digits from the front.
fn number(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (digits, behind) = rest.split_at_checked(count)?;
    *rest = behind;
    let add = |number: i64, digit: &u8| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'));
    digits.iter().try_fold(0, add)
}

/// Takes all digits from the front, as a decimal fraction of a second, ns.
fn fraction(rest: &mut &[u8]) -> Option<u32> {
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, behind) = rest.split_at_checked(count).filter(|_| count > 0)?;
    *rest = behind;
    Some((0..9).fold(0, |ns, place| ns * 10 + digits.get(place).map_or(0, |digit| u32::from(digit - b'0'))))
}

#[cfg(test)]
mod tests {
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
            let length =
                [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][*month as usize - 1];
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
}
