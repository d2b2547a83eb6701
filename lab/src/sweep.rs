//! Sweeps: an option of a workload with several values stands for a run with each of them.

use std::ffi::OsString;
use std::slice;

use clap::{Arg, Command};

use crate::limits;
use crate::stop::Stop;
use crate::workloads::channels::UNBOUNDED;

/// The command lines of this sweep: one for each combination of the values of the options, in order.
pub(crate) fn lines(command: &Command, line: &[OsString]) -> Result<Vec<Vec<OsString>>, Stop> {
    let mut lines: Vec<Vec<OsString>> = vec![Vec::with_capacity(line.len())];
    let (mut workload, mut option, mut is_over) = (None, None, false);
    for word in line {
        let text = word.to_str().unwrap_or_default();
        // The rest belongs to another program.
        is_over |= text == "--";
        let (arg, value) = match (option.take(), text.strip_prefix("--")) {
            _ if is_over => (None, ""),
            // The value of the option before it.
            (Some(arg), _) => (Some(arg), text),
            (None, Some(rest)) => {
                let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
                let arg = find(command, workload, name);
                // The next word is the value, unless it stands in this one.
                option = arg.filter(|arg| rest == name && arg.get_action().takes_values());
                (arg, value)
            }
            (None, None) => {
                workload = workload.or_else(|| command.find_subcommand(text));
                (None, "")
            }
        };
        let Some(values) = arg.and_then(|arg| values(workload, arg, value)) else {
            // In place: a line may have a hundred thousand words.
            lines.iter_mut().for_each(|line| line.push(word.clone()));
            continue;
        };
        let name = &text[..text.len() - value.len()];
        let words: Vec<_> = values.iter().map(|value| format!("{name}{value}").into()).collect();
        let (rows, most) = (lines.len() * words.len(), limits::MAX_ROWS);
        Stop::usage_if(rows > most, format!("a sweep may have {most} rows at most"))?;
        // The first of two options changes last.
        let with = |line: &Vec<OsString>| {
            let line = line.clone();
            words.iter().map(move |word| [&line[..], slice::from_ref(word)].concat())
        };
        lines = lines.iter().flat_map(with).collect();
    }
    Ok(lines)
}

/// The option with this name, of the workload or of all.
fn find<'a>(command: &'a Command, workload: Option<&'a Command>, name: &str) -> Option<&'a Arg> {
    let all = workload.into_iter().chain([command]).flat_map(Command::get_arguments);
    all.into_iter().find(|arg| arg.get_long() == Some(name))
}

/// The values in this text, if it is a list for an option of the workload.
fn values(workload: Option<&Command>, arg: &Arg, text: &str) -> Option<Vec<String>> {
    let is_own = workload?.get_arguments().any(|other| other == arg);
    if !is_own || arg.get_value_delimiter().is_some() {
        return None;
    }
    let words = arg.get_possible_values();
    if text == "all" && !words.is_empty() {
        return Some(words.iter().map(|word| word.get_name().to_owned()).collect());
    }
    let values: Vec<_> = text.split(',').collect();
    // A text with a comma is none.
    let is_number = |value: &&str| value.starts_with(|first: char| first.is_ascii_digit());
    let is_list =
        !words.is_empty() || values.iter().all(|value| *value == UNBOUNDED || is_number(value));
    (is_list && values.len() > 1).then(|| values.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::workloads::Choice;
    use clap::{Arg, Command, Subcommand};
    use std::ffi::OsString;

    /// The lines of the sweep `line`.
    fn swept(line: &str) -> Vec<String> {
        let command =
            Command::new("lab").arg(Arg::new("target").long("target").value_delimiter(','));
        let command = Choice::augment_subcommands(command);
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let lines = lines(&command, &words).expect("few rows").into_iter();
        lines
            .map(|line| line.join(OsString::from(" ").as_os_str()).into_string().expect("text"))
            .collect()
    }

    #[test]
    fn the_last_option_of_a_combination_changes_first() {
        assert_eq!(
            swept("lab wake --threads 1,2 --shots=3,40"),
            [
                "lab wake --threads 1 --shots=3",
                "lab wake --threads 1 --shots=40",
                "lab wake --threads 2 --shots=3",
                "lab wake --threads 2 --shots=40",
            ]
        );
    }

    #[test]
    fn text_without_a_list_stays() {
        for line in [
            "wake --threads 4",
            "wake --threads 1e3",
            "wake --threads 1..8",
            "wake --threads ,",
            "wake --target tokio,rayon",
            "--target wake,steal fan-out --children 5",
            "bucket-brigade --command a,b",
            "wake --no-such-option 1,2",
            "wake --threads",
        ] {
            assert_eq!(swept(line), [line]);
        }
        assert_eq!(swept("wake --threads 1,x"), ["wake --threads 1,x"]);
        assert_eq!(swept("creation --kind task,thread").len(), 2);
        assert_eq!(swept("fork-join --program all").len(), 14);
        assert_eq!(swept("channels --capacity 1,unbounded").len(), 2);
        assert_eq!(swept("burst --gap-ms 0.1,5").len(), 2);
        let endless = ["wake", "--threads", &"1,".repeat(1_001)].map(OsString::from);
        let command = Choice::augment_subcommands(Command::new("lab"));
        assert!(lines(&command, &endless).is_ok(), "not a list of numbers");
        let endless =
            ["wake", "--threads", &format!("1{}", ",1".repeat(1_000))].map(OsString::from);
        assert!(lines(&command, &endless).is_err());
    }
}
