//! Starts this program again, or one beside it, as another process.

use std::env;
use std::io;
use std::process::Command;

/// A command that starts this program, on Linux even if its file has been replaced since.
pub(crate) fn this() -> io::Result<Command> {
    if cfg!(target_os = "linux") {
        Ok(Command::new("/proc/self/exe"))
    } else {
        env::current_exe().map(Command::new)
    }
}

/// A command that starts a program that lies beside this one.
pub(crate) fn beside(name: &str) -> io::Result<Command> {
    let program = env::current_exe()?.with_file_name(name);
    // `brigade-lab-rayon`, and `brigade-lab-executors-no-park`.
    let script = format!("ci/lab.sh {}", name.split('-').nth(2).unwrap_or_default());
    match program.is_file() {
        true => Ok(Command::new(program)),
        false => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("{} is not there: build it with {script}", program.display()),
        )),
    }
}
