//! A program that the command line names, or that a search has chosen.

use crate::generate::{names, program};
use crate::machine::IS_SEEDED;
use crate::program::Program;
use crate::source::Source;

/// Runs of each case.
pub(crate) const OF_A_CASE: u64 = if IS_SEEDED { 2_000 } else { 400 };
/// The script that runs a program again.
pub(crate) const SCRIPT: &str = if IS_SEEDED { "ci/seeded.sh" } else { "ci/soak.sh programs" };

/// A seed, in decimal or as `0x` and hexadecimal digits.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    number.ok_or_else(|| format!("no seed, as 0x12ab is: {text}"))
}

/// The names of operations, or none.
pub(crate) fn verbs(text: &str) -> Result<Vec<String>, String> {
    let only: Vec<String> = text.split_terminator(',').map(String::from).collect();
    let all = names();
    match only.iter().find(|name| !all.contains(name)) {
        Some(name) => Err(format!("no verb is named `{name}`; there are {}", all.join(","))),
        None => Ok(only),
    }
}

/// A program, and the seed of its schedule.
#[derive(Clone)]
pub(crate) struct Chosen {
    pub(crate) seed: u64,
    pub(crate) program: Program,
    pub(crate) source: Source,
}

impl Chosen {
    /// The program of a seed.
    pub(crate) fn random(seed: u64, only: &[String]) -> Self {
        Self::new(seed, Source::random(seed ^ 0x9e37_79b9, only.to_vec()))
    }

    pub(crate) fn new(seed: u64, mut source: Source) -> Self {
        Self { seed, program: program(&mut source), source }
    }

    /// `SEED`, or `SEED:CHOICES`.
    pub(crate) fn parse(text: &str, only: &[String]) -> Result<Self, String> {
        let Some((seed, choices)) = text.split_once(':') else {
            return Ok(Self::random(number(text)?, only));
        };
        let byte = |at| u8::from_str_radix(choices.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..choices.len()).step_by(2).map(byte).collect();
        let bytes = bytes.ok_or_else(|| format!("no choices, as 0102ff are: {choices}"))?;
        Ok(Self::new(number(seed)?, Source::bytes(bytes)))
    }

    /// The same as text.
    pub(crate) fn text(&self) -> String {
        let choices: String = self.source.taken.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:#x}:{choices}", self.seed)
    }
}
