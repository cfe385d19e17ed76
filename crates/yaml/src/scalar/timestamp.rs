//! Dates and times, as YAML 1.1 has them.

use super::resolve::leading_digits;

/// Whether a plain scalar is a date, with or without a time.
pub(super) fn is_timestamp(text: &str) -> bool {
    // All begin with a year of four digits; nothing else gets the slower look.
    leading_digits(text.as_bytes()) == 4
        && text.as_bytes().get(4) == Some(&b'-')
        && Timestamp::parse(text).is_some()
}

/// A timestamp in the form of RFC 3339; `None` for what is not one.
// quirk(timestamps-gain-a-time): A date without quotes is a timestamp and goes through JSON, so that a time is added:
// `2024-01-02` becomes `"2024-01-02T00:00:00Z"`. (Go `time.Time.MarshalJSON`)
pub fn timestamp(text: &str) -> Option<String> {
    Timestamp::parse(text).map(|t| t.to_string())
}

struct Timestamp {
    date: [u32; 3],
    time: [u32; 3],
    nanoseconds: u32,
    /// Minutes east of Greenwich.
    offset: i32,
}

impl Timestamp {
    fn parse(text: &str) -> Option<Self> {
        let (year, rest) = text.split_at_checked(4)?;
        let year = year.bytes().all(|b| b.is_ascii_digit()).then(|| year.parse().ok())??;
        let (month, rest) = one_or_two_digits(rest.strip_prefix('-')?)?;
        let (day, rest) = one_or_two_digits(rest.strip_prefix('-')?)?;
        if !(1..=12).contains(&month) || day == 0 || day > days_in(month, year) {
            return None;
        }
        let date = [year, month, day];
        if rest.is_empty() {
            return Some(Self { date, time: [0; 3], nanoseconds: 0, offset: 0 });
        }
        let spaced = rest.starts_with(' ');
        let rest = if spaced { rest.trim_start_matches(' ') } else { rest.strip_prefix(['T', 't'])? };
        let (hour, rest) = one_or_two_digits(rest)?;
        let (minute, rest) = one_or_two_digits(rest.strip_prefix(':')?)?;
        let (second, mut rest) = one_or_two_digits(rest.strip_prefix(':')?)?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut nanoseconds = 0;
        if let Some(fraction) = rest.strip_prefix(['.', ','])
            && fraction.as_bytes().first().is_some_and(u8::is_ascii_digit)
        {
            let digits = leading_digits(fraction.as_bytes());
            nanoseconds = (0..9).fold(0, |n, i| {
                n * 10 + if i < digits { u32::from(fraction.as_bytes()[i] - b'0') } else { 0 }
            });
            rest = &fraction[digits..];
        }
        // With a space between date and time there is no zone.
        let offset = if spaced { rest.is_empty().then_some(0)? } else { zone(rest)? };
        Some(Self { date, time: [hour, minute, second], nanoseconds, offset })
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([year, month, day], [hour, minute, second]) = (self.date, self.time);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.nanoseconds > 0 {
            let fraction = format!("{:09}", self.nanoseconds);
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        match self.offset {
            0 => f.write_str("Z"),
            east => {
                let sign = if east < 0 { '-' } else { '+' };
                write!(f, "{sign}{:02}:{:02}", east.abs() / 60, east.abs() % 60)
            }
        }
    }
}

fn one_or_two_digits(text: &str) -> Option<(u32, &str)> {
    let digits = leading_digits(text.as_bytes()).min(2);
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok()?, rest))
}

/// `Z`, `+02:00`.
fn zone(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = text.as_bytes() else { return None };
    let digits = [*h1, *h2, *m1, *m2].map(|b| char::from(b).to_digit(10));
    let [Some(h1), Some(h2), Some(m1), Some(m2)] = digits else { return None };
    let (hours, minutes) = (h1 * 10 + h2, m1 * 10 + m2);
    if hours > 24 || minutes > 60 {
        return None;
    }
    let offset = (hours * 60 + minutes) as i32;
    Some(if *sign == b'-' { -offset } else { offset })
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
