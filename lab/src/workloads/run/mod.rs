//! Programs of the user's, each a command, run as a whole: the same program with several pools, or several programs.

use std::collections::HashSet;
use std::ffi::OsString;

use serde_json::Value;

use self::process::Process;
use crate::report::results::Sheet;
use crate::workload::quoted;
use crate::workloads::prelude::*;

pub(crate) mod process;

/// The placeholder for the name of a pool.
const POOL: &str = "{pool}";

/// Options of `run`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Names to replace `{pool}` in the command, separated by commas: a command for each.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pools: Vec<String>,
    /// A command as one word, `--command './program --fast'`; may be given several times. No shell runs it.
    #[arg(long, value_name = "LINE")]
    command: Vec<String>,
    /// Names of the commands in the tables, separated by commas; without it the commands themselves.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "pools")]
    names: Vec<String>,
    /// A command for `sh` before each run, untimed.
    #[arg(long, value_name = "LINE")]
    prepare: Option<String>,
    /// Uncounted runs of each command, before the counted ones.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<1, { limits::MAX_ROUNDS }>)]
    warmup: u64,
    /// The command: a program and arguments.
    #[arg(last = true, value_name = "COMMAND")]
    words: Vec<OsString>,
}

/// A command that takes turns with others.
#[derive(Debug)]
struct Program {
    /// The entry in the tables.
    entry: &'static Entry,
    /// The process of a run.
    process: Process,
    /// Whether it has had all uncounted runs but the last.
    is_warm: AtomicBool,
}

impl AsRow for Options {
    fn row(&self, name: &str) -> Result<Row, Stop> {
        const METRICS: &[Metric] = metrics! {
            less "s": "time" "user" "system";
            less "B": "peak";
            less "switches": "switches";
        };
        let commands = self.commands()?;
        // The command with this name, or the first, is compared with all others.
        let first = commands.iter().position(|(name, _)| name == "brigade").unwrap_or(0);
        let program = |(index, (name, words)): (usize, (String, Vec<OsString>))| {
            let name: &'static str = name.leak();
            let entry = if index == first { Entry::own } else { Entry::peer };
            let entry: &'static Entry = Box::leak(Box::new(entry(name, "a command")));
            Program { entry, process: Process { words }, is_warm: AtomicBool::new(false) }
        };
        let all: Vec<_> = commands.into_iter().enumerate().map(program).collect();
        let sheet = Sheet {
            workload: name.to_owned(),
            done: "run the program".to_owned(),
            like: "Each run is a process of its own, from its start to its end.".to_owned(),
            own: all[first].entry.name.to_owned(),
            is_yours: true,
            params: self.params(),
            metrics: METRICS.to_vec(),
            ..Sheet::default()
        };
        let options = self.clone();
        Ok(Row {
            sheet,
            further: &[],
            pins: false,
            targets: all.iter().map(|program| program.entry).collect(),
            apart: true,
            needs: Box::new(|_| Needs { files: 0, threads: 1 }),
            run_here: Box::new(move |target, bench| {
                let program = all.iter().find(|program| program.entry.name == target.name);
                options.run(program.ok_or(Failure::Abandoned)?, bench.patience)
            }),
        })
    }
}

impl Options {
    /// The commands with their names, which differ; at least one.
    fn commands(&self) -> Result<Vec<(String, Vec<OsString>)>, Stop> {
        let mut templates = Vec::new();
        for line in &self.command {
            let words = shlex::split(line).filter(|words| !words.is_empty());
            let reason = || format!("--command '{line}' is no command: check its quotes");
            let words = words.ok_or_else(|| Stop::Usage(reason()))?;
            templates.push(words.into_iter().map(OsString::from).collect());
        }
        templates.extend((!self.words.is_empty()).then(|| self.words.clone()));
        let has_pool =
            |words: &Vec<OsString>| words.iter().any(|w| w.to_string_lossy().contains(POOL));
        let reason = format!("needs a command: run --pools a,b -- ./program {POOL}");
        Stop::usage_if(templates.is_empty(), reason)?;
        let reason = format!("--pools has names for {POOL}, which a command does not have");
        Stop::usage_if(!self.pools.is_empty() && !templates.iter().all(has_pool), reason)?;
        let reason = format!("a command has {POOL}: say which by --pools a,b");
        Stop::usage_if(self.pools.is_empty() && templates.iter().any(has_pool), reason)?;
        // Without a pool a command stays unchanged.
        let none = [String::new()];
        let pools = if self.pools.is_empty() { &none[..] } else { &self.pools };
        let with = |pool: &String, word: &OsString| match word.to_str() {
            Some(word) => OsString::from(word.replace(POOL, pool)),
            None => word.clone(),
        };
        let all = templates.iter().flat_map(|words| pools.iter().map(move |pool| (words, pool)));
        let mut commands: Vec<(String, Vec<OsString>)> = all
            .map(|(words, pool)| {
                let words: Vec<_> = words.iter().map(|word| with(pool, word)).collect();
                let is_pool = templates.len() == 1 && !self.pools.is_empty();
                (if is_pool { pool.clone() } else { line(&words) }, words)
            })
            .collect();
        let (names, all) = (self.names.len(), commands.len());
        Stop::usage_if(names > 0 && names != all, format!("{names} names for {all} commands"))?;
        commands.iter_mut().zip(&self.names).for_each(|((name, _), given)| name.clone_from(given));
        let mut names = HashSet::new();
        let strange = commands.iter().find(|(name, _)| name.is_empty() || !names.insert(name));
        if let Some((name, _)) = strange {
            let reason = format!("two commands, or one without a name, are called '{name}'");
            return Err(Stop::Usage(reason));
        }
        Ok(commands)
    }

    /// They by name, as a command line has them.
    fn params(&self) -> Params {
        let words = (!self.words.is_empty()).then(|| line(&self.words));
        let commands: Vec<_> = self.command.iter().cloned().chain(words).collect();
        let list = |names: &[String]| Some(names.join(",")).filter(|names| !names.is_empty());
        let params = [
            ("pools", list(&self.pools).map(Value::from)),
            ("names", list(&self.names).map(Value::from)),
            ("command", Some(commands.into())),
            ("prepare", self.prepare.clone().map(Value::from)),
            ("warmup", Some(self.warmup.into())),
        ];
        params.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// Runs the program, and before the first run the other uncounted runs.
    fn run(&self, program: &Program, patience: Duration) -> Outcome {
        if !program.is_warm.swap(true, Ordering::Relaxed) {
            // The warm-up round is among them.
            (1..self.warmup).try_for_each(|_| self.turn(program, patience).map(drop))?;
        }
        self.turn(program, patience)
    }

    /// Runs the preparation, and the program.
    fn turn(&self, program: &Program, patience: Duration) -> Outcome {
        if let Some(line) = &self.prepare {
            let words = ["sh", "-c", line].map(OsString::from).to_vec();
            let prepared = Process { words }.run(patience);
            prepared.map_err(|failure| Failure::Told(format!("--prepare {failure}")))?;
        }
        program.process.run(patience)
    }
}

/// Words as a line.
fn line(words: &[OsString]) -> String {
    words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}
