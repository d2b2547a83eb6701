//! Passes the compiler's version to the laboratory: a number without its compiler is not a
//! measurement.

use std::env;
use std::process::Command;

fn main() {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    println!("cargo::rustc-env=BRIGADE_LAB_RUSTC={}", version.trim());
    println!("cargo::rerun-if-changed=build.rs");
}
