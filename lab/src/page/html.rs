//! The page: one file that loads nothing, without a script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::content::{Content, capital};
use super::plots::{self, Plot};
use crate::chart::theme::{STYLE, Theme};
use crate::chart::{strip, wording};
use crate::report::answer::{self, Line};
use crate::report::results::{Lane, Sheet};
use crate::report::speedup::{Speedup, Verdict};
use crate::report::table::Grid;
use crate::stop::printable;

/// How the page looks, besides the plots and the colours.
const PAGE: &str = include_str!("page.css");

/// The page of this result file.
pub(super) fn page(content: &Content) -> Markup {
    let (light, dark) = (Theme::Light.variables(), Theme::Dark.variables());
    let style = format!(
        ":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{PAGE}{STYLE}"
    );
    let lines = answer::lines(&content.sheets);
    let own = content.sheets.first().map_or("", |sheet| &sheet.own);
    let title = match lines.is_empty() {
        true => "Measurements".to_owned(),
        false => format!("How {own} compares"),
    };
    let workloads = content.workloads();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – brigade-lab" }
                style { (PreEscaped(style)) }
            }
            body {
                a.skip href="#main" { "Skip to the results" }
                header {
                    h1 { (title) }
                    @if !lines.is_empty() { p.lede { (capital(&answer::summary(&content.sheets, &lines))) "." } }
                    p.muted { (machine(content)) }
                    @for warning in content.warnings() { p.warning { strong { "Note: " } (warning) } }
                }
                nav aria-label="Workloads" {
                    ul {
                        @for (index, (workload, _)) in workloads.iter().enumerate() {
                            li { a href={ "#" (id(workload, index)) } { (workload) } }
                        }
                        li { a href="#machine" { "The machine" } }
                    }
                }
                main #main tabindex="-1" {
                    @if !lines.is_empty() { (answer(content, &workloads, &lines)) }
                    @for (index, (workload, sheets)) in workloads.iter().enumerate() {
                        (section(content, workload, sheets, &id(workload, index)))
                    }
                    (setting(content))
                }
                footer { (footer()) }
            }
        }
    }
}

/// What it was measured on, in a line.
fn machine(content: &Content) -> String {
    let [machine, built] = wording::origin(&content.recorded.machine);
    printable(&format!("{machine} · {built}"))
}

/// The place of a workload on the page: its name, if that is plain.
fn id(workload: &str, index: usize) -> String {
    match workload.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        true => format!("workload-{workload}"),
        false => format!("workload.{index}"),
    }
}

/// The place of a row, among those of its workload.
fn place(workloads: &[(&str, Vec<&Sheet>)], sheet: &Sheet) -> String {
    let mut places = workloads.iter().enumerate().filter_map(|(index, (workload, sheets))| {
        let row = sheets.iter().position(|other| std::ptr::eq(*other, sheet))?;
        Some(format!("{}.{row}", id(workload, index)))
    });
    places.next().unwrap_or_default()
}

/// brigade beside the best peer of each row.
fn answer(content: &Content, workloads: &[(&str, Vec<&Sheet>)], lines: &[Line<'_>]) -> Markup {
    html! {
        section #answer aria-labelledby="answer-heading" {
            h2 #answer-heading { "The answer" }
            p.legend { "A speed-up of 2 is twice the rate, or half the time. The interval holds 95 per cent of a bootstrap over the rounds. "
                "In the small plots the middle is 1, and the ends are ⅛ and 8." }
            div.scroll tabindex="0" role="region" aria-label="The answer" {
                table {
                    caption { (answer::title(&content.sheets)) }
                    thead { tr {
                        @let [_, own, peer, speedup, word] = answer::head(&content.sheets);
                        th scope="col" { @if content.sheets.iter().any(|sheet| sheet.is_yours) { "beside" } @else { "what is done" } }
                        th.words scope="col" { (word) }
                        @for head in [speedup, own, peer] { th scope="col" { (head) } }
                    } }
                    tbody {
                        @for line in lines {
                            @let verdict = line.speedup.map(|speedup| speedup.verdict);
                            @let (mark, class) = match verdict {
                                Some(Verdict::Better) => ("▲ ", "better"),
                                Some(Verdict::Worse) => ("▼ ", "worse"),
                                Some(Verdict::Same) => ("≈ ", "muted"),
                                _ => ("", "muted"),
                            };
                            @let [done, own, peer, speedup, word] = &line.cells;
                            tr {
                                th scope="row" {
                                    a href={ "#" (place(workloads, line.sheet)) } { (done) }
                                    @if !line.options.is_empty() { span.options { (options(&line.options)) } }
                                }
                                td.words { span class=(class) { span aria-hidden="true" { (mark) } (word) } }
                                td {
                                    @if let Some(Speedup { low, middle, high, .. }) = line.speedup {
                                        span class={ "ratio " (class) } { (strip(low, middle, high)) }
                                    }
                                    (speedup)
                                }
                                @for cell in [own, peer] { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A workload: what it stands for, its sweeps, and its rows.
fn section(content: &Content, workload: &str, sheets: &[&Sheet], id: &str) -> Markup {
    let first = sheets.first().map_or((workload, ""), |sheet| (&sheet.done, &sheet.like));
    let sweeps = plots::sweeps(sheets);
    html! {
        section id=(id) aria-labelledby={ (id) ".heading" } {
            h2 id={ (id) ".heading" } { (workload) }
            p { @if first.0 != workload { (capital(first.0)) ". " } (first.1) }
            @if !sweeps.is_empty() {
                div.flow { @for (index, plot) in sweeps.iter().enumerate() { (figure(plot, &format!("{id}.sweep.{index}"))) } }
            }
            @for (index, sheet) in sheets.iter().enumerate() {
                @let id = format!("{id}.{index}");
                @let options = sheet.differences(&content.sheets);
                div id=(id) {
                    @if !options.is_empty() { h3 { (self::options(&options)) } }
                    (row(content, sheet, &id))
                }
            }
        }
    }
}

/// Options, none of which is broken at its hyphens.
fn options(text: &str) -> Markup {
    html! { @for (index, option) in text.split(" --").enumerate() { @if index > 0 { " " } span.option { @if index > 0 { "--" } (option) } } }
}

/// A row: its plots, its tables, and the command that repeats it.
fn row(content: &Content, sheet: &Sheet, id: &str) -> Markup {
    let further = sheet.measured().map(|(index, _)| index).filter(|index| *index != sheet.headline);
    let differences = sheet.differences(&content.sheets);
    let further = further.map(|index| Grid::of_metric(sheet, index)).chain([Grid::of_runs(sheet)]);
    let is_shown = |grid: &Grid<'_>| !grid.lines.is_empty() || grid.note.is_some();
    let further: Vec<_> = further.filter(is_shown).map(|grid| table(sheet, &grid)).collect();
    html! {
        @for line in [&sheet.note, &sheet.noise].into_iter().flatten() { p.muted { (line) } }
        div.flow {
            @for (index, plot) in plots::of(sheet).iter().enumerate() { (figure(plot, &format!("{id}.plot.{index}"))) }
            (table(sheet, &Grid::of_metric(sheet, sheet.headline)))
        }
        @for lane in &sheet.lanes {
            @if let Some(failure) = &lane.failure { p.warning { strong { (lane.name) } " has no number: " (failure) } }
        }
        @if !further.is_empty() {
            details {
                summary { "All metrics of " (sheet.workload) ", and whole runs" @if !differences.is_empty() { span.options { (options(&differences)) } } }
                @for table in further { (table) }
            }
        }
        div.command { span { "To repeat it:" } pre { code { (content.command(sheet)) } } }
    }
}

/// A plot with its heading.
fn figure(plot: &Plot, id: &str) -> Markup {
    html! {
        figure {
            figcaption { b { (plot.title) } (plot.key) }
            (plot.drawing.inline(id, &plot.title, &plot.description))
        }
    }
}

/// A table of targets and the line below it, or why there is none.
fn table(sheet: &Sheet, grid: &Grid<'_>) -> Markup {
    let class = |lane: &Lane| if sheet.is_own(lane) { "own" } else { "" };
    html! {
        @if grid.lines.is_empty() {
            @if let Some(note) = &grid.note { p.muted { (grid.title) ": " (note) } }
        } @else {
            @let title = grid.heading();
            div.table {
                div.scroll tabindex="0" role="region" aria-label={ (sheet.workload) ", " (title) } {
                    table {
                        caption { (sheet.workload) ": " (title) }
                        thead { tr { th scope="col" { "target" } @for head in grid.heads { th scope="col" { (head) } } } }
                        tbody {
                            @for (lane, cells) in &grid.lines {
                                tr class=(class(lane)) { th scope="row" { (lane.name) } @for cell in cells { td { (cell) } } }
                            }
                        }
                    }
                }
                @if let Some(note) = &grid.note { p.muted { (note) } }
            }
        }
    }
}

/// The machine and the settings.
fn setting(content: &Content) -> Markup {
    html! {
        section #machine aria-labelledby="machine-heading" {
            h2 #machine-heading { "The machine" }
            dl { @for (name, value) in content.machine() { dt { (name) } dd { (value) } } }
        }
    }
}

/// How to read the tables.
fn footer() -> Markup {
    html! {
        p { "Each target ran once in each round, in random order, after a round that warmed up. A table has the medians, the least and the "
            "greatest of the rounds; × best peer is the median of the ratios to the best peer of each round; CPUs are the CPUs that a target kept "
            "busy. A bar is a median. Its whisker is the interval that holds 95 per cent of the medians of a bootstrap over the rounds, if there are five, and a "
            "thin line goes from the least round to the greatest; one with an arrow goes further. A line of a distribution is, at p99, the time that 99 of 100 values of "
            "all rounds did not exceed; it ends where ten values are beyond it, and goes on to the greatest. The names of what the others are compared with are bold." }
        p { "Written by brigade-lab. " code { "brigade-lab report results.json --html report.html" } " makes such a page from a result file." }
    }
}
