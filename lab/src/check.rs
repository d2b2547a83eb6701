//! The check of the laboratory alone, under stress: small runs of a workload, over and over, beside threads that compute.
//!
//! No time is shown, as a run that small says nothing about one.

use std::time::{Duration, Instant};

use clap::Args;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use crate::failure::Failure;
use crate::limits::{self, whole};
use crate::plan;
use crate::report::Reporter;
use crate::rounds::{Contest, Rules};
use crate::row::Row;
use crate::stop::Stop;
use crate::workload;

/// Options of `check`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Check {
    /// The workload, or `all`.
    #[arg(value_name = "WORKLOAD", value_parser = plan::to_check)]
    workload: String,
    /// For how long, in seconds: each target runs each row once at least.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<1, { limits::MAX_CHECK }>)]
    pub(crate) seconds: u64,
}

impl Check {
    /// What runs.
    pub(crate) fn rows(&self) -> Vec<Row> {
        plan::check(&self.workload)
    }

    /// Runs the targets of these rows until the time is over, and returns what is to be said about those that failed: first of peers, then
    /// of others.
    pub(crate) fn run(
        &self,
        mut contests: Vec<Contest>,
        rules: &Rules,
        reporter: &Reporter,
        random: &mut SmallRng,
    ) -> Result<[Vec<String>; 2], Stop> {
        let (begun, time) = (Instant::now(), Duration::from_secs(self.seconds));
        let (mut runs, rows) = (0_u64, contests.len());
        let (mut peers, mut own) = (Vec::new(), Vec::new());
        let is_over = |round: u64| round > 0 && begun.elapsed() >= time;
        for round in 0.. {
            contests.shuffle(random);
            for Contest { row, targets } in &mut contests {
                targets.shuffle(random);
                let mut failed = Vec::new();
                for target in targets.iter().filter(|_| !is_over(round)) {
                    reporter.announce(row.name, target.name);
                    runs += 1;
                    let failure = match row.run(target, rules.terms(target)) {
                        Ok(_) => continue,
                        Err(Failure::Refused(error)) => {
                            let reason = format!("{} can't start: {error}", target.name);
                            return Err(Stop::Refused(reason));
                        }
                        Err(failure) => failure,
                    };
                    failed.push(target.name);
                    let options = workload::line(&row.params);
                    let where_it_was = format!("{} {options} on {}", row.name, target.name);
                    let said = if target.is_peer { &mut peers } else { &mut own };
                    said.push(format!("{where_it_was}, round {}: {failure}", round + 1));
                }
                // The others go on without it.
                targets.retain(|target| !failed.contains(&target.name));
            }
            if is_over(round + 1) || contests.iter().all(|contest| contest.targets.is_empty()) {
                break;
            }
        }
        let failures = match peers.len() + own.len() {
            0 => "every task ran exactly once".to_owned(),
            failures => format!("{failures} failed"),
        };
        let seconds = begun.elapsed().as_secs();
        reporter.print(&format!("\n{runs} runs of {rows} rows in {seconds} s: {failures}"))?;
        Ok([peers, own])
    }
}
