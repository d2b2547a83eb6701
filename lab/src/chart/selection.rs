//! Which results of a file make one chart: one workload with one set of options, and one metric.

use crate::recorded::Recorded;
use crate::schema::{Failure, Outcome};
use crate::workload::{Params, word};

/// What a chart is to show.
#[derive(Debug, Default)]
pub(super) struct Wanted<'a> {
    /// The name of the workload.
    pub(super) workload: &'a str,
    /// The name of the metric; without one the first of the workload.
    pub(super) metric: Option<&'a str>,
    /// Names of targets; without one all that have a number.
    pub(super) targets: &'a [String],
    /// Values that options of the workload must have had.
    pub(super) options: &'a [(String, String)],
}

/// What a chart shows.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    /// The options of the workload.
    pub(super) params: &'a Params,
    /// One per target, the best first; there is one at least.
    pub(super) bars: Vec<&'a Outcome>,
    /// Targets without a number.
    pub(super) failures: Vec<&'a Failure>,
}

impl<'a> Selection<'a> {
    /// What of `recorded` is wanted, or what there is instead.
    pub(super) fn of(recorded: &'a Recorded, wanted: &Wanted<'_>) -> Result<Self, String> {
        let results = of_workload(recorded, wanted.workload)?;
        let params = params(&results, wanted)?;
        let results = results.into_iter().filter(|result| result.params == *params).collect();
        let results = of_metric(results, wanted)?;
        let failures = recorded
            .failures
            .iter()
            .filter(|failure| failure.workload == wanted.workload && failure.params == *params);
        let mut selection = Selection { params, bars: results, failures: failures.collect() };
        selection.keep(wanted.targets)?;
        selection.rank();
        Ok(selection)
    }

    /// The rounds of the target that has the most.
    pub(super) fn rounds(&self) -> usize {
        self.bars.iter().map(|result| result.samples.0.len()).max().unwrap_or_default()
    }

    /// Keeps these targets, if any are named.
    fn keep(&mut self, targets: &[String]) -> Result<(), String> {
        let Some(first) = self.bars.first() else { return Ok(()) };
        let missing =
            targets.iter().find(|name| self.bars.iter().all(|result| result.target != **name));
        if let Some(name) = missing {
            let failure = self.failures.iter().find(|failure| failure.target == **name);
            return Err(match failure {
                Some(failure) => format!("{name} has no number: {}", failure.reason),
                None => {
                    let names = names(self.bars.iter().map(|result| result.target.as_str()));
                    format!("no result of {} for {name}; there are {names}", first.workload)
                }
            });
        }
        if !targets.is_empty() {
            self.bars.retain(|result| targets.contains(&result.target));
            self.failures.clear();
        }
        Ok(())
    }

    /// Puts the best first.
    fn rank(&mut self) {
        self.bars.sort_by(|a, b| a.direction.order(a.median, b.median));
    }
}

/// The results of this workload.
fn of_workload<'a>(recorded: &'a Recorded, workload: &str) -> Result<Vec<&'a Outcome>, String> {
    let results: Vec<_> =
        recorded.results.iter().filter(|result| result.workload == workload).collect();
    if results.is_empty() {
        let names = names(recorded.results.iter().map(|result| result.workload.as_str()));
        return Err(format!("the file has no results of workload {workload}; it has {names}"));
    }
    Ok(results)
}

/// The only set of options of `results` that has the values that are wanted.
fn params<'a>(results: &[&'a Outcome], wanted: &Wanted<'_>) -> Result<&'a Params, String> {
    let mut rows: Vec<&Params> = Vec::new();
    for result in results {
        if !rows.contains(&&result.params) {
            rows.push(&result.params);
        }
    }
    for (name, value) in wanted.options {
        if rows.iter().all(|row| row.get(name).is_none()) {
            let names = names(rows.iter().flat_map(|row| row.keys()).map(String::as_str));
            return Err(format!("{} has no option {name}; it has {names}", wanted.workload));
        }
        let fitting = rows
            .iter()
            .copied()
            .filter(|row| row.get(name).is_some_and(|other| word(other) == *value));
        let fitting: Vec<_> = fitting.collect();
        if fitting.is_empty() {
            let there = values(&rows, name);
            let workload = wanted.workload;
            return Err(format!("no results of {workload} with {name}={value}; there are {there}"));
        }
        rows = fitting;
    }
    match rows[..] {
        [row] => Ok(row),
        _ => Err(format!(
            "{} has results with {} sets of options; choose one by --where: {}",
            wanted.workload,
            rows.len(),
            choices(&rows),
        )),
    }
}

/// The options in which `rows` differ, with their values.
fn choices(rows: &[&Params]) -> String {
    let mut choices: Vec<String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.keys()) {
        let differs = rows.iter().any(|row| row.get(name) != rows[0].get(name));
        let choice = values(rows, name);
        if differs && !choices.contains(&choice) {
            choices.push(choice);
        }
    }
    choices.join(", ")
}

/// An option with all values that it has in `rows`.
fn values(rows: &[&Params], name: &str) -> String {
    let values: Vec<_> = rows.iter().filter_map(|row| row.get(name)).map(word).collect();
    let values = distinct(values.iter().map(String::as_str));
    format!("{name}={}", values.join("|"))
}

/// The results for the metric that is wanted.
fn of_metric<'a>(
    results: Vec<&'a Outcome>,
    wanted: &Wanted<'_>,
) -> Result<Vec<&'a Outcome>, String> {
    let metrics = results.iter().map(|result| result.metric.as_str());
    let Some(metric) = wanted.metric.or_else(|| metrics.clone().next()) else {
        return Ok(Vec::new());
    };
    let names = names(metrics);
    let fitting: Vec<_> = results.into_iter().filter(|result| result.metric == metric).collect();
    if fitting.is_empty() {
        return Err(format!("{} has no metric {metric}; it has {names}", wanted.workload));
    }
    Ok(fitting)
}

/// `names`, each once, as a list for the reader.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names = distinct(names);
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Each of `items` once, in their order.
fn distinct<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Selection, Wanted};
    use crate::recorded::Recorded;

    /// A result of `queue`.
    fn result(target: &str, metric: &str, params: Value, median: f64) -> Value {
        json!({
            "workload": "queue", "target": target, "metric": metric, "params": params,
            "unit": "s", "direction": "lower", "samples": [median], "median": median,
            "min": median, "max": median, "complete": true,
        })
    }

    /// A file with results of one workload with three sets of options.
    fn recorded() -> Recorded {
        let steal = |batch: u64| json!({ "pattern": "steal", "batch": batch });
        let executor = json!({ "pattern": "executor", "workers": 2 });
        let file = json!({
            "schema": 1, "complete": true,
            "machine": {
                "cpus": 2, "cpu_model": "model", "kernel": "Linux", "arch": "x86_64",
                "rustc": "rustc", "debug": false, "version": "0.1.0", "date": "today", "hogs": 0,
            },
            "results": [
                result("slow", "time", steal(1), 3.0), result("slow", "cpu", steal(1), 1.0),
                result("fast", "time", steal(1), 2.0), result("fast", "cpu", steal(1), 2.0),
                result("slow", "time", steal(32), 5.0), result("slow", "time", executor, 7.0),
            ],
            "failures": [{
                "workload": "queue", "target": "lossy", "peer": true, "params": steal(1),
                "reason": "lost a task",
            }],
        });
        Recorded::parse(file.to_string().as_bytes()).expect("a result file")
    }

    /// Options by name.
    fn options(options: &[(&str, &str)]) -> Vec<(String, String)> {
        options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Names of the targets of a chart of batches of one, or the error.
    fn targets(metric: Option<&str>, targets: &[&str]) -> Result<Vec<String>, String> {
        let targets: Vec<_> = targets.iter().map(|name| (*name).to_owned()).collect();
        let options = options(&[("batch", "1")]);
        let wanted = Wanted { workload: "queue", metric, targets: &targets, options: &options };
        let recorded = recorded();
        let selection = Selection::of(&recorded, &wanted)?;
        Ok(selection.bars.iter().map(|result| result.target.clone()).collect())
    }

    /// The error of a chart of `queue` with these options.
    fn error(chosen: &[(&str, &str)]) -> String {
        let options = options(chosen);
        let wanted = Wanted { workload: "queue", options: &options, ..Wanted::default() };
        Selection::of(&recorded(), &wanted).expect_err("an error")
    }

    #[test]
    fn the_best_target_is_the_first() {
        assert_eq!(targets(None, &[]), Ok(vec!["fast".to_owned(), "slow".to_owned()]));
        assert_eq!(targets(Some("cpu"), &[]), Ok(vec!["slow".to_owned(), "fast".to_owned()]));
        assert_eq!(targets(None, &["slow"]), Ok(vec!["slow".to_owned()]));
    }

    #[test]
    fn options_choose_among_results_and_the_error_names_those_that_differ() {
        assert!(error(&[]).ends_with("pattern=steal|executor, batch=1|32, workers=2"));
        assert!(error(&[("pattern", "steal")]).ends_with("--where: batch=1|32"));
        assert!(error(&[("batch", "2")]).ends_with("batch=2; there are batch=1|32"));
        assert!(error(&[("size", "2")]).ends_with("it has pattern, batch, workers"));
        let both = error(&[("pattern", "executor"), ("batch", "1")]);
        assert!(both.ends_with("no option batch; it has pattern, workers"), "{both}");
    }

    #[test]
    fn what_is_not_in_the_file_is_answered_with_what_is() {
        let error = targets(Some("rate"), &[]).expect_err("no such metric");
        assert!(error.ends_with("no metric rate; it has time, cpu"), "{error}");
        let error = targets(None, &["fast", "none"]).expect_err("no such target");
        assert!(error.ends_with("for none; there are slow, fast"), "{error}");
        let error = targets(None, &["lossy"]).expect_err("no number");
        assert_eq!(error, "lossy has no number: lost a task");
        let wanted = Wanted { workload: "burst", ..Wanted::default() };
        let error = Selection::of(&recorded(), &wanted).expect_err("no such workload");
        assert!(error.ends_with("workload burst; it has queue"), "{error}");
    }

    #[test]
    fn a_failed_target_is_noted_unless_targets_are_named() {
        let (recorded, options) = (recorded(), options(&[("batch", "1")]));
        let wanted = Wanted { workload: "queue", options: &options, ..Wanted::default() };
        let selection = Selection::of(&recorded, &wanted).expect("a selection");
        assert_eq!(selection.failures.len(), 1);
        let targets = ["slow".to_owned()];
        let wanted = Wanted { targets: &targets, ..wanted };
        let selection = Selection::of(&recorded, &wanted).expect("a selection");
        assert!(selection.failures.is_empty());
    }
}
