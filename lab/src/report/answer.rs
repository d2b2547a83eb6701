//! The answer of a run, in one table: of several workloads brigade beside the best peer of each, like with like; of a user's program
//! one target beside each of the others.

use super::quantity;
use super::results::{Lane, Sheet};
use super::speedup::{Speedup, Verdict, counted};
use crate::target::Class;
use crate::workload::Metric;

/// The workloads of the short answer, each by the first row, in families.
const FAMILIES: [(&str, &[&str]); 5] = [
    ("Jobs", &["throughput", "latency", "submit"]),
    ("Forks", &["fork-join", "steal"]),
    ("Wake-ups", &["wake", "ramp-up", "fan-out"]),
    ("Tasks and timers", &["creation", "bucket-brigade", "timers"]),
    ("I/O and memory", &["echo", "server", "memory"]),
];

/// The answer for a row and a class of targets.
struct Line<'a> {
    /// The workload.
    workload: &'a str,
    /// The cells, as many as the heading has.
    cells: [String; 5],
    /// Below them, the options in which the row differs from others of the workload; and uncompared targets worth a look: of another
    /// class and faster, or another configuration of brigade.
    below: Vec<String>,
    /// How brigade compares, if known.
    verdict: Option<Verdict>,
}

/// The answer of these rows: the short answer if they are of many workloads, and not all is asked for. Nothing if brigade or its peers
/// take part in none of them.
pub(crate) fn of(sheets: &[Sheet], is_verbose: bool) -> Option<String> {
    let line =
        |sheet| pairs(sheet).into_iter().map(move |(own, peer)| line(sheet, sheets, own, peer));
    let all: Vec<_> = sheets.iter().flat_map(line).collect();
    let (Sheet { own: name, is_yours, .. }, _) = (sheets.first()?, all.first()?);
    let known = |workload: &str| sheets.iter().any(|sheet| sheet.workload == workload);
    // The first line of a row is of the usual class of its targets.
    let first = |workload: &&str| all.iter().find(|line| line.workload == *workload);
    let is_short = !is_verbose && FAMILIES.iter().all(|(_, of)| of.iter().any(|one| known(one)));
    let blocks: Vec<(_, Vec<_>)> = match is_short {
        true => FAMILIES.map(|(family, of)| (family, of.iter().filter_map(first).collect())).into(),
        false => vec![("", all.iter().collect())],
    };
    let (beside, other) = match is_yours {
        true => ("each of the others", "the other"),
        false => ("the best of its peers, like with like", "best peer"),
    };
    let head = ["", name, other, "speed-up (95 %)", &format!("{name} is")].map(str::to_owned);
    let shown = || blocks.iter().flat_map(|(_, lines)| lines.iter().map(|line| &line.cells));
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let width = |cells: &[String; 5]| cells[column].chars().count();
        shown().map(width).max().unwrap_or_default().max(width(&head))
    });
    let row = |cells: &[String; 5]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  "));
        format!("  {}\n", cells.collect::<String>().trim_end())
    };
    let mut text = format!("\nThe answer: {name} beside {beside}\n{}", row(&head));
    for (family, lines) in &blocks {
        text.extend((!family.is_empty()).then(|| format!("{family}\n")));
        for line in lines {
            text += &row(&line.cells);
            line.below.iter().for_each(|below| text += &format!("    {below}\n"));
        }
    }
    text = text + "  " + &counted(all.iter().map(|line| line.verdict));
    let disturbed = sheets.iter().filter(|sheet| sheet.noise.is_some()).count();
    if disturbed > 0 {
        text += &format!("; *: beside other work, {disturbed} of {}", sheets.len());
    }
    Some(text)
}

/// The compared pairs of a row with brigade and its peers: a pair for each common class of targets; of a user's program a pair for
/// each other target.
fn pairs(sheet: &Sheet) -> Vec<(&Lane, Option<&Lane>)> {
    let Some(usual) = own(sheet, None) else { return Vec::new() };
    if sheet.is_yours {
        let others = sheet.lanes.iter().filter(|lane| lane.name != usual.name);
        return others.map(|other| (usual, Some(other))).collect();
    }
    if !sheet.lanes.iter().any(|lane| lane.is_peer) {
        return Vec::new();
    }
    let classes = [Class::Threads, Class::OneThread, Class::Caller, Class::Ready];
    let others = classes.into_iter().filter(|class| *class != usual.class).filter_map(|class| {
        let peer = sheet.best(sheet.headline, |lane| lane.is_peer && lane.class == class)?;
        Some((own(sheet, Some(class))?, Some(peer)))
    });
    [(usual, rival(sheet, usual))].into_iter().chain(others).collect()
}

/// brigade's lane, of this class if any: the default configuration, or the first of the family.
fn own(sheet: &Sheet, class: Option<Class>) -> Option<&Lane> {
    let is_one = |lane: &&Lane| sheet.is_own(lane) && class.is_none_or(|class| lane.class == class);
    let mut lanes = sheet.lanes.iter().filter(is_one);
    lanes.clone().find(|lane| lane.name == sheet.own).or_else(|| lanes.next())
}

/// The best peer of the class of this lane; of all if there is none.
fn rival<'a>(sheet: &'a Sheet, own: &Lane) -> Option<&'a Lane> {
    let alike = sheet.best(sheet.headline, |lane| lane.is_peer && lane.class == own.class);
    alike.or_else(|| sheet.best(sheet.headline, |lane| lane.is_peer))
}

/// The line of this row for this peer.
fn line<'a>(sheet: &'a Sheet, sheets: &[Sheet], own: &Lane, peer: Option<&Lane>) -> Line<'a> {
    let index = sheet.headline;
    let metric = &sheet.metrics[index];
    let speedup = peer.and_then(|peer| sheet.speedup(index, own, peer));
    let has_numbers = |lane: Option<&Lane>| lane.is_some_and(|l| !l.samples(index).is_empty());
    let are_known = has_numbers(Some(own)) && has_numbers(peer);
    let unknown = if are_known { "too small to compare" } else { "no number" };
    let verdict = speedup.map_or(unknown, |speedup| speedup.verdict.word(&metric.unit));
    let done = peer.filter(|_| sheet.is_yours).map_or(&sheet.done, |peer| &peer.name);
    let cells = [
        done.clone(),
        cell(Some(own), index, metric, &sheet.own),
        cell(peer, index, metric, done),
        speedup.map_or_else(|| "–".to_owned(), |speedup| speedup.text()),
        verdict.to_owned() + if sheet.noise.is_some() { " *" } else { "" },
    ];
    let options = Some(sheet.differences(sheets)).filter(|options| !options.is_empty());
    let beside = beside(sheet, own, peer).filter(|_| !sheet.is_yours);
    let below = options.into_iter().chain(beside).collect();
    Line { workload: &sheet.workload, cells, below, verdict: speedup.map(|known| known.verdict) }
}

/// The best peer of another class, if it is better than this peer; and the best configuration of brigade, if it is better than the
/// default.
fn beside(sheet: &Sheet, own: &Lane, peer: Option<&Lane>) -> Option<String> {
    let index = sheet.headline;
    let is_better = |lane: &Lane, than: &Lane| {
        let speedup = sheet.speedup(index, lane, than);
        speedup.is_some_and(|speedup| speedup.verdict == Verdict::Better)
    };
    let name = |lane: &Lane, why: &str| {
        format!("{} ({why})", cell(Some(lane), index, &sheet.metrics[index], ""))
    };
    let stranger = sheet.best(index, |lane| lane.is_peer && lane.class != own.class);
    let stranger = stranger
        .filter(|lane| peer.is_some_and(|peer| lane.name != peer.name && is_better(lane, peer)));
    let twin = sheet.best(index, |lane| sheet.is_own(lane) && lane.class == own.class);
    let twin = twin.filter(|lane| lane.name != own.name && is_better(lane, own));
    let stranger = stranger.map(|lane| name(lane, lane.class.words()));
    let twin = twin.map(|lane| name(lane, "another configuration"));
    let all: Vec<_> = stranger.into_iter().chain(twin).collect();
    (!all.is_empty()).then(|| format!("beside: {}", all.join(", ")))
}

/// Whether further rounds of this row would change nothing: there is a verdict, or the interval reaches no further from the ratio than this
/// share. Nor would they if there is nothing to compare.
pub(crate) fn is_decided(sheet: &Sheet, until: Option<f64>) -> bool {
    let speedup =
        own(sheet, None).and_then(|own| sheet.speedup(sheet.headline, own, rival(sheet, own)?));
    speedup.is_none_or(|Speedup { low, middle, high, verdict }| match until {
        None => !matches!(verdict, Verdict::Unclear | Verdict::TooFew),
        Some(until) => (high / middle).max(middle / low) - 1.0 <= until,
    })
}

/// A target and its median, without the name if the table has it already.
fn cell(lane: Option<&Lane>, index: usize, metric: &Metric, known: &str) -> String {
    let Some(lane) = lane else { return "–".to_owned() };
    let value = quantity::known(lane.median(index), &metric.unit);
    if lane.name == known { value } else { format!("{} {value}", lane.name) }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::report::results::{Lane, Sheet};
    use crate::target::Class;
    use crate::workload::{Metric, Params};

    /// A row with these times, each in five rounds.
    fn sheet(threads: u64, times: &[(&str, f64)]) -> Sheet {
        let lane = |&(name, time): &(&str, f64)| {
            let lane = Lane::new(name, !name.starts_with("brigade"), Class::Threads);
            Lane { values: vec![vec![time; 5]], ..lane }
        };
        Sheet {
            workload: "wake".to_owned(),
            done: "start one job".to_owned(),
            own: "brigade".to_owned(),
            params: Params::from_iter([("threads".to_owned(), threads.into())]),
            metrics: vec![Metric::less("start", "s")],
            noise: None,
            lanes: times.iter().map(lane).collect(),
            ..Sheet::default()
        }
    }

    #[test]
    fn each_row_names_best_peer_and_verdict() {
        let answer = of(
            &[
                sheet(
                    1,
                    &[("brigade", 1e-6), ("brigade-lifo", 1e-9), ("rayon", 3e-6), ("tokio", 2e-6)],
                ),
                sheet(2, &[("rayon", 1e-6), ("tokio", 2e-6), ("brigade", 4e-6)]),
                sheet(3, &[("brigade", 1e-6), ("tokio", 1e-6)]),
                sheet(4, &[("brigade", 0.0), ("tokio", 1e-6)]),
                sheet(5, &[("brigadex", 1e-6), ("tokio", 1e-6)]),
            ],
            false,
        );
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
    fn failed_targets_and_foreign_rows_have_no_verdict() {
        let mut failed = sheet(1, &[("brigade", 1e-6), ("tokio", 2e-6)]);
        failed.lanes[0].failure = Some("lost a task".to_owned());
        let answer =
            of(&[failed, sheet(1, &[("tokio", 1e-6), ("rayon", 1e-6)])], false).expect("one");
        assert_eq!(answer.matches("start one job").count(), 1, "{answer}");
        assert!(answer.contains("no number"), "{answer}");
        assert!(
            of(&[sheet(1, &[("tokio", 1e-6)]), sheet(1, &[("brigade", 1e-6)])], false).is_none()
        );
    }

    #[test]
    fn only_like_is_compared_with_like() {
        let mut row = sheet(
            2,
            &[("brigade", 4e-6), ("brigade-lifo", 3e-6), ("tokio", 5e-6), ("chili", 1e-6)],
        );
        row.lanes[3].class = Class::Caller;
        let alone = of(std::slice::from_ref(&row), false).expect("an answer");
        let line = "start one job  4.00 µs  tokio 5.00 µs  1.25 (1.25 to 1.25)  faster\n    \
            beside: chili 1.00 µs (the waiting thread computes), brigade-lifo 3.00 µs (another configuration)\n";
        assert!(alone.contains(line), "{alone}");
        // Each common class has a line.
        for (name, time) in [("brigade-one-thread", 2e-6), ("tokio-current-thread", 1e-6)] {
            let lane = Lane::new(name, !name.starts_with("brigade"), Class::OneThread);
            row.lanes.push(Lane { values: vec![vec![time; 5]], ..lane });
        }
        let both = of(&[row], false).expect("an answer");
        let line =
            "brigade-one-thread 2.00 µs  tokio-current-thread 1.00 µs  0.50 (0.50 to 0.50)  slower";
        assert!(both.contains(line), "{both}");
    }

    #[test]
    fn each_of_many_workloads_has_one_line() {
        let rows = super::FAMILIES.iter().flat_map(|(_, workloads)| workloads.iter());
        let rows = rows.flat_map(|workload| [1, 2].map(|threads| (workload, threads)));
        let sheets: Vec<_> = rows
            .map(|(workload, threads)| Sheet {
                workload: (*workload).to_owned(),
                ..sheet(threads, &[("brigade", 1e-6), ("tokio", 2e-6)])
            })
            .collect();
        for (is_verbose, lines) in [(false, 14), (true, 28)] {
            let answer = of(&sheets, is_verbose).expect("an answer");
            assert_eq!(answer.matches("  faster\n").count(), lines, "{answer}");
            assert_eq!(answer.contains("\nForks\n"), !is_verbose, "{answer}");
            assert!(answer.contains("better in 28, worse in 0"), "{answer}");
        }
    }
}
