//! Tables as Markdown, for an issue or a README.

use super::content::Content;
use crate::report::answer;
use crate::report::table;

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
            for (index, metric) in sheet.measured().filter(|(i, _)| detail.shows(sheet, *i)) {
                if let Some(reason) = sheet.lacking(index) {
                    text += &format!("{}: {reason}\n\n", escaped(&table::title(metric)));
                }
                let lines = table::lines(sheet, index);
                if lines.is_empty() {
                    continue;
                }
                let heads =
                    [table::title(metric)].into_iter().chain(table::HEAD.map(str::to_owned));
                let rows = lines
                    .into_iter()
                    .map(|(lane, cells)| [lane.name.clone()].into_iter().chain(cells).collect());
                let heads: Vec<_> = heads.collect();
                table(&mut text, &heads, ":--|--:|--:|--:|--:|--:", rows);
            }
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

/// Adds a table.
fn table(text: &mut String, heads: &[String], rule: &str, rows: impl Iterator<Item = Vec<String>>) {
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
