//! The command line.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{
    Arg, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
};

use crate::apart;
use crate::book::Shown;
use crate::chart::Chart;
use crate::compare::{Compare, percent};
use crate::fault::Fault;
use crate::hogs;
use crate::limits::{self, whole};
use crate::machine;
use crate::pins::Pin;
use crate::plan;
use crate::program::print;
use crate::report::destination::Destination;
use crate::report::speedup;
use crate::report::table::Detail;
use crate::rounds::{Rules, Until};
use crate::row::Row;
use crate::show::Report;
use crate::stop::Stop;
use crate::sweep;
use crate::target::Entry;
use crate::targets;
use crate::workloads::Choice;
use crate::workloads::run::process::{self, Process};
use crate::workloads::server::load;

/// Compares brigade with widely used thread pools.
///
/// Without a workload it runs a short selection of all of them: `all`.
#[derive(Debug, Parser)]
///
/// An option of a workload takes several values, `--threads 1,2,4`, or all of them, `--program all`: a table for each value,
/// and a common table.
#[command(name = "brigade-lab", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) what: Option<What>,
    /// How to do it.
    #[command(flatten)]
    pub(crate) options: Options,
    /// The same workload with the other values of a sweep.
    #[arg(skip)]
    further: Vec<Choice>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// A single workload.
    #[command(flatten)]
    One(Choice),
    /// Every workload, with options chosen to be comparable from one machine to the next.
    All {
        /// Instead of small runs, some 80 seconds altogether, the runs behind the project's numbers: some thirty-five minutes on two CPUs.
        #[arg(long)]
        full: bool,
    },
    /// Check that targets neither lose nor repeat a task: small runs under stress, and no times.
    ///
    /// The targets run a workload in small sizes, over and over, beside computing threads: one for each CPU, or `--hogs`. Options
    /// without a meaning for a check are refused. The exit code is 1 if a target fails that is no peer; the failure of a peer is
    /// noted.
    Check {
        /// The workload, or `all`.
        #[arg(value_name = "WORKLOAD", value_parser = plan::to_check)]
        workload: String,
        /// For how long, in seconds: each target runs each row once at least.
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<1, { limits::MAX_CHECK }>)]
        seconds: u64,
    },
    /// Name the workloads and the targets.
    List,
    /// Draw a bar chart of a result file.
    ///
    /// A bar for each target, the best first, as SVG. The options that say how to measure are refused.
    Chart(Chart),
    /// Show a result file: its tables.
    ///
    /// The options that say how to measure are refused.
    Report(Report),
    /// Compare two result files: which values are faster or slower beyond the noise.
    ///
    /// A line for each workload, target and metric with a difference; with --verbose for all of them. The options
    /// that say how to measure are refused.
    Compare(Compare),
    /// A run of a workload, in a process started by the laboratory for it.
    #[command(name = apart::COMMAND, hide = true)]
    Once {
        /// The workload.
        #[command(subcommand)]
        choice: Choice,
    },
    /// The clients of a server, in a process started by the laboratory for them.
    #[command(name = load::COMMAND, hide = true)]
    Load,
    /// A run of a command, in a process started by the laboratory for it.
    #[command(name = process::COMMAND, hide = true)]
    Process(Process),
    /// Computing threads, in a process started by the laboratory for them.
    #[command(name = hogs::COMMAND, hide = true)]
    Hogs {
        /// How many.
        #[arg(value_parser = whole::<1, { limits::MAX_HOGS }>)]
        count: u64,
    },
}

/// How to measure, whatever the workload.
#[derive(Args, Debug)]
#[command(next_help_heading = "How to measure")]
pub(crate) struct Options {
    /// Targets, separated by commas; `all` stands for every target in `list` that suits the
    /// workload and needs no other program.
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',', value_parser = target)]
    target: Vec<&'static str>,
    /// Counted rounds. Each target runs once per round; a further round before them warms up. Without it there are five, and more
    /// until there is a verdict or the row has taken 1.25 seconds.
    #[arg(long, global = true, value_name = "N", value_parser = whole::<1, { limits::MAX_ROUNDS }>)]
    rounds: Option<u64>,
    /// Take further rounds of a row until the interval of brigade's ratio to the best peer reaches no more than this far from
    /// it, such as 5%.
    #[arg(long, global = true, value_name = "PERCENT", value_parser = percent)]
    until: Option<f64>,
    /// Seconds a row may take for it.
    #[arg(
        long, global = true, value_name = "SECONDS", default_value_t = 60, requires = "until",
        value_parser = whole::<0, { limits::MAX_AT_MOST }>
    )]
    at_most: u64,
    /// Write the results to this file; `-` is stdout, and the tables go to stderr then.
    #[arg(long, global = true, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Replace the file of --json or --svg if there is one.
    #[arg(long, global = true)]
    pub(crate) force: bool,
    /// Print all metrics: of `all` several each, of a workload the details, too. The files have them in any case.
    #[arg(long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Exit with code 4 if other work disturbed the measurements. Tables and files are written all the same.
    #[arg(long, global = true)]
    pub(crate) quiet_machine: bool,
    /// Print the rows and targets to measure, without doing so.
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Print no tables.
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// Seed of the order of the targets inside a round; random if not given.
    #[arg(long, global = true, value_name = "N", value_parser = whole::<0, { u64::MAX }>)]
    pub(crate) seed: Option<u64>,
    /// Computing threads of another process while the targets are measured; none if not given.
    #[arg(long, global = true, value_name = "N", value_parser = whole::<0, { limits::MAX_HOGS }>)]
    pub(crate) hogs: Option<u64>,
    /// Pin the threads of a target and the submitting thread, for workloads that measure the traffic between two threads.
    #[arg(long, global = true, value_enum)]
    pub(crate) pin: Option<Pin>,
    /// Seconds without progress after which a target is given up, beyond the workload's own pauses.
    #[arg(
        long, global = true, value_name = "SECONDS", default_value_t = 20,
        value_parser = whole::<1, { limits::MAX_PATIENCE }>
    )]
    patience: u64,
    /// A fault to make on purpose, `lost:TARGET`, or `repeated`, `died`, `stuck` or `slow`: how
    /// the laboratory's tests see faults detected.
    #[arg(long, global = true, hide = true, value_parser = injection)]
    inject: Option<(Fault, &'static str)>,
}

/// The value of `--target` for every target of the family run by this program.
const ALL: &str = "all";

/// Reads a value of `--target`.
fn target(name: &str) -> Result<&'static str, String> {
    if name == ALL { Ok(ALL) } else { known(name) }
}

/// How long to wait for a quiet machine.
const QUIET: Duration = Duration::from_secs(20);

/// How long a row takes further rounds for a verdict, the time of the others included.
const DECIDING: Duration = Duration::from_millis(1_250);

/// This name, if a target of any family has it.
fn known(name: &str) -> Result<&'static str, String> {
    targets::named(name).map(|target| target.name).ok_or_else(|| {
        let meant = targets::nearest(name);
        let meant = meant.map_or(String::new(), |meant| format!(", did you mean `{meant}`?"));
        format!("no such target{meant}; `brigade-lab list` names them")
    })
}

/// Reads the value of `--inject`.
fn injection(text: &str) -> Result<(Fault, &'static str), String> {
    let parts = text.split_once(':');
    let fault = parts.and_then(|(fault, name)| Some((Fault::from_str(fault, false).ok()?, name)));
    let (fault, name) =
        fault.ok_or("must be `lost:TARGET`, or `repeated`, `died`, `stuck` or `slow`")?;
    Ok((fault, known(name)?))
}

impl Cli {
    /// Reads this command line. Help and version are printed here and end the program well.
    pub(crate) fn of(line: &[OsString]) -> Result<Self, Stop> {
        let measured = |command: Command| match plan::metrics(command.get_name()) {
            Some(metrics) => command.after_help(format!("Metrics: {metrics}")),
            None => command,
        };
        // A negative number is a bad number, not an unknown option.
        let signed = |command: Command| {
            command.mut_args(|arg| match arg.get_action().takes_values() {
                true => arg.allow_negative_numbers(true),
                false => arg,
            })
        };
        let mut command = signed(Cli::command()).mut_subcommands(signed);
        if line.iter().any(|word| word == "--help" || word == "-h") {
            command = command.mut_subcommands(measured);
        }
        let mut all = sweep::lines(&command, line)?.into_iter().map(|line| {
            let matches = command.clone().try_get_matches_from(line).map_err(stop)?;
            let cli = Cli::from_arg_matches(&matches).map_err(stop)?;
            cli.takes(&command, &matches).map(|()| cli)
        });
        let mut first = all.next().ok_or_else(|| Stop::Usage("needs a program".to_owned()))??;
        for cli in all {
            match cli?.what {
                Some(What::One(choice)) => first.further.push(choice),
                _ => return Err(Stop::Usage("only options of a workload may be lists".to_owned())),
            }
        }
        Ok(first)
    }

    /// An error if the line has a general option without a meaning for this subcommand.
    fn takes(&self, command: &Command, matches: &ArgMatches) -> Result<(), Stop> {
        let taken: &[&str] = match &self.what {
            Some(What::List) => &[],
            Some(What::Chart(_)) => &["force"],
            Some(What::Report(_)) => &["verbose"],
            Some(What::Compare(_)) => &["verbose", "quiet"],
            Some(What::Check { .. }) => {
                &["target", "patience", "seed", "hogs", "inject", "dry_run", "quiet"]
            }
            // The others measure, or the laboratory itself wrote the line.
            _ => return Ok(()),
        };
        let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let mut options = command.get_arguments().filter(|arg| arg.is_global_set());
        let strange = options.find(|arg| {
            let name = arg.get_id().as_str();
            is_given(name) && !taken.contains(&name)
        });
        let (name, subcommand) = (strange.and_then(Arg::get_long), matches.subcommand_name());
        name.zip(subcommand).map_or(Ok(()), |(name, subcommand)| {
            Err(Stop::Usage(format!("--{name} says nothing to `{subcommand}`")))
        })
    }

    /// Whether nothing is measured.
    fn is_check(&self) -> bool {
        matches!(self.what, Some(What::Check { .. }))
    }

    /// Which results are printed: of a run of everything the answer alone.
    pub(crate) fn shown(&self) -> Shown {
        let detail = match self.what {
            Some(What::Check { .. }) => Detail::None,
            _ if self.options.verbose => Detail::Verbose,
            Some(What::All { .. }) | None => Detail::None,
            _ => Detail::Usual,
        };
        Shown { detail, is_sweep: !self.further.is_empty(), is_check: self.is_check() }
    }

    /// How long to wait for a quiet machine, which may have compiled the laboratory until now: only for the answer, and not if the
    /// line says how to measure it.
    pub(crate) fn patience_with_others(&self) -> Duration {
        let Options { rounds, hogs, .. } = self.options;
        match self.what {
            Some(What::All { .. }) | None if rounds.is_none() && hogs.is_none() => QUIET,
            _ => Duration::ZERO,
        }
    }

    /// Computing threads beside the targets: beside a check one for each CPU, unless the line says otherwise.
    pub(crate) fn hogs(&self) -> u64 {
        let usual = if self.is_check() { machine::cpus() as u64 } else { 0 };
        self.options.hogs.unwrap_or(usual)
    }

    /// The settings for the rounds of this many rows. The rows of a check share its time.
    pub(crate) fn rules(&self, rows: usize) -> Rules {
        let rules = self.options.rules();
        match &self.what {
            Some(What::Check { seconds, .. }) => {
                let until = Until::Time(Duration::from_secs(*seconds) / rows.max(1) as u32);
                Rules { rounds: 0, until, ..rules }
            }
            _ => rules,
        }
    }

    /// The rows to measure or to check, with their targets.
    pub(crate) fn rows(&self) -> Result<Vec<Row>, Stop> {
        let mut rows = match &self.what {
            Some(What::One(choice) | What::Once { choice }) => {
                let all = [choice].into_iter().chain(&self.further);
                all.map(Choice::row).collect::<Result<_, _>>()?
            }
            Some(What::Check { workload, .. }) => plan::check(workload),
            Some(What::All { full: true }) if cfg!(feature = "full") => plan::full(),
            Some(What::All { full: true }) => {
                let reason = "all --full needs a build with what takes long to compile: \
                    cargo run --release --features full -- all --full";
                return Err(Stop::Usage(reason.to_owned()));
            }
            _ => plan::quick(),
        };
        if matches!(self.what, Some(What::One(_) | What::Once { .. } | What::Check { .. })) {
            self.options.belong_to(&rows)?;
        }
        let is_ignored = self.options.pin.is_some() && !rows.iter().all(|row| row.pins);
        Stop::usage_if(is_ignored, "--pin is for wake, bucket-brigade and channels only")?;
        // A value named twice in a sweep is measured once: no result may stand twice in a file.
        let mut known = HashSet::new();
        rows.retain(|row| known.insert(row.sheet.row()));
        rows.iter_mut().for_each(|row| row.targets = self.options.targets(row));
        // Of several rows, a row takes part if it is for any of the targets; each target has some.
        rows.retain(|row| !row.targets.is_empty());
        Ok(rows)
    }
}

/// Handles clap's answer: prints help and version, and turns the rest into an error.
fn stop(error: clap::Error) -> Stop {
    if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Stop::Usage(reason(&error));
    }
    print(error.to_string()).map_or_else(Stop::from, |()| Stop::Closed)
}

/// The error of the command line, without the usage, which clap adds in separate lines.
fn reason(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let reason = lines.collect::<Vec<_>>().join(" ");
    reason.strip_prefix("error: ").map(str::to_owned).unwrap_or(reason)
}

impl Options {
    /// An error unless each named target suits one of these rows.
    fn belong_to(&self, rows: &[Row]) -> Result<(), Stop> {
        let mut names: Vec<_> = rows.iter().flat_map(|row| &row.targets).map(|t| t.name).collect();
        let mut known = HashSet::new();
        names.retain(|name| known.insert(*name));
        let strange = self.target.iter().find(|name| **name != ALL && !names.contains(name));
        strange.map_or(Ok(()), |name| {
            let all = names.join(", ");
            Err(Stop::Usage(format!("{name} is no target of this workload; its targets are {all}")))
        })
    }

    /// The targets to measure in this row, each once, in the order of the table of targets.
    fn targets(&self, row: &Row) -> Vec<&'static Entry> {
        let default = |target: &Entry| target.is_default || row.further.contains(&target.name);
        let wanted = |target: &&'static Entry| {
            let named = self.target.iter().any(|name| match *name {
                ALL => target.elsewhere.is_none(),
                name => name == target.name,
            });
            named || (self.target.is_empty() && default(target))
        };
        row.targets.iter().copied().filter(wanted).collect()
    }

    /// Where the results go, which can be written.
    pub(crate) fn output(&self) -> Result<Option<Destination>, Stop> {
        let reason = "--force replaces the file of --json, and there is none";
        Stop::usage_if(self.force && self.json.is_none(), reason)?;
        self.json.as_ref().map(|path| Destination::open(path, self.force)).transpose()
    }

    /// The settings for the rounds of all rows.
    pub(crate) fn rules(&self) -> Rules {
        let patience = Duration::from_secs(self.patience);
        let fewest = speedup::ROUNDS as u64;
        let (rounds, until) = match (self.rounds, self.until) {
            // The interval of fewer rounds than a verdict needs may be narrow by chance.
            (rounds, Some(until)) => (
                rounds.unwrap_or_default().max(fewest),
                Until::Known(Some(until), Duration::from_secs(self.at_most)),
            ),
            (Some(rounds), None) => (rounds, Until::Rounds),
            (None, None) => (fewest, Until::Known(None, DECIDING)),
        };
        Rules { rounds, until, patience, pin: self.pin, inject: self.inject }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cli, Options};
    use clap::{Args, Command};
    use std::ffi::OsString;

    #[test]
    fn an_option_foreign_to_a_subcommand_is_refused() {
        for (line, taken) in [
            ("list", ""),
            ("chart results --svg picture --workload wake", "force"),
            ("report results", "verbose"),
            ("compare old new", "verbose quiet"),
            ("check wake", "target patience seed hogs inject dry-run quiet"),
        ] {
            let taken: Vec<_> = taken.split_whitespace().collect();
            for arg in Options::augment_args(Command::new("lab")).get_arguments() {
                let name = arg.get_long().expect("an option");
                let value = match name {
                    "target" => " brigade",
                    "inject" => " lost:brigade",
                    "pin" => " one",
                    "until" => " 5%",
                    "at-most" => " 7 --until 5%",
                    _ if arg.get_action().takes_values() => " 7",
                    _ => "",
                };
                let line = format!("lab {line} --{name}{value}");
                let words: Vec<_> = line.split(' ').map(OsString::from).collect();
                let reason = Cli::of(&words).err().map(|stop| stop.reason().to_owned());
                assert_eq!(reason.is_none(), taken.contains(&name), "{line}: {reason:?}");
                let subcommand = line.split(' ').nth(1).expect("one");
                let said = format!("says nothing to `{subcommand}`");
                assert!(reason.is_none_or(|reason| reason.contains(&said)), "{line}");
            }
        }
    }
}
