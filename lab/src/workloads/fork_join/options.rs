//! The options of `fork-join` on the command line, which may stand for several rows.

use super::ForkJoin;
use super::kind::Kind;
use crate::workloads::prelude::*;

/// Options of `fork-join`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The program; without it all of them are measured, one after the other
    #[arg(long, value_enum)]
    program: Option<Kind>,
    /// How large its input is [default: that of the program]
    #[arg(long, requires = "program", value_parser = whole::<1, { limits::MAX_TASKS }>)]
    size: Option<u64>,
    /// Threads that run it.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
    /// Runs of the program that count, after one that warms up.
    #[arg(long, default_value_t = 3, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    repetitions: u64,
}

impl Rows for Options {
    fn rows(&self) -> Result<Vec<Box<dyn Row>>, Stop> {
        let kinds = match &self.program {
            Some(kind) => std::slice::from_ref(kind),
            None => Kind::value_variants(),
        };
        let row = |kind: &Kind| {
            let size = self.size.unwrap_or(kind.default());
            if !kind.sizes().contains(&size) {
                let (least, most) = kind.sizes().into_inner();
                let name = kind.name();
                return Err(Stop::Usage(format!("the size of {name} is from {least} to {most}")));
            }
            let (threads, repetitions) = (self.threads, self.repetitions);
            let row: Box<dyn Row> =
                Box::new(ForkJoin { program: *kind, size, threads, repetitions });
            Ok(row)
        };
        kinds.iter().map(row).collect()
    }
}
