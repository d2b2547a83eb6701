//! The bars of a metric of a result file as an SVG picture for another page: of each target a bar with an interval, the best first.

use std::path::PathBuf;

use clap::Args;

use crate::program::word;
use crate::report::destination::Destination;
use crate::report::results::{Results, Sheet};
use crate::report::speedup::interval;
use crate::report::table;
use crate::stop::{Stop, escaped};

/// Options of `chart`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Chart {
    /// A result file, as `--json` writes it.
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// The workload to show.
    #[arg(long, value_name = "NAME")]
    workload: String,
    /// The metric to show; without it the compared metric.
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Targets to show, separated by commas; without it all with a number.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    targets: Vec<String>,
    /// Options of the workload's measurement, where the file has several sets of them.
    #[arg(long = "where", value_name = "OPTION=VALUE", value_delimiter = ',')]
    options: Vec<String>,
    /// The heading; without it workload and metric.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Write the chart to this file; `-` is stdout.
    #[arg(long, value_name = "PATH")]
    svg: PathBuf,
}

impl Chart {
    /// Draws it, and writes it to where it goes.
    pub(crate) fn draw(&self, replace: bool) -> Result<(), Stop> {
        let destination = Destination::open(&self.svg, replace)?;
        Stop::usage_if(destination.is_at(&self.results), "--svg must not be the result file")?;
        let results = Results::read(&self.results)?;
        let (sheet, metric) = self.choose(&results.sheets).map_err(Stop::Usage)?;
        let known = &sheet.metrics[metric];
        let title = format!("{}: {}", sheet.workload, table::title(known));
        let title = self.title.as_ref().unwrap_or(&title);
        let mut notes = results.machine.describe(false);
        notes.push(results.command(&sheet));
        let svg = bars(&sheet, metric, title, &notes);
        let svg = svg.ok_or_else(|| Stop::Usage(format!("{} has no number", known.name)))?;
        destination.write(svg.as_bytes())
    }

    /// The row and the metric to show, or the choice there is.
    fn choose(&self, sheets: &[Sheet]) -> Result<(Sheet, usize), String> {
        let is_chosen = |row: &&Sheet| {
            let options = row.params.iter().map(|(name, value)| format!("{name}={}", word(value)));
            let options: Vec<_> = options.collect();
            row.workload == self.workload && self.options.iter().all(|one| options.contains(one))
        };
        let chosen: Vec<_> = sheets.iter().filter(is_chosen).collect();
        let [row] = chosen[..] else {
            let all: Vec<_> = sheets.iter().map(Sheet::row).collect();
            let (count, all) = (chosen.len(), all.join("; "));
            return Err(format!(
                "--workload and --where leave {count} rows, and not one, of: {all}"
            ));
        };
        let metric = match &self.metric {
            None => row.headline,
            Some(name) => row.metrics.iter().position(|m| m.name == *name).ok_or_else(|| {
                let all: Vec<_> = row.metrics.iter().map(|metric| &*metric.name).collect();
                format!("{} has no metric {name}; it has {}", self.workload, all.join(", "))
            })?,
        };
        let has = |name: &&String| {
            row.lanes.iter().any(|lane| lane.name == **name && lane.failure.is_none())
        };
        if let Some(name) = self.targets.iter().find(|name| !has(name)) {
            return Err(format!("{} has no result of {name}", self.workload));
        }
        let mut row = Sheet::clone(row);
        row.lanes.retain(|lane| self.targets.is_empty() || self.targets.contains(&lane.name));
        Ok((row, metric))
    }
}

/// Width of the picture, where the bars begin, and the length of the longest, in pixels.
const WIDTH: f64 = 720.0;
const LEFT: f64 = 150.0;
const LONGEST: f64 = 400.0;

/// Height of a line, and characters of a note that fit into one.
const LINE: f64 = 24.0;
const LETTERS: usize = 100;

/// Where an interval is cut, over the longest bar: a longer round does not make all bars short.
const FURTHEST: f64 = 1.2;

/// The picture as SVG with this heading and these lines below it; `None` if no target has a number. The whiskers are intervals of 95 %
/// of the medians, of those with five rounds.
fn bars(sheet: &Sheet, metric: usize, title: &str, notes: &[String]) -> Option<String> {
    let bars = table::lines(sheet, metric);
    let most = bars.iter().filter_map(|(lane, _)| lane.median(metric)).reduce(f64::max)?;
    let most = most.max(f64::MIN_POSITIVE);
    let at = |value: f64| LEFT + LONGEST * (value / most).clamp(0.0, FURTHEST);
    let mut shapes = text(WIDTH / 2.0, LINE, "middle", title);
    let mut y = LINE;
    for (lane, [value, ..]) in &bars {
        y += LINE;
        let (middle, median) = (y - 4.0, lane.median(metric).unwrap_or_default());
        let end = at(median);
        let [low, high] = interval(lane.rounds(metric)).unwrap_or([median; 2]).map(at);
        let color = if sheet.is_own(lane) { "#0969da" } else { "#818b98" };
        shapes += &text(LEFT - 8.0, y, "end", &lane.name);
        shapes += &format!(
            "<path stroke=\"{color}\" stroke-width=\"16\" d=\"M{LEFT} {middle}H{end:.1}\"/>\n\
             <path stroke=\"black\" d=\"M{low:.1} {middle}H{high:.1}\"/>\n"
        );
        shapes += &text(high.max(end) + 8.0, y, "start", value);
    }
    for line in notes.iter().flat_map(|note| lines(note)) {
        y += LINE;
        shapes += &text(8.0, y, "start", &line);
    }
    let height = y + LINE;
    Some(escaped(&format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{shapes}</svg>\n"
    )))
}

/// The words of this note, in lines.
fn lines(note: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in note.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => word.clone_into(line),
            Some(line) if line.len() + word.len() < LETTERS => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A line of text, whose beginning, middle or end is there.
fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">\n{text}\n</text>\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_note_breaks_between_words() {
        let long = "x".repeat(99);
        let lines = super::lines(&format!("one two {long} three"));
        assert_eq!(lines, ["one two", &long, "three"]);
    }
}
