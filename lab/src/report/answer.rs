//! The answer of a run, in one table: of several workloads brigade beside the best peer of each, of a program of the user's one
//! target beside each of the others.

use super::quantity;
use super::results::{Lane, Sheet};
use super::speedup::{ROUNDS, Speedup, Verdict};
use crate::stats::middle;
use crate::workload::Metric;

/// What the answer says of one row.
pub(crate) struct Line<'a> {
    /// The row.
    pub(crate) sheet: &'a Sheet,
    /// The cells, as many as the heading has.
    pub(crate) cells: [String; 5],
    /// The options in which the row differs from others of its workload.
    pub(crate) options: String,
    /// How brigade compares, if that can be said.
    pub(crate) speedup: Option<Speedup>,
}

/// The table of these rows; nothing if brigade or its peers take part in none of them.
pub(crate) fn of(sheets: &[Sheet]) -> Option<String> {
    let lines = lines(sheets);
    (!lines.is_empty()).then(|| text(sheets, &lines))
}

/// The heading.
pub(crate) fn head(sheets: &[Sheet]) -> [String; 5] {
    let (name, is_yours) = sheets.first().map_or(("", false), |first| (&first.own, first.is_yours));
    let other = if is_yours { "the other" } else { "best peer" };
    ["", name, other, "speed-up (95 %)", &format!("{name} is")].map(str::to_owned)
}

/// What is compared with what.
pub(crate) fn title(sheets: &[Sheet]) -> String {
    let (name, is_yours) = sheets.first().map_or(("", false), |first| (&first.own, first.is_yours));
    let beside = if is_yours { "each of the others" } else { "the best of its peers" };
    format!("{name} beside {beside}")
}

/// A line for each row in which brigade and its peers take part, and of a program of the user's for each other target.
pub(crate) fn lines(sheets: &[Sheet]) -> Vec<Line<'_>> {
    let pairs = sheets.iter().filter_map(|sheet| Some((sheet, sides(sheet)?)));
    let pairs = pairs.flat_map(|(sheet, (own, peers))| {
        let rivals = match sheet.is_yours {
            true => peers.into_iter().map(Some).collect(),
            false => vec![sheet.best_peer(sheet.headline)],
        };
        rivals.into_iter().map(move |peer| (sheet, own, peer))
    });
    pairs.map(|(sheet, own, peer)| line(sheet, sheets, own, peer)).collect()
}

/// The line of this row for this peer.
fn line<'a>(sheet: &'a Sheet, sheets: &[Sheet], own: &Lane, peer: Option<&Lane>) -> Line<'a> {
    let index = sheet.headline;
    let metric = &sheet.metrics[index];
    let speedup = peer.and_then(|peer| sheet.speedup(index, own, peer));
    let has_numbers = |lane: Option<&Lane>| lane.is_some_and(|l| !l.samples(index).is_empty());
    let unknown = || match has_numbers(Some(own)) && has_numbers(peer) {
        true => "too small to compare",
        false => "no number",
    };
    let verdict = speedup.map_or_else(unknown, |speedup| speedup.verdict.word(&metric.unit));
    let done = peer.filter(|_| sheet.is_yours).map_or(&sheet.done, |peer| &peer.name);
    let cells = [
        done.clone(),
        cell(Some(own), index, metric, &sheet.own),
        cell(peer, index, metric, done),
        speedup.map_or_else(|| "–".to_owned(), |speedup| speedup.text()),
        verdict.to_owned() + if sheet.noise.is_some() { " *" } else { "" },
    ];
    Line { sheet, cells, options: sheet.differences(sheets), speedup }
}

/// How far the interval of brigade's ratio to the best peer reaches from it, as a share, if there is one.
pub(super) fn width(sheet: &Sheet) -> Option<f64> {
    let (own, _) = sides(sheet)?;
    let speedup = sheet.speedup(sheet.headline, own, sheet.best_peer(sheet.headline)?)?;
    Some((speedup.high / speedup.middle).max(speedup.middle / speedup.low) - 1.0)
}

/// brigade's lane, and those of its peers. Of several configurations the first one of the family.
fn sides(sheet: &Sheet) -> Option<(&Lane, Vec<&Lane>)> {
    let name = &*sheet.own;
    let own = sheet.lanes.iter().find(|lane| lane.name == name);
    let own = own.or_else(|| sheet.lanes.iter().find(|lane| sheet.is_own(lane)))?;
    let is_rival = |lane: &&Lane| match sheet.is_yours {
        true => lane.name != own.name,
        false => lane.is_peer,
    };
    let peers: Vec<_> = sheet.lanes.iter().filter(is_rival).collect();
    (!peers.is_empty()).then_some((own, peers))
}

/// A target and its median, without its name if the table has that already.
fn cell(lane: Option<&Lane>, index: usize, metric: &Metric<String>, known: &str) -> String {
    let Some(lane) = lane else { return "–".to_owned() };
    let value = middle(&lane.samples(index));
    let value = value.map_or_else(|| "–".to_owned(), |v| quantity::short(v, &metric.unit));
    match &*lane.name {
        name if name == known => value,
        name => format!("{name} {value}"),
    }
}

/// The lines as text, and what they come to.
fn text(sheets: &[Sheet], lines: &[Line<'_>]) -> String {
    let rows = || [head(sheets)].into_iter().chain(lines.iter().map(|l| l.cells.clone()));
    let widths: [usize; 5] = std::array::from_fn(|column| {
        rows().map(|cells| cells[column].chars().count()).max().unwrap_or_default()
    });
    let options = [""].into_iter().chain(lines.iter().map(|line| &*line.options));
    let mut text = format!("\nThe answer: {}\n", title(sheets));
    for (cells, options) in rows().zip(options) {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  "));
        text += &format!("  {}\n", cells.collect::<String>().trim_end());
        if !options.is_empty() {
            text += &format!("    {options}\n");
        }
    }
    text + "  " + &summary(sheets, lines)
}

/// What the lines come to.
pub(crate) fn summary(sheets: &[Sheet], lines: &[Line<'_>]) -> String {
    let count = |wanted| {
        lines.iter().filter(|line| line.speedup.map(|speedup| speedup.verdict) == wanted).count()
    };
    let [better, worse, same, few] =
        [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::TooFew].map(|v| count(Some(v)));
    let mut text = format!("better in {better}, worse in {worse}, no difference in {same}");
    if few > 0 {
        text += &format!(", too few rounds to tell in {few}: take {ROUNDS} rounds or more");
    }
    if count(None) > 0 {
        text += &format!(", nothing to compare in {}", count(None));
    }
    let disturbed = sheets.iter().filter(|sheet| sheet.noise.is_some()).count();
    if disturbed > 0 {
        text += &format!("; *: beside other work, {disturbed} of {}", sheets.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::report::results::{Lane, Sheet};
    use crate::workload::{Direction, Metric, Params};

    /// A row with these times, each in five rounds.
    fn sheet(threads: u64, times: &[(&str, f64)]) -> Sheet {
        let lane = |&(name, time): &(&str, f64)| {
            let lane = Lane::new(name, !name.starts_with("brigade"));
            Lane { values: vec![vec![time; 5]], ..lane }
        };
        Sheet {
            workload: "wake".to_owned(),
            done: "start one job".to_owned(),
            own: "brigade".to_owned(),
            params: Params::from_iter([("threads".to_owned(), threads.into())]),
            metrics: vec![Metric {
                name: "start".to_owned(),
                unit: "s".to_owned(),
                direction: Direction::Lower,
                is_detail: false,
            }],
            noise: None,
            lanes: times.iter().map(lane).collect(),
            ..Sheet::default()
        }
    }

    #[test]
    fn each_row_names_its_best_peer_and_a_verdict() {
        let answer = of(&[
            sheet(
                1,
                &[("brigade", 1e-6), ("brigade-lifo", 1e-9), ("rayon", 3e-6), ("tokio", 2e-6)],
            ),
            sheet(2, &[("rayon", 1e-6), ("tokio", 2e-6), ("brigade", 4e-6)]),
            sheet(3, &[("brigade", 1e-6), ("tokio", 1e-6)]),
            sheet(4, &[("brigade", 0.0), ("tokio", 1e-6)]),
            sheet(5, &[("brigadex", 1e-6), ("tokio", 1e-6)]),
        ]);
        let answer = answer.expect("an answer");
        for line in [
            "start one job  1.00 µs  tokio 2.00 µs  2.00 (2.00 to 2.00)  faster\n    --threads 1\n",
            "start one job  4.00 µs  rayon 1.00 µs  0.25 (0.25 to 0.25)  slower\n    --threads 2\n",
            "start one job  1.00 µs  tokio 1.00 µs  1.00 (1.00 to 1.00)  no difference\n",
            "start one job  0 s      tokio 1.00 µs  –                    too small to compare\n",
            "better in 1, worse in 1, no difference in 1, nothing to compare in 1",
        ] {
            assert!(answer.contains(line), "{line}: {answer}");
        }
    }

    #[test]
    fn a_target_that_failed_has_no_verdict_and_rows_without_brigade_no_line() {
        let mut failed = sheet(1, &[("brigade", 1e-6), ("tokio", 2e-6)]);
        failed.lanes[0].failure = Some("lost a task".to_owned());
        let answer = of(&[failed, sheet(1, &[("tokio", 1e-6), ("rayon", 1e-6)])]).expect("one");
        assert_eq!(answer.matches("start one job").count(), 1, "{answer}");
        assert!(answer.contains("no number"), "{answer}");
        assert!(of(&[sheet(1, &[("tokio", 1e-6)]), sheet(1, &[("brigade", 1e-6)])]).is_none());
    }
}
