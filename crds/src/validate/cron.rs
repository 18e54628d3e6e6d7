//! Would Karpenter understand this budget schedule, and does its moment ever come?
//!
//! Upstream puts `TZ=UTC ` before the text and gives it to robfig's standard parser; the CRD's pattern is anchored on one
//! side only, so `@dailyish` or `61 * * * *` passes the API server and fails there, at run time. This is that parser as a
//! yes or no. What follows from the two together:
//! - five fields or one of the seven named schedules; names of months and days in any case, `*` or `?`, lists, ranges, steps;
//! - no seconds, no `7` for Sunday, no `L`, `W`, `#`;
//! - no `TZ=` or `CRON_TZ=`: behind upstream's own `TZ=UTC ` it would be a sixth field. Schedules are always in UTC;
//! - no `@every`: the pattern refuses it, except with four or more blanks around it. We refuse it always, an interval
//!   has no moment at which a budget could begin.

/// What five fields ask for, as bit sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days_of_month: u64,
    months: u64,
    days_of_week: u64,
    /// Neither day field is `*`, so either of them may match.
    either_day: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCron {
    #[error("@{0} is not a named schedule")]
    Name(String),
    #[error("a time zone cannot be given, schedules are in UTC")]
    TimeZone,
    #[error("{0} fields found where 5 belong")]
    Fields(usize),
    #[error("{part:?} is no {field}")]
    Part { field: &'static str, part: String },
    #[error("{part:?} lies outside the {field}s {min} to {max}")]
    Range {
        field: &'static str,
        part: String,
        min: u32,
        max: u32,
    },
    #[error("{part:?} has a step of zero")]
    Step { part: String },
}

struct Bounds {
    field: &'static str,
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MINUTE: Bounds = Bounds {
    field: "minute",
    min: 0,
    max: 59,
    names: &[],
};
const HOUR: Bounds = Bounds {
    field: "hour",
    min: 0,
    max: 23,
    names: &[],
};
const DAY_OF_MONTH: Bounds = Bounds {
    field: "day of month",
    min: 1,
    max: 31,
    names: &[],
};
const MONTH: Bounds = Bounds {
    field: "month",
    min: 1,
    max: 12,
    names: &MONTHS,
};
const DAY_OF_WEEK: Bounds = Bounds {
    field: "day of week",
    min: 0,
    max: 6,
    names: &DAYS,
};

/// Reads a schedule the way upstream does.
pub fn parse(schedule: &str) -> Result<Cron, BadCron> {
    let schedule = schedule.trim();
    if let Some(name) = schedule.strip_prefix('@') {
        return parse(named(name).ok_or_else(|| BadCron::Name(name.to_owned()))?);
    }
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        return Err(BadCron::TimeZone);
    }
    let fields: Vec<_> = schedule.split_whitespace().collect();
    let [minutes, hours, days_of_month, months, days_of_week] = fields[..] else {
        return Err(BadCron::Fields(fields.len()));
    };
    let (days_of_month, any_day_of_month) = read(days_of_month, &DAY_OF_MONTH)?;
    let (days_of_week, any_day_of_week) = read(days_of_week, &DAY_OF_WEEK)?;
    Ok(Cron {
        minutes: read(minutes, &MINUTE)?.0,
        hours: read(hours, &HOUR)?.0,
        days_of_month,
        months: read(months, &MONTH)?.0,
        days_of_week,
        either_day: !any_day_of_month && !any_day_of_week,
    })
}

impl Cron {
    /// False for the 31st of February and the like.
    pub fn ever_fires(&self) -> bool {
        let day_comes = (1..=12).any(|month| {
            let longest = match month {
                2 => 29,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            self.months & (1 << month) != 0 && self.days_of_month & ((1 << (longest + 1)) - 1) != 0
        });
        let by_week = self.days_of_week != 0;
        let day = if self.either_day {
            day_comes || (by_week && self.months != 0)
        } else {
            day_comes && by_week
        };
        day && self.minutes != 0 && self.hours != 0
    }
}

fn named(name: &str) -> Option<&'static str> {
    Some(match name {
        "yearly" | "annually" => "0 0 1 1 *",
        "monthly" => "0 0 1 * *",
        "weekly" => "0 0 * * 0",
        "daily" | "midnight" => "0 0 * * *",
        "hourly" => "0 * * * *",
        _ => return None,
    })
}

/// The bits of a comma-separated field, and whether it says "any". Empty list items are skipped, as upstream skips them.
fn read(field: &str, bounds: &Bounds) -> Result<(u64, bool), BadCron> {
    let mut bits = 0;
    let mut any = false;
    for part in field.split(',').filter(|part| !part.is_empty()) {
        let (more, star) = range(part, bounds)?;
        bits |= more;
        any |= star;
    }
    Ok((bits, any))
}

fn range(part: &str, bounds: &Bounds) -> Result<(u64, bool), BadCron> {
    let bad = || BadCron::Part {
        field: bounds.field,
        part: part.to_owned(),
    };
    let mut slashes = part.split('/');
    let span = slashes.next().unwrap_or_default();
    let step = slashes.next();
    if slashes.next().is_some() {
        return Err(bad());
    }
    let ends: Vec<_> = span.split('-').collect();
    let star = matches!(ends[0], "*" | "?");
    // A star swallows whatever hyphens follow it: upstream never looks at them.
    let (start, mut end) = match ends[..] {
        _ if star => (bounds.min, bounds.max),
        [only] => value(only, bounds).map(|at| (at, at)).ok_or_else(bad)?,
        [first, last] => value(first, bounds)
            .zip(value(last, bounds))
            .ok_or_else(bad)?,
        _ => return Err(bad()),
    };
    let step = match step {
        None => 1,
        Some(text) => number(text).ok_or_else(bad)?,
    };
    if part.contains('/') && ends.len() == 1 {
        end = bounds.max; // `5/10` is short for `5-max/10`
    }
    if start < bounds.min || end > bounds.max || start > end {
        return Err(BadCron::Range {
            field: bounds.field,
            part: part.to_owned(),
            min: bounds.min,
            max: bounds.max,
        });
    }
    if step == 0 {
        return Err(BadCron::Step {
            part: part.to_owned(),
        });
    }
    let bits = (start..=end)
        .step_by(step as usize)
        .fold(0, |bits, at| bits | 1 << at);
    Ok((bits, star && step == 1))
}

fn value(text: &str, bounds: &Bounds) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    match (bounds.min..)
        .zip(bounds.names)
        .find(|(_, name)| **name == lower)
    {
        Some((at, _)) => Some(at),
        None => number(text),
    }
}

/// Go's `Atoi` where nothing negative is allowed: digits, perhaps behind a plus. What is far too large stays so.
fn number(text: &str) -> Option<u32> {
    let number = text.parse::<i64>().ok().filter(|number| *number >= 0)?;
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robfig_accepts_these_and_so_do_we() {
        for schedule in [
            "* * * * *",
            "0 9 * * 1-5",
            "*/2 * * * *",
            "0 0 1,15 * 3",
            "5/10 * * * *",
            "0 0 ? * MON-fri",
            "0 0 * jan,FEB sun",
            "@annually",
            "@yearly",
            "@monthly",
            "@weekly",
            "@daily",
            "@midnight",
            "@hourly",
            " 0 9 * * * ",
            "0\t9 * * *",
            "1,,2 * * * *",
            ", * * * *",
            "*-junk * * * *",
            "+5 * * * *",
            "05 * * * *",
            "0-59/100 * * * *",
            "0 0 31 2 *",
            "5/99999999999 * * * *",
        ] {
            assert!(
                parse(schedule).is_ok(),
                "{schedule:?}: {:?}",
                parse(schedule)
            );
        }
    }

    #[test]
    fn robfig_refuses_these_and_so_do_we() {
        for schedule in [
            "",
            "*",
            "* * * *",
            "0 * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * 0 *",
            "* * * * 7",
            "* * L * *",
            "* * * * 5#2",
            "* * 15W * *",
            "*/0 * * * *",
            "5-1 * * * *",
            "1-2-3 * * * *",
            "1/2/3 * * * *",
            "-5 * * * *",
            "a * * * *",
            "* * * foo *",
            "@dailyish",
            "@daily at noon",
            "@Daily",
            "@every 1h",
            "@reboot",
            "TZ=Europe/Berlin 0 9 * * *",
            "CRON_TZ=UTC 0 9 * * *",
            "1.5 * * * *",
            "99999999999 * * * *",
            "*/ * * * *",
            "0-+ * * * *",
        ] {
            assert!(parse(schedule).is_err(), "{schedule:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_part_that_is_wrong() {
        let said = |schedule| parse(schedule).unwrap_err().to_string();
        assert_eq!(said("0 25 * * *"), "\"25\" lies outside the hours 0 to 23");
        assert_eq!(said("0 9 * *"), "4 fields found where 5 belong");
        assert_eq!(said("0 9 * * funday"), "\"funday\" is no day of week");
    }

    #[test]
    fn some_moments_never_come() {
        let fires = |schedule| parse(schedule).unwrap().ever_fires();
        assert!(fires("0 0 29 2 *"));
        assert!(!fires("0 0 30 2 *"));
        assert!(!fires("0 0 31 4,6,9,11 *"));
        assert!(fires("0 0 31 2 1"), "either the 31st or a Monday");
        assert!(!fires(", * * * *"));
    }
}
