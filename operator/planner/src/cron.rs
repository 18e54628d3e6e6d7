//! When does a schedule fire next, and is a window that it opened still open?
//!
//! Five fields in UTC, as the parser upstream uses reads them: names and ranges and steps, Sunday is 0 and 7 is an error, and
//! when day of month and day of week are both restricted either one is enough. No seconds, no `L`, no `#`, no time zones.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::str::FromStr;

/// A schedule as bit masks: bit n of a field is set when the value n fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Either day field is `*`: then both must match, otherwise one is enough.
    any_day: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schedule {text:?}: {what}; write five fields such as \"0 9 * * mon-fri\" or @daily")]
pub struct BadCron {
    pub text: String,
    pub what: String,
}

/// Is a window open now that the schedule opened at most `length` ago? A window is open from its start, not at its end.
pub fn window_open(schedule: &Cron, length: SignedDuration, now: Timestamp) -> bool {
    let since = now.checked_sub(length).unwrap_or(Timestamp::MIN);
    schedule
        .next_after(since)
        .is_some_and(|opened| opened <= now)
}

impl Cron {
    /// The first time after `after`, within five years.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let start = TimeZone::UTC.to_datetime(after);
        let mut date = start.date();
        for _ in 0..=5 * 366 {
            let first_minute = if date == start.date() {
                minute_of_day(start) + 1
            } else {
                0
            };
            if let Some(time) = self.first_on(date, first_minute) {
                return TimeZone::UTC.to_timestamp(time).ok();
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    fn first_on(&self, date: Date, first_minute: i64) -> Option<DateTime> {
        if !self.fires_on(date) {
            return None;
        }
        let minute = (first_minute..24 * 60)
            .find(|at| has(self.hours, at / 60) && has(self.minutes, at % 60))?;
        let (hour, minute) = (
            i8::try_from(minute / 60).ok()?,
            i8::try_from(minute % 60).ok()?,
        );
        Some(date.at(hour, minute, 0, 0))
    }

    fn fires_on(&self, date: Date) -> bool {
        let day = has(self.days, i64::from(date.day()));
        let weekday = has(
            self.weekdays,
            i64::from(date.weekday().to_sunday_zero_offset()),
        );
        let either = if self.any_day {
            day && weekday
        } else {
            day || weekday
        };
        has(self.months, i64::from(date.month())) && either
    }
}

fn minute_of_day(time: DateTime) -> i64 {
    i64::from(time.hour()) * 60 + i64::from(time.minute())
}

fn has(mask: u64, value: i64) -> bool {
    u32::try_from(value)
        .is_ok_and(|value| mask.checked_shr(value).is_some_and(|rest| rest & 1 == 1))
}

impl FromStr for Cron {
    type Err = BadCron;

    fn from_str(text: &str) -> Result<Self, BadCron> {
        let bad = |what: String| BadCron {
            text: text.chars().take(100).collect(),
            what,
        };
        let spelt_out = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other if other.starts_with('@') => return Err(bad(format!("{other} is not known"))),
            other => other,
        };
        let fields: Vec<&str> = spelt_out.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            return Err(bad(format!("it has {} fields, not 5", fields.len())));
        };
        let read = |range: &Range, field| range.read(field).map_err(&bad);
        let (days, any_day) = read(&DAY, days)?;
        let (weekdays, any_weekday) = read(&WEEKDAY, weekdays)?;
        Ok(Self {
            minutes: read(&MINUTE, minutes)?.0,
            hours: read(&HOUR, hours)?.0,
            days,
            months: read(&MONTH, months)?.0,
            weekdays,
            any_day: any_day || any_weekday,
        })
    }
}

const MINUTE: Range = Range {
    name: "minute",
    first: 0,
    last: 59,
    names: &[],
};
const HOUR: Range = Range {
    name: "hour",
    first: 0,
    last: 23,
    names: &[],
};
const DAY: Range = Range {
    name: "day",
    first: 1,
    last: 31,
    names: &[],
};
const MONTH: Range = Range {
    name: "month",
    first: 1,
    last: 12,
    names: &MONTHS,
};
const WEEKDAY: Range = Range {
    name: "weekday",
    first: 0,
    last: 6,
    names: &WEEKDAYS,
};
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The values one field can have.
struct Range {
    name: &'static str,
    first: u32,
    last: u32,
    names: &'static [&'static str],
}

impl Range {
    /// The mask of a field, and whether it is a plain `*` (or has one in its list).
    fn read(&self, field: &str) -> Result<(u64, bool), String> {
        let (mut mask, mut star) = (0, false);
        for part in field.split(',') {
            let (bits, plain) = self.read_part(part)?;
            mask |= bits;
            star |= plain;
        }
        Ok((mask, star))
    }

    /// `*`, `n`, `a-b`, each with an optional `/step`; `n/step` runs to the end.
    fn read_part(&self, part: &str) -> Result<(u64, bool), String> {
        let (range, step) = part
            .split_once('/')
            .map_or((part, None), |(range, step)| (range, Some(step)));
        let step_width = step.map_or(Ok(1), |step| self.number(step))?;
        if step_width == 0 {
            return Err(format!("{part:?} has a step of 0"));
        }
        let any = matches!(range, "*" | "?");
        let (first, last) = match range.split_once('-') {
            _ if any => (self.first, self.last),
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None if step.is_some() => (self.value(range)?, self.last),
            None => (self.value(range)?, self.value(range)?),
        };
        if first > last {
            return Err(format!("{part:?} ends before it begins"));
        }
        let mask = (first..=last)
            .step_by(step_width as usize)
            .fold(0, |mask, value| mask | 1 << value);
        Ok((mask, any && step_width == 1))
    }

    fn value(&self, text: &str) -> Result<u32, String> {
        let lower = text.to_lowercase();
        let value = match self.names.iter().position(|name| *name == lower) {
            Some(at) => self.first + u32::try_from(at).unwrap_or(0),
            None => self.number(text)?,
        };
        if value < self.first || value > self.last {
            return Err(format!(
                "{} {value} is not in {}-{}",
                self.name, self.first, self.last
            ));
        }
        Ok(value)
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let number = if digits { text.parse().ok() } else { None };
        number.ok_or_else(|| format!("{text:?} is no {}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[rstest]
    #[case("* * * * *", "2026-01-01T00:01:00Z")]
    #[case("*/15 * * * *", "2026-01-01T00:15:00Z")]
    #[case("0 9 * * 1-5", "2026-01-01T09:00:00Z")]
    #[case("0 9 * * mon-fri", "2026-01-01T09:00:00Z")]
    #[case("0 0 * * 0", "2026-01-04T00:00:00Z")]
    #[case("0 0 * * SUN", "2026-01-04T00:00:00Z")]
    #[case("0 0 13 * 5", "2026-01-02T00:00:00Z")]
    #[case("0 0 */2 * 1", "2026-01-03T00:00:00Z")]
    #[case("0 0 13 * *", "2026-01-13T00:00:00Z")]
    #[case("0 0 29 2 *", "2028-02-29T00:00:00Z")]
    #[case("0 0 1 feb,jul *", "2026-02-01T00:00:00Z")]
    #[case("30 8-18/5 * * *", "2026-01-01T08:30:00Z")]
    #[case("5/20 0 * * *", "2026-01-01T00:05:00Z")]
    #[case("0 0 ? * *", "2026-01-02T00:00:00Z")]
    #[case("@midnight", "2026-01-02T00:00:00Z")]
    #[case("@daily", "2026-01-02T00:00:00Z")]
    #[case("@hourly", "2026-01-01T01:00:00Z")]
    #[case("@weekly", "2026-01-04T00:00:00Z")]
    #[case("@monthly", "2026-02-01T00:00:00Z")]
    #[case("@yearly", "2027-01-01T00:00:00Z")]
    #[case("@annually", "2027-01-01T00:00:00Z")]
    fn a_schedule_fires_when_upstream_does(#[case] text: &str, #[case] next: &str) {
        let cron: Cron = text.parse().unwrap();
        assert_eq!(cron.next_after(at("2026-01-01T00:00:00Z")), Some(at(next)));
    }

    #[rstest]
    #[case("0 0 * * 7")]
    #[case("0 0 L * *")]
    #[case("0 0 * * 5#2")]
    #[case("0 0 0 * * *")]
    #[case("0 0 * *")]
    #[case("60 * * * *")]
    #[case("* 24 * * *")]
    #[case("* * 0 * *")]
    #[case("* * * 13 *")]
    #[case("5-1 * * * *")]
    #[case("*/0 * * * *")]
    #[case("1-2-3 * * * *")]
    #[case("-1 * * * *")]
    #[case("@every 1h")]
    #[case("TZ=UTC 0 0 * * *")]
    #[case("@never")]
    #[case("")]
    fn what_upstream_or_its_schema_refuses_is_refused_with_an_example(#[case] text: &str) {
        let error = text.parse::<Cron>().unwrap_err();
        assert!(error.to_string().ends_with("or @daily"), "{error}");
    }

    #[test]
    fn a_date_that_never_comes_never_fires() {
        let cron: Cron = "0 0 30 2 *".parse().unwrap();
        assert_eq!(cron.next_after(at("2026-01-01T00:00:00Z")), None);
    }

    #[rstest]
    #[case("2026-01-01T08:59:59Z", false)]
    #[case("2026-01-01T09:00:00Z", true)]
    #[case("2026-01-01T16:59:59Z", true)]
    #[case("2026-01-01T17:00:00Z", false)]
    fn a_window_is_open_from_its_start_to_just_before_its_end(
        #[case] now: &str,
        #[case] open: bool,
    ) {
        let cron: Cron = "0 9 * * *".parse().unwrap();
        assert_eq!(
            window_open(&cron, SignedDuration::from_hours(8), at(now)),
            open
        );
    }

    proptest! {
        #[test]
        fn the_next_time_is_later_and_on_a_whole_minute(second in 0_i64..2_000_000_000, minute in 0..60, hour in 0..24) {
            let cron: Cron = format!("{minute} {hour} * * *").parse().unwrap();
            let now = Timestamp::from_second(second).unwrap();
            let next = cron.next_after(now).unwrap();
            prop_assert!(next > now && next.as_second() % 60 == 0);
            prop_assert!(next.duration_since(now) <= SignedDuration::from_hours(24));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[-0-9*/,a-zA-Z@ ?#]{0,40}") {
            let _ = text.parse::<Cron>().map(|cron| cron.next_after(Timestamp::UNIX_EPOCH));
        }
    }
}
