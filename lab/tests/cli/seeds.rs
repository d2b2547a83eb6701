//! Every command is accepted of the pages that say which one does the job of which program, what shows which feature, and which
//! configuration is for which program, and of the scripts for machines with more cores and for the seeds' tables.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{check_all, code, errors, run, text};

/// The texts between backticks that are commands of the laboratory.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("brigade-lab "))
}

/// The text of this file of the repository.
fn page(path: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(page).expect("the page")
}

#[test]
fn the_configurations_pages_commands_are_accepted() {
    let page = page("crates/brigade/src/guide/choosing.md");
    // `run` is named without its arguments.
    let is_whole = |line: &&str| *line != "brigade-lab run";
    let lines: Vec<_> = page.lines().flat_map(commands).filter(is_whole).collect();
    assert!(lines.len() > 10, "{}", lines.len());
    accepted(&lines);
}

#[test]
fn the_features_pages_commands_are_accepted() {
    let page = page("docs/features.md");
    let lines: Vec<_> = page.lines().flat_map(commands).collect();
    assert!(lines.len() > 4, "{}", lines.len());
    accepted(&lines);
}

#[test]
fn the_seeds_pages_commands_are_accepted() {
    let page = page("docs/seeds.md");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    // A heading stands before a line of dashes.
    let is_heading = |line: &str| page.contains(&format!("{line}\n|---"));
    let rows: Vec<_> = rows.filter(|line| !is_heading(line)).collect();
    for row in &rows {
        assert!(commands(row).next().is_some(), "none for {row}");
        // A line through a cell would end it.
        assert_eq!(row.split(" | ").count(), 2, "{row}");
    }
    let lines: Vec<_> = rows.iter().flat_map(|row| commands(row)).collect();
    assert!(lines.len() >= rows.len() && rows.len() > 25, "{}", rows.len());
    accepted(&lines);
}

/// Caught: a target had another name, and no row was measured.
#[test]
fn the_rows_for_more_cores_are_accepted() {
    let script = page("ci/lab.sh");
    let cores = script.split("\ncores() (").nth(1).and_then(|rest| rest.split("\n)").next());
    let rows = cores.expect("the function").lines().filter_map(|line| line.split_once("row "));
    let values = [
        ("\"$half\"", "1"),
        ("\"$threads\"", "2"),
        ("* threads", "* 2"),
        ("$pools", "brigade,rayon,tokio"),
        ("$forks", "brigade,rayon,chili"),
    ];
    let of_two =
        |row: &str| values.iter().fold(row.to_owned(), |row, (of, is)| row.replace(of, is));
    let rows: Vec<_> = rows.map(|(_, row)| of_two(row)).collect();
    assert_eq!(rows.len(), 8);
    accepted(&rows.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Caught: a target had another name, and its column was empty.
#[test]
fn the_rows_of_the_seeds_tables_are_accepted() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/seeds.py");
    // The scripts need it, and a user of the laboratory does not.
    let Ok(output) = Command::new("python3").arg(script).arg("--rows").output() else { return };
    assert_eq!(code(&output), Some(0), "{}", errors(&output));
    let rows = text(&output);
    let rows: Vec<_> = rows.lines().collect();
    assert!(rows.len() > 200, "{}", rows.len());
    accepted(&rows);
}

/// Checks that the laboratory accepts these commands, and that each measures something.
fn accepted(lines: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    // Targets that a build without the feature leaves out.
    const OF_FULL: [&str; 7] = [
        "brigade-executors-",
        "brigade-rusty_pool",
        "brigade-threadpool",
        "brigade-burst-pool",
        "brigade-st3-",
        "fork-union",
        "monoio",
    ];
    let is_there =
        |line: &&&str| cfg!(feature = "full") || OF_FULL.iter().all(|name| !line.contains(name));
    let lines: Vec<_> = lines.iter().filter(is_there).copied().collect();
    check_all(&lines, |line| {
        let program = env!("CARGO_BIN_EXE_brigade-lab");
        let line = format!("\"$0\" {} --dry-run", line.trim_start_matches("brigade-lab "));
        let mut shell = Command::new("sh");
        shell.args(["-c", &line, program]).current_dir(folder.path()).stdin(Stdio::null());
        let output = run(&mut shell);
        assert_eq!(code(&output), Some(0), "{line}: {}", errors(&output));
        let plan = text(&output);
        // A row and its targets; of these there is one at least.
        assert!(
            plan.lines().all(|row| row.contains(": ") && !row.ends_with(": ")),
            "{line}: {plan}"
        );
    });
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is written");
}
