//! A result file for people: a page, or the tables of the terminal.

use std::path::PathBuf;

use clap::Args;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::picture;
use crate::report::answer::{self, Line};
use crate::report::destination::Outputs;
use crate::report::results::{Results, Sheet};
use crate::report::speedup::Verdict;
use crate::report::table::{self, Detail};
use crate::report::write_line;
use crate::stop::{Stop, escaped};

/// How the page looks, besides the pictures.
const STYLE: &str = include_str!("page.css");

/// Options of `report`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Report {
    /// A result file, as `--json` writes it.
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
}

impl Report {
    /// Writes the page to its file, or prints the tables if there is none.
    pub(crate) fn run(&self, outputs: &Outputs, is_verbose: bool) -> Result<(), Stop> {
        let Some(html) = &outputs.html else {
            return write_line(&Results::read(&self.results)?.text(is_verbose));
        };
        if html.is_at(&self.results) {
            return Err(Stop::Usage("a report must not replace its result file".to_owned()));
        }
        html.write(Results::read(&self.results)?.page().as_bytes())
    }
}

impl Results {
    /// The tables of the terminal: of several workloads a single metric each, as the answer stands below them.
    fn text(&self, is_verbose: bool) -> String {
        let detail = match () {
            () if is_verbose => Detail::Verbose,
            () if self.sheets.iter().any(|s| s.workload != self.sheets[0].workload) => {
                Detail::Headline
            }
            () => Detail::Usual,
        };
        let head = self.machine.describe(true).into_iter().map(|line| line + "\n");
        let tables = self.sheets.iter().map(|sheet| table::of(sheet, detail) + "\n");
        let answer = answer::of(&self.sheets, true).map(|answer| answer + "\n");
        let warnings = self.warnings().into_iter().map(|warning| format!("\n{warning}"));
        head.chain(tables).chain(answer).chain(warnings).collect::<String>().trim_end().to_owned()
    }

    /// Doubts about all of it.
    fn warnings(&self) -> Vec<String> {
        let partial = "Not complete: something failed or was interrupted.";
        let partial = (!self.complete).then(|| partial.to_owned());
        let busy = self.noise.busy.as_deref().map(|busy| capital(busy) + ".");
        partial.into_iter().chain(busy).collect()
    }

    /// The page of the results.
    pub(crate) fn page(&self) -> String {
        let lines = answer::lines(&self.sheets);
        let own = self.sheets.first().map_or("", |sheet| &sheet.own);
        let title = match lines.is_empty() {
            true => "Measurements".to_owned(),
            false => format!("How {own} compares"),
        };
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) " – brigade-lab" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { (title) }
                    @if !lines.is_empty() { p { (capital(&answer::summary(&self.sheets, &lines))) "." } }
                    @for line in self.machine.describe(false) { p.muted { (line) } }
                    @for warning in self.warnings() { p.warning { strong { "Note: " } (warning) } }
                    @if !lines.is_empty() { (self.answer(&lines)) }
                    @for (index, sheet) in self.sheets.iter().enumerate() {
                        section id={ "row-" (index) } { (self.row(sheet)) }
                    }
                    section #machine {
                        h2 { "The machine" }
                        pre { (self.machine.describe(true).join("\n")) }
                    }
                    footer { p { (HOW) } }
                }
            }
        };
        escaped(&page.into_string())
    }

    /// brigade beside the best peer of each row.
    fn answer(&self, lines: &[Line<'_>]) -> Markup {
        let mark = |line: &Line<'_>| match line.speedup.map(|speedup| speedup.verdict) {
            Some(Verdict::Better) => ("▲ ", "better"),
            Some(Verdict::Worse) => ("▼ ", "worse"),
            Some(Verdict::Same) => ("≈ ", "muted"),
            _ => ("", "muted"),
        };
        let (title, head) = answer::head(&self.sheets);
        let place = |sheet: &Sheet| self.sheets.iter().position(|other| std::ptr::eq(other, sheet));
        html! {
            section #answer {
                h2 { "The answer" }
                div.scroll { table {
                    caption { (title) }
                    thead { tr { @for head in head { th scope="col" { (head) } } } }
                    tbody { @for line in lines { tr {
                        @let ([done, cells @ .., word], (mark, class)) = (&line.cells, mark(line));
                        th scope="row" {
                            a href={ "#row-" (place(line.sheet).unwrap_or_default()) } { (done) }
                            " " span.muted { (line.options) }
                        }
                        @for cell in cells { td { (cell) } }
                        td class=(class) { (mark) (word) }
                    } } }
                } }
            }
        }
    }

    /// A row: the picture, the tables as the terminal has them, and the command to repeat it.
    fn row(&self, sheet: &Sheet) -> Markup {
        let title = sheet.metrics.get(sheet.headline).map(table::title).unwrap_or_default();
        html! {
            h2 { (sheet.workload) " " span.muted { (sheet.differences(&self.sheets)) } }
            @if let Some(svg) = picture::bars(sheet, sheet.headline, &title, &[]) {
                div.picture role="img" aria-label=(title) { (PreEscaped(svg)) }
            }
            pre { (table::of(sheet, Detail::Headline).trim_start()) }
            details {
                summary { "All metrics, and whole runs" }
                pre { (table::of(sheet, Detail::Verbose).trim_start()) }
            }
            pre { code { (self.command(sheet)) } }
        }
    }
}

/// How to read the tables.
const HOW: &str = "Each target ran once in each round, in random order, after a round that warmed up. A table has the medians, the least \
    and the greatest of the rounds; × best peer is how many times as good it is as the best peer, \
    2 twice the rate or half the time; CPUs are the CPUs that a target \
    kept busy. A bar is a median, and its whisker the interval that holds 95 per cent of the medians of a bootstrap over the rounds, if there \
    are five. A speed-up of 2 is twice the rate, or half the time, with the same kind of interval.";

/// `text` as the beginning of a sentence.
fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase());
    first.into_iter().flatten().chain(characters).collect()
}
