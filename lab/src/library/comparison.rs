//! What a comparison of the user's has come to.

use std::fmt;
use std::time::Duration;

use crate::page;
use crate::report::results::{Lane, Results, Sheet};
use crate::report::speedup::Speedup;
use crate::report::table::{self, Detail};
use crate::report::{answer, json};
use crate::stats::middle;

/// The results of [`compare`](crate::compare()). It prints as the tables that `brigade-lab` prints.
pub struct Comparison(Results);

/// What a call of the closure cost on one target: medians over the rounds.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Measured {
    /// The wall time.
    pub time: Duration,
    /// The least wall time of a round.
    pub min: Duration,
    /// The greatest wall time of a round.
    pub max: Duration,
    /// The CPU time of the whole process.
    pub cpu_time: Duration,
    /// Context switches of the whole process.
    pub switches: f64,
}

impl Comparison {
    /// That of these results.
    pub(crate) fn new(results: Results) -> Self {
        Comparison(results)
    }

    /// The row.
    fn sheet(&self) -> &Sheet {
        &self.0.sheets[0]
    }

    /// This target.
    fn lane(&self, target: &str) -> Option<&Lane> {
        self.sheet().lanes.iter().find(|lane| lane.name == target)
    }

    /// The names of the targets.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.sheet().lanes.iter().map(|lane| &*lane.name)
    }

    /// What a call of the closure cost on this target. `None` if there is no such target, or if it failed.
    pub fn measured(&self, target: &str) -> Option<Measured> {
        let lane = self.lane(target)?;
        let times = lane.samples(0);
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Some(Measured {
            time: time(middle(&times)?),
            min: time(times.iter().copied().min_by(f64::total_cmp)?),
            max: time(times.iter().copied().max_by(f64::total_cmp)?),
            cpu_time: time(middle(&lane.samples(1))?),
            switches: middle(&lane.samples(2))?,
        })
    }

    /// How many times as fast the closure was on `ours` as on `theirs`, and how sure that is. `None` if one of them is no target, or
    /// has failed.
    pub fn speedup(&self, ours: &str, theirs: &str) -> Option<Speedup> {
        self.sheet().speedup(0, self.lane(ours)?, self.lane(theirs)?)
    }

    /// The targets that have no number, each with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.failures().map(|(_, lane, reason)| (&*lane.name, reason))
    }

    /// The result file that `brigade-lab --json` writes: every round, the machine, and the failures.
    pub fn json(&self) -> String {
        let is_complete = self.0.failures().next().is_none();
        let text =
            json::of(&self.0, is_complete).ok().and_then(|text| String::from_utf8(text).ok());
        text.expect("numbers and names are JSON")
    }

    /// The page that `brigade-lab --html` writes: one that loads nothing, with plots, tables and the machine.
    pub fn html(&self) -> String {
        self.page(page::html)
    }

    /// The tables that `brigade-lab --markdown` writes.
    pub fn markdown(&self) -> String {
        self.page(page::markdown)
    }

    /// What this makes of the result file.
    fn page(&self, render: fn(&[u8]) -> Result<Vec<u8>, String>) -> String {
        let page = render(self.json().as_bytes());
        let text = page.and_then(|page| String::from_utf8(page).map_err(|error| error.to_string()));
        text.expect("a result file is one, and its page is text")
    }

    /// Says in a line that other work disturbed the measurement, as `brigade-lab` does; `None` if the machine was quiet.
    pub fn disturbed(&self) -> Option<&str> {
        self.0.noise.busy()
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = table::of(self.sheet(), Detail::Usual);
        writeln!(f, "{}\n{table}", self.0.machine.describe(false))?;
        answer::of(&self.0.sheets).map_or(Ok(()), |answer| writeln!(f, "{answer}"))?;
        writeln!(f, "{}", self.0.noise.describe(""))
    }
}

impl fmt::Debug for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Comparison").field("what", &self.sheet().workload).finish_non_exhaustive()
    }
}
