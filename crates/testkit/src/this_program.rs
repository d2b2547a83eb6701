//! The program of a test, started once more.

use std::env;
use std::process::Command;

/// The test's own program, to be started again. `BRIGADE_RUNNER` has the words of the emulator that it needs where another machine's programs run.
pub fn this_program() -> Command {
    let runner = env::var("BRIGADE_RUNNER").unwrap_or_default();
    let program = env::current_exe().unwrap();
    let mut words = runner.split_whitespace();
    let Some(emulator) = words.next() else { return Command::new(program) };
    let mut command = Command::new(emulator);
    command.args(words).arg(program);
    command
}
