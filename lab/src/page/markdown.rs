//! Tables as Markdown, for an issue or a README.

use super::content::Content;
use crate::report::answer;
use crate::report::table::Grid;

/// All of it.
pub(super) fn of(content: &Content) -> String {
    let mut text = String::new();
    for warning in content.warnings() {
        text += &format!("> {}\n\n", escaped(&warning));
    }
    let answer = answer(content);
    if !answer.is_empty() {
        text += &format!("## The answer\n\n{answer}");
    }
    text += "## The machine\n\n";
    for (name, value) in content.machine() {
        text += &format!("- {}: {}\n", escaped(&name), escaped(&value));
    }
    let detail = content.detail();
    for (workload, sheets) in content.workloads() {
        text += &format!("\n## {}\n\n", escaped(workload));
        text += &format!("{}\n", escaped(sheets.first().map_or("", |sheet| &sheet.like)));
        for sheet in sheets {
            text += &format!("\n```sh\n{}\n```\n\n", content.command(sheet));
            for line in [&sheet.note, &sheet.noise].into_iter().flatten() {
                text += &format!("{}\n\n", escaped(line));
            }
            let metrics = sheet.measured().filter(|(index, _)| detail.shows(sheet, *index));
            let grids = metrics.map(|(index, _)| Grid::of_metric(sheet, index));
            grids.chain([Grid::of_runs(sheet)]).for_each(|shown| grid(&mut text, &shown));
            for lane in &sheet.lanes {
                if let Some(failure) = &lane.failure {
                    text +=
                        &format!("{}: no number: {}\n\n", escaped(&lane.name), escaped(failure));
                }
            }
        }
    }
    text
}

/// The answer; nothing if there is none.
pub(super) fn answer(content: &Content) -> String {
    let (mut text, lines) = (String::new(), answer::lines(&content.sheets));
    if lines.is_empty() {
        return text;
    }
    let heads = answer::head(&content.sheets);
    let rows = lines.iter().map(|line| {
        let mut cells = line.cells.clone();
        let options = if line.options.is_empty() { "" } else { " — " };
        cells[0] = format!("{}{options}{}", cells[0], line.options);
        cells.to_vec()
    });
    table(&mut text, &heads, ":--|--:|--:|--:|:--", rows);
    text + &format!("{}.\n\n", answer::summary(&content.sheets, &lines))
}

/// Adds a table of targets, and the line below it.
pub(super) fn grid(text: &mut String, grid: &Grid<'_>) {
    if grid.lines.is_empty() {
        let lacking = grid.note.iter().map(|note| format!("{}: {note}\n\n", escaped(&grid.title)));
        text.extend(lacking);
        return;
    }
    let heads = [grid.heading()].into_iter().chain(grid.heads.iter().map(|&head| head.to_owned()));
    let rows = grid.lines.iter().map(|(lane, cells)| {
        [lane.name.clone()].into_iter().chain(cells.iter().cloned()).collect()
    });
    let rule = ":--".to_owned() + &"|--:".repeat(grid.heads.len());
    table(text, &heads.collect::<Vec<_>>(), &rule, rows);
    text.extend(grid.note.iter().map(|note| format!("{}\n\n", escaped(note))));
}

/// Adds a table.
pub(super) fn table(
    text: &mut String,
    heads: &[String],
    rule: &str,
    rows: impl Iterator<Item = Vec<String>>,
) {
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    *text += &format!("{}|{rule}|\n", line(heads));
    rows.for_each(|row| *text += &line(&row));
    *text += "\n";
}

/// `text` without anything that Markdown or HTML would interpret.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_[]<>|&#~".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
