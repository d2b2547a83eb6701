//! Starts this program again, or a program beside it, as another process.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use clap::ValueEnum;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A command that starts this program, on Linux even if the file has been replaced since.
pub(crate) fn this() -> io::Result<Command> {
    if cfg!(target_os = "linux") {
        Ok(Command::new("/proc/self/exe"))
    } else {
        env::current_exe().map(Command::new)
    }
}

/// A command that starts a program in the same folder.
pub(crate) fn beside(name: &str) -> io::Result<Command> {
    let program = env::current_exe()?.with_file_name(name);
    // `brigade-lab-rayon`, and `brigade-lab-executors-no-park`.
    let script = format!("ci/lab.sh {}", name.split('-').nth(2).unwrap_or_default());
    let reason = format!("{} is not there: build it with {script}", program.display());
    let missing = || io::Error::new(io::ErrorKind::NotFound, reason);
    if program.is_file() { Ok(Command::new(program)) } else { Err(missing()) }
}

/// This value as a word of a command line.
pub(crate) fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The name of this value on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// The reason given on stderr by a process of the laboratory.
pub(crate) fn reason(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    said.trim().rsplit("brigade-lab: ").next().unwrap_or_default().to_owned()
}

/// This program again, with which the laboratory exchanges lines. It ends when this is dropped, and stdin is closed however the
/// laboratory ends.
pub(crate) struct Helper {
    /// The process.
    pub(crate) child: Child,
    /// The helper's output.
    stdout: BufReader<ChildStdout>,
}

impl Helper {
    /// Starts it with these arguments.
    pub(crate) fn start(arguments: &[&str]) -> io::Result<Self> {
        let mut command = this()?;
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().expect("it is piped");
        Ok(Helper { child, stdout: BufReader::new(stdout) })
    }

    /// Tells it a value. A helper that has ended says why.
    pub(crate) fn say(&mut self, value: &impl Serialize) {
        let line = serde_json::to_string(value).unwrap_or_default();
        let _ = self.child.stdin.as_mut().map(|stdin| writeln!(stdin, "{line}"));
    }

    /// The next value it [tells](tell); none if it has ended.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> Option<T> {
        hear(&mut self.stdout).ok()
    }

    /// The reason why it has ended.
    pub(crate) fn reason(&mut self) -> String {
        let mut said = Vec::new();
        let _ = self.child.stderr.take().map(|mut stderr| stderr.read_to_end(&mut said));
        reason(&said)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // A helper that has ended is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a line as a value.
pub(crate) fn hear<T: DeserializeOwned>(mut from: impl BufRead) -> io::Result<T> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Tells the laboratory a value, in a line.
pub(crate) fn tell(value: &impl Serialize) -> io::Result<()> {
    print(serde_json::to_string(value)? + "\n")
}

/// Writes this to stdout, now.
pub(crate) fn print(content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(content.as_ref())?;
    stdout.flush()
}
