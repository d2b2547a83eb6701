//! Passes to the laboratory the sources and settings of its build: a number without the compiler is not a measurement.

use std::env;
use std::fs;
use std::process::Command;

fn main() {
    let var = |name: &str| env::var(name).unwrap_or_default();
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let optimised = var("PROFILE") == "release";
    // A build without optimisation measures nothing, and is not made again for each commit.
    let commit = if optimised { commit() } else { None };
    let folder = var("OUT_DIR");
    let profile = folder.rsplit(['/', '\\']).nth(3).unwrap_or_default();
    for (name, value) in [
        ("RUSTC", output(Command::new(compiler).arg("--version")).unwrap_or_default()),
        ("COMMIT", commit.unwrap_or_default()),
        ("PROFILE", format!("{profile}, opt-level {}", var("OPT_LEVEL"))),
        // Cargo puts this character between two flags.
        ("RUSTFLAGS", var("CARGO_ENCODED_RUSTFLAGS").replace('\u{1f}', " ")),
    ] {
        println!("cargo::rustc-env=BRIGADE_LAB_{name}={}", value.replace(['\n', '\r'], " "));
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// The output of this command, if it can be run and succeeds.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}

/// The commit of the working tree, marked if it has changes since, if there is a working tree and a git.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| output(Command::new("git").args(arguments));
    let commit = git(&["describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=-modified"])?;
    // A commit, a switch of branches and an edit of the sources change it.
    for path in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", path]);
        // A missing file would be a change each time.
        if let Some(path) = path.filter(|path| fs::exists(path).unwrap_or(false)) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for path in ["src", "Cargo.toml", "../crates", "../Cargo.toml"] {
        println!("cargo::rerun-if-changed={path}");
    }
    Some(commit)
}
