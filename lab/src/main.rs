//! The program `brigade-lab`; all of it is in the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    brigade_lab::main()
}
