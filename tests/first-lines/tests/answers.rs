//! What rustc answers to calls of other crates, and to calls whose feature is not enabled: the words name the right call.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// Statements, and words of the answer.
const ANSWERS: &[(&str, &str)] = &[
    // Futures and closures.
    ("brigade::Pool::new(1).submit(async { 42 });", "to run a future, write `spawn(future)`"),
    (
        "brigade::Pool::new(1).handle().try_execute(async {});",
        "to run a future, write `spawn(future)`",
    ),
    (
        "brigade::TaskSet::<i32>::default().submit(async { 42 });",
        "to run a future, write `spawn(future)`",
    ),
    ("_ = brigade::scope(|s| s.execute(async {}));", "to run a future, write `spawn(future)`"),
    (
        "brigade::spawn(|| 42);",
        "to run a closure, write `execute(closure)`, or `submit(closure)` for its result",
    ),
    ("brigade::par_for(0_u8..9, 1, |_| ());", "use a `Range<usize>`, `&[T]`"),
    // Features.
    ("_ = brigade::Pool::new(1).start_trace();", "`cargo add brigade --features trace` enables it"),
    (
        "_ = brigade::Pool::new(1).histograms();",
        "`cargo add brigade --features histograms` enables it",
    ),
    (
        "_ = brigade::Pool::builder().pin([0, 1]);",
        "`cargo add brigade --features affinity` enables it",
    ),
    (
        "_ = brigade::Pool::builder().trace_jobs();",
        "`cargo add brigade --features tracing` enables it",
    ),
    (
        "_ = brigade::LocalPool::paused();",
        "`cargo add brigade --dev --features test-util` enables it",
    ),
    ("_ = brigade::io::TcpStream::connect(\"\");", "the item is gated behind the `io` feature"),
    // Names of other crates.
    ("brigade::Pool::new(1).join();", "here this is `wait_idle`"),
    ("_ = brigade::Pool::new(1).current_num_threads();", "here this is `*size().end()`"),
    ("_ = brigade::Pool::new(1).spawn_blocking(|| 42);", "here this is `submit`"),
    ("_ = brigade::submit(|| 42).abort();", "here this is `cancel`"),
    ("brigade::PoolBuilder::new();", "here this is `Pool::builder()`"),
    ("_ = brigade::Pool::builder().thread_name(\"cook\");", "here this is `name`"),
    ("_ = brigade::Pool::builder().queue_size(1);", "here this is `capacity`"),
];

/// Makes a package with a program for each statement, which has brigade's default features.
fn write_programs(folder: &Path) {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = tests.join("../../crates/brigade").canonicalize().unwrap();
    let programs = folder.join("src/bin");
    fs::create_dir_all(&programs).unwrap();
    let manifest = format!(
        "[package]\nname = \"answers\"\nedition = \"2021\"\n\n[dependencies]\nbrigade.path = {crates:?}\n\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(tests.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    for (number, (statement, _)) in ANSWERS.iter().enumerate() {
        let program = format!("fn main() {{\n    {statement}\n}}\n");
        fs::write(programs.join(format!("program{number}.rs")), program).unwrap();
    }
}

#[test]
fn rustc_names_the_right_call() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers");
    _ = fs::remove_dir_all(folder.join("src"));
    write_programs(&folder);
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--keep-going", "--message-format=json"])
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .current_dir(&folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut answers = vec![String::new(); ANSWERS.len()];
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let number =
            message["target"]["name"].as_str().and_then(|name| name.strip_prefix("program"));
        if let (Some(number), Some(rendered)) = (number, message["message"]["rendered"].as_str()) {
            answers[number.parse::<usize>().unwrap()] += rendered;
        }
    }
    let missing: Vec<_> = ANSWERS
        .iter()
        .zip(&answers)
        .filter(|((_, words), answer)| !answer.contains(words))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}\n{}", String::from_utf8_lossy(&output.stderr));
}
