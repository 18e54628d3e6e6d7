//! What went out, when, and how did it end; and is it the same as last time?

use std::fmt;
use std::time::Duration;

/// Every outbound call in order. Two runs of one seed have the same hash.
#[derive(Debug, Clone)]
pub struct Trace {
    lines: Vec<Line>,
    hash: u64,
}

#[derive(Debug, Clone)]
pub struct Line {
    /// Since the beginning of the story.
    pub at: Duration,
    pub text: String,
    /// A question that was answered, or the lease: not worth a look at first.
    pub plain: bool,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }
}

impl Trace {
    pub fn add(&mut self, at: Duration, text: String, plain: bool) {
        // FNV-1a: it must tell two runs apart, and need not resist anybody
        let bytes = at.as_nanos().to_le_bytes();
        for byte in bytes.iter().chain(text.as_bytes()) {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.lines.push(Line { at, text, plain });
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The first line in which another run differs, with a few before it; nothing if none does.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let same = |(one, two): &(&Line, &Line)| one.at == two.at && one.text == two.text;
        let at = self.lines.iter().zip(&other.lines).take_while(same).count();
        let (mine, theirs) = (self.lines.get(at), other.lines.get(at));
        if mine.is_none() && theirs.is_none() {
            return None;
        }
        let before: String = self.lines[at.saturating_sub(10)..at]
            .iter()
            .map(show)
            .collect();
        let told = |line: Option<&Line>| line.map_or("  nothing more\n".to_owned(), show);
        Some(format!(
            "{before}once:\n{}then:\n{}",
            told(mine),
            told(theirs)
        ))
    }

    /// Every line, for people.
    pub fn whole(&self) -> String {
        self.lines.iter().map(show).collect()
    }

    /// The last lines that say something, for people.
    pub fn tail(&self, count: usize) -> String {
        let lines = self.lines.iter().filter(|line| !line.plain);
        let lines: Vec<_> = lines.map(show).collect();
        lines[lines.len().saturating_sub(count)..].concat()
    }
}

fn show(line: &Line) -> String {
    format!("  {line}\n")
}

impl fmt::Display for Line {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:>10.3} s  {}", self.at.as_secs_f64(), self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_at_another_moment_changes_the_hash() {
        let told = |ms: u64, text: &str| {
            let mut trace = Trace::default();
            trace.add(Duration::from_millis(ms), text.to_owned(), false);
            trace.hash()
        };
        assert_eq!(told(1, "POST /servers 202"), told(1, "POST /servers 202"));
        assert_ne!(told(1, "POST /servers 202"), told(2, "POST /servers 202"));
        assert_ne!(told(1, "POST /servers 202"), told(1, "POST /servers 500"));
    }

    #[test]
    fn two_runs_are_told_apart_by_the_first_line_that_differs() {
        let told = |texts: &[&str]| {
            let mut trace = Trace::default();
            for text in texts {
                trace.add(Duration::ZERO, (*text).to_owned(), false);
            }
            trace
        };
        let difference = |one: &[&str], two: &[&str]| told(one).difference(&told(two));
        assert_eq!(difference(&["a", "b"], &["a", "b"]), None);
        let said = difference(&["a", "b"], &["a", "c"]).unwrap();
        assert!(
            said.contains("once:\n       0.000 s  b") || said.contains("s  b\nthen:"),
            "{said}"
        );
        assert!(
            difference(&["a"], &["a", "c"])
                .unwrap()
                .contains("nothing more")
        );
    }

    #[test]
    fn the_tail_leaves_out_what_is_plain() {
        let mut trace = Trace::default();
        for (text, plain) in [("a", false), ("b", true), ("c", false)] {
            trace.add(Duration::ZERO, text.to_owned(), plain);
        }
        assert_eq!(trace.tail(9).matches(" s  ").count(), 2);
        assert_eq!(trace.whole().lines().count(), 3);
    }
}
