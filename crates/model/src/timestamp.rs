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
#[path = "timestamp_tests.rs"]
mod tests;
