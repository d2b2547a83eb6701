//! The answer of a run, in one table: of several workloads brigade beside the best peer of each, of a program of the user's one
//! target beside each of the others.

use super::quantity;
use super::results::{Lane, Sheet};
use super::speedup::ROUNDS;
use crate::stats::middle;
use crate::workload::{self, Direction, Metric};

/// Cells of a line, or of the heading.
type Line = [String; 5];

/// The table of these rows; nothing if brigade or its peers take part in none of them.
pub(super) fn of(sheets: &[Sheet]) -> Option<String> {
    let [first, ..] = sheets else { return None };
    let (name, is_yours) = (first.meaning.own, first.meaning.is_yours);
    let is = format!("{name} is");
    let other = if is_yours { "the other" } else { "best peer" };
    let heading = ["", name, other, "speed-up (95 %)", &is];
    let mut lines: Vec<(Line, String)> = vec![(heading.map(str::to_owned), String::new())];
    let mut counts = [0; 5];
    let pairs = sheets.iter().filter_map(|sheet| Some((sheet, sides(sheet)?)));
    let pairs = pairs.flat_map(|(sheet, (own, peers))| {
        let metric = sheet.meaning.headline;
        let rivals = match is_yours {
            true => peers.into_iter().map(Some).collect(),
            false => vec![best(&peers, metric, sheet.metrics[metric].direction)],
        };
        rivals.into_iter().map(move |peer| (sheet, own, peer))
    });
    for (sheet, own, peer) in pairs {
        let index = sheet.meaning.headline;
        let metric = &sheet.metrics[index];
        let speedup = peer.and_then(|peer| sheet.speedup(index, own, peer));
        let has_numbers = |lane: Option<&Lane>| lane.is_some_and(|l| !l.samples(index).is_empty());
        let unknown = || match has_numbers(Some(own)) && has_numbers(peer) {
            true => "too small to compare",
            false => "no number",
        };
        let verdict = speedup.map_or_else(unknown, |speedup| speedup.verdict.word(metric.unit));
        counts[speedup.map_or(4, |speedup| speedup.verdict as usize)] += 1;
        let done = peer.filter(|_| is_yours).map_or(sheet.meaning.done, |peer| peer.target.name);
        let cells = [
            done.to_owned(),
            cell(Some(own), index, metric, name),
            cell(peer, index, metric, done),
            speedup.map_or_else(|| "–".to_owned(), |speedup| speedup.text()),
            verdict.to_owned() + if sheet.noise.is_some() { " *" } else { "" },
        ];
        lines.push((cells, options(sheet, sheets)));
    }
    let beside = if is_yours { "each of the others" } else { "the best of its peers" };
    let title = format!("{name} beside {beside}");
    let disturbed = sheets.iter().filter(|sheet| sheet.noise.is_some()).count();
    (lines.len() > 1).then(|| {
        let mut text = text(&title, &lines, counts);
        if disturbed > 0 {
            text += &format!("; *: beside other work, {disturbed} of {}", sheets.len());
        }
        text
    })
}

/// How far the interval of brigade's ratio to the best peer reaches from it, as a share, if there is one.
pub(super) fn width(sheet: &Sheet) -> Option<f64> {
    let (own, peers) = sides(sheet)?;
    let index = sheet.meaning.headline;
    let speedup =
        sheet.speedup(index, own, best(&peers, index, sheet.metrics[index].direction)?)?;
    Some((speedup.high / speedup.middle).max(speedup.middle / speedup.low) - 1.0)
}

/// brigade's lane, and those of its peers. Of several configurations the first one of the family.
fn sides(sheet: &Sheet) -> Option<(&Lane, Vec<&Lane>)> {
    let name = sheet.meaning.own;
    let is_own = |lane: &&Lane| !lane.target.is_peer && lane.target.name.starts_with(name);
    let own = sheet.lanes.iter().find(|lane| lane.target.name == name);
    let own = own.or_else(|| sheet.lanes.iter().find(is_own))?;
    let is_rival = |lane: &&Lane| match sheet.meaning.is_yours {
        true => !lane.target.is(own.target),
        false => lane.target.is_peer,
    };
    let peers: Vec<_> = sheet.lanes.iter().filter(is_rival).collect();
    (!peers.is_empty()).then_some((own, peers))
}

/// The peer with the best median.
fn best<'a>(peers: &[&'a Lane], index: usize, direction: Direction) -> Option<&'a Lane> {
    let medians = peers.iter().filter_map(|&peer| Some((middle(&peer.samples(index))?, peer)));
    let best = match direction {
        Direction::Higher => medians.max_by(|(a, _), (b, _)| a.total_cmp(b)),
        Direction::Lower => medians.min_by(|(a, _), (b, _)| a.total_cmp(b)),
    };
    best.map(|(_, peer)| peer)
}

/// A target and its median, without its name if the table has that already.
fn cell(lane: Option<&Lane>, index: usize, metric: &Metric, known: &str) -> String {
    let Some(lane) = lane else { return "–".to_owned() };
    let value = middle(&lane.samples(index));
    let value = value.map_or_else(|| "–".to_owned(), |v| quantity::short(v, metric.unit));
    match lane.target.name {
        name if name == known => value,
        name => format!("{name} {value}"),
    }
}

/// The options in which a row differs from others of its workload.
fn options(sheet: &Sheet, sheets: &[Sheet]) -> String {
    let others: Vec<_> = sheets.iter().filter(|other| other.workload == sheet.workload).collect();
    let differs =
        |name: &str| others.iter().any(|other| other.params.get(name) != sheet.params.get(name));
    let params = sheet.params.iter().filter(|(name, _)| differs(name));
    workload::line(&params.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The lines as text, and what they come to.
fn text(title: &str, lines: &[(Line, String)], counts: [usize; 5]) -> String {
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let cells = lines.iter().map(|(cells, _)| cells[column].chars().count());
        cells.max().unwrap_or_default()
    });
    let mut text = format!("\nThe answer: {title}\n");
    for (cells, options) in lines {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  "));
        text += &format!("  {}\n", cells.collect::<String>().trim_end());
        if !options.is_empty() {
            text += &format!("    {options}\n");
        }
    }
    let [better, worse, same, few, unknown] = counts;
    text += &format!("  better in {better}, worse in {worse}, no difference in {same}");
    if few > 0 {
        text += &format!(", too few rounds to tell in {few}: take --rounds {ROUNDS} or more");
    }
    if unknown > 0 {
        text += &format!(", nothing to compare in {unknown}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::report::results::{Lane, Sheet};
    use crate::target::Family as _;
    use crate::targets::pools::Pools;
    use crate::workload::{Meaning, Metric, Params};

    const METRICS: &[Metric] = &[Metric::time("start"), Metric::CPU];

    /// A row with these times, each in five rounds.
    fn sheet(threads: u64, times: &[(&str, f64)]) -> Sheet {
        let lane = |&(name, time): &(&str, f64)| {
            let target = Pools::TARGETS.iter().find(|target| target.name == name).expect("a pool");
            Lane {
                target,
                rounds: vec![vec![time, 1.0]; 5],
                spent: Vec::new(),
                migrations: None,
                failure: None,
            }
        };
        Sheet {
            workload: "wake",
            meaning: Meaning::new("start one job", "It is a test."),
            params: Params::from_iter([("threads".to_owned(), threads.into())]),
            metrics: METRICS,
            note: None,
            noise: None,
            lanes: times.iter().map(lane).collect(),
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
