//! The reasons for which the laboratory stops early, and the exit code of each.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// A reason to stop early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The reader of the output has closed it: no failure, and nothing is printed.
    Closed,
    /// The command line asks for something unknown or forbidden.
    Usage(String),
    /// This machine can't provide the requested resources.
    Refused(String),
    /// The machine was busy, and `--quiet-machine` forbids it.
    Busy(String),
    /// A target other than a peer lost or repeated a task, or the results could not be written.
    Failed(String),
}

impl Stop {
    /// An error of the command line, for this reason, if it is wrong.
    pub(crate) fn usage_if(is_wrong: bool, reason: impl Into<String>) -> Result<(), Self> {
        if is_wrong { Err(Stop::Usage(reason.into())) } else { Ok(()) }
    }

    /// The exit code of this reason.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Stop::Closed => 0,
            Stop::Failed(_) => 1,
            Stop::Usage(_) => 2,
            Stop::Refused(_) => 3,
            Stop::Busy(_) => 4,
        })
    }

    /// The reason in words.
    #[cfg(test)]
    pub(crate) fn reason(&self) -> &str {
        match self {
            Stop::Closed => "the output is closed",
            Stop::Usage(reason)
            | Stop::Refused(reason)
            | Stop::Failed(reason)
            | Stop::Busy(reason) => reason,
        }
    }

    /// Says the reason on stderr on a line, as well as stderr allows.
    pub(crate) fn explain(&self) {
        let (reason, hint) = match self {
            Stop::Closed => return,
            Stop::Usage(reason) => (reason, "\ntry `brigade-lab --help`"),
            Stop::Refused(reason) | Stop::Failed(reason) | Stop::Busy(reason) => (reason, ""),
        };
        // `eprintln!` panics on a closed stderr; then nothing can be printed.
        let _ = writeln!(io::stderr(), "brigade-lab: {}{hint}", printable(reason));
    }
}

/// A failure to write output: a closed reader is no failure.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Stop::Closed,
            _ => Stop::Failed(format!("the output can't be written: {error}")),
        }
    }
}

/// The longest reason shown. Arguments are echoed in reasons, and an argument can be 100 KiB.
const LONGEST_REASON: usize = 1500;

/// `text` on a single line without control characters, which a terminal would interpret.
pub(crate) fn printable(text: &str) -> String {
    escaped(&text.chars().take(LONGEST_REASON).collect::<String>()).replace('\n', "\\n")
}

/// `text` without control characters but the ends of lines.
pub(crate) fn escaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && character != '\n' {
            all.extend(character.escape_default());
        } else {
            all.push(character);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_REASON, printable};

    #[test]
    fn echoed_arguments_command_no_terminal() {
        assert_eq!(printable("no \u{1b}[31mred\n"), "no \\u{1b}[31mred\\n");
        assert_eq!(printable(&"x".repeat(100_000)).len(), LONGEST_REASON);
    }
}
