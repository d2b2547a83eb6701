//! One call of the laboratory from the command line to the last byte of output.

use std::hint::black_box;
use std::sync::{Arc, mpsc};
use std::thread::{self, Builder};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::process::{Resource, getrlimit};

use crate::apart;
use crate::cli::{Cli, What};
use crate::hogs::{self, Hogs};
use crate::interrupt;
use crate::kernel::Kernel;
use crate::machine::{self, Machine};
use crate::needs::{self, Needs};
use crate::noise::Noise;
use crate::report::book::SharedBook;
use crate::report::destination::Output;
use crate::report::{self, Reporter};
use crate::rounds::{self, Contest, Until};
use crate::stop::Stop;
use crate::workload::Meaning;
use crate::workloads::server::load;

/// Does what the command line asks for.
pub(crate) fn run(cli: Cli) -> Result<(), Stop> {
    let options = &cli.options;
    match &cli.what {
        Some(What::List) => report::list(),
        Some(What::Chart(chart)) => chart.draw(options.force),
        Some(What::Report(report)) => report.run(&options.outputs()?, options.verbose),
        Some(What::Compare(compare)) => compare.run(options.verbose, options.quiet),
        Some(What::Load) => load::generate(),
        Some(What::Process(process)) => process.measure(options.rules().patience),
        Some(What::Hogs { count }) => hogs::compute(*count),
        Some(What::One(_) | What::All(_) | What::Check(_)) | None => {
            measure(&cli.contests()?, &cli)
        }
        Some(What::Once { choice }) => {
            let (row, target) = options.first(choice)?;
            apart::child(|| (row.run_here)(target, options.rules().terms(target)))
        }
    }
}

/// Measures all of `contests` and writes the results.
fn measure(contests: &[Contest], cli: &Cli) -> Result<(), Stop> {
    let options = &cli.options;
    if options.dry_run {
        return report::plan(contests.iter().map(|one| (&one.row, &one.targets[..])));
    }
    let needs = needs(contests);
    needs.check()?;
    let outputs = options.outputs()?;
    let seed = options.seed.unwrap_or_else(fresh_seed);
    let hogs = cli.hogs();
    let machine = Machine::read(seed, hogs, options.pin);
    let entered: usize = contests.iter().map(|contest| contest.targets.len()).sum();
    let rules = cli.rules(contests.len());
    let runs = (1 + rules.rounds) * entered as u64;
    let is_elsewhere = outputs.iter().any(Output::is_stdout);
    let reporter = Arc::new(Reporter::new(is_elsewhere, options.quiet, runs));
    let head = machine.describe(options.verbose);
    let noise = Noise::new(Kernel::here(), machine::cpus());
    let book = SharedBook::new(machine, noise, outputs);
    let (rest, shown) = (book.clone(), Arc::clone(&reporter));
    let (detail, is_sweep) = (cli.detail(), cli.is_sweep());
    let print = move || {
        let rest = rest.rest(detail, is_sweep);
        // The process ends whether they can be printed or not.
        let _ = if rest.is_empty() { Ok(()) } else { shown.print(&rest) };
    };
    interrupt::install(book.clone(), print)?;
    probe(needs)?;
    book.noise(Noise::begin);
    let waited = if cli.waits_for_quiet() { wait_for_quiet(&book) } else { Duration::ZERO };
    let busy = || book.noise(|noise| noise.busy().map(str::to_owned));
    let mut before = busy().map(|busy| format!("\n{busy}")).unwrap_or_default();
    if !waited.is_zero() {
        before += &format!("\nwaited {} s for a quiet machine", waited.as_secs());
    }
    let more = if rules.until == Until::Rounds { "" } else { " or more" };
    let rows = if contests.len() == 1 { "row" } else { "rows" };
    let head = format!("{head}{before}\n{} {rows}, {runs} runs{more}", contests.len());
    let hogs = Hogs::start(hogs)?;
    book.noise(|noise| noise.with_hogs(hogs.process()));

    let mut random = SmallRng::seed_from_u64(seed);
    let measured = reporter.print(&head).and_then(|()| {
        contests.iter().try_for_each(|contest| {
            rounds::measure(contest, &rules, &book, &reporter, &mut random)?;
            if cli.has_tables() { reporter.print(&book.last_table(cli.detail())) } else { Ok(()) }
        })
    });
    drop(hogs);
    book.noise(|noise| {
        noise.with_hogs(None);
        noise.end();
    });
    let busy = busy();
    // The results so far are written even if the rest fails.
    let [peers, own] = [true, false].map(|peers| book.failures(peers));
    let written = book.finish(measured.is_ok() && peers.is_empty() && own.is_empty());
    measured?;
    written?;
    // The answer of a single row is its table, unless it is the user's.
    let last = book.conclusion(cli.is_sweep(), cli.detail()).map(|last| last + "\n");
    // A peer without a number is missing from the table, and does not fail the run.
    let notes: String = peers.iter().map(|failure| format!("no number: {failure}\n")).collect();
    let notes = (!notes.is_empty()).then(|| format!("\n{notes}")).into_iter();
    let end = notes.chain(last).chain([
        busy.iter().map(|busy| format!("\n{busy}\n")).collect(),
        match (cli.is_check(), peers.len() + own.len()) {
            (false, _) => hint(contests, cli.has_tables()),
            (true, 0) => format!("\n{} runs: every task ran exactly once", reporter.runs()),
            (true, failed) => format!("\n{} runs: {failed} failed", reporter.runs()),
        },
    ]);
    reporter.print(&end.collect::<String>())?;
    if !own.is_empty() {
        return Err(Stop::Failed(own.join("; ")));
    }
    busy.filter(|_| options.quiet_machine).map_or(Ok(()), |busy| Err(Stop::Busy(busy)))
}

/// How long to wait for a quiet machine, which may have compiled the laboratory until now.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until nothing else computes on this machine, or the patience is over; returns how long.
fn wait_for_quiet(book: &SharedBook) -> Duration {
    let begun = Instant::now();
    while book.noise(|noise| noise.busy().is_some()) && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_secs(1));
        book.noise(Noise::begin);
    }
    if begun.elapsed().as_secs() == 0 { Duration::ZERO } else { begun.elapsed() }
}

/// The last lines of every report of a measurement.
fn hint(contests: &[Contest], has_tables: bool) -> String {
    let more = match contests.first().map(|contest| contest.row.meaning) {
        Some(Meaning { is_yours: true, own, .. }) => {
            format!("The peers are all commands but {own}.")
        }
        _ => MORE.to_owned(),
    };
    if has_tables { format!("{RATIO}\n{more}") } else { format!("\n{more}") }
}

/// How to read the tables.
const RATIO: &str = "\nA ratio is the median over the rounds of this target's value to the best peer's; ≈: it can't be told apart from that.";
/// What else there is.
const MORE: &str = "More: `--verbose` has a table for each row, `brigade-lab list` names what there is, and `--features full -- all --full` says more.";

/// A seed from the clock.
pub(crate) fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // Six digits are easy to type.
    u64::from(now.unwrap_or_default().subsec_nanos()) % 1_000_000
}

/// Bytes to continue with when threads have taken all others.
const RESERVE: usize = 1 << 20;

/// As much as any run needs.
fn needs(contests: &[Contest]) -> Needs {
    let runs = contests
        .iter()
        .flat_map(|contest| contest.targets.iter().map(|target| (contest.row.needs)(target)));
    runs.fold(Needs::default(), Needs::or)
}

/// Starts as many threads as any run will have, all at a time, and ends them again.
///
/// If a thread can't be started, half of the peers panic or wait for it forever; this check comes
/// before any of them starts.
fn probe(needs: Needs) -> Result<(), Stop> {
    let most = (needs.threads + needs::OWN_THREADS) as usize;
    let reserve = black_box(Vec::<u8>::with_capacity(RESERVE));
    let (up, ups) = mpsc::channel();
    let mut refused = None;
    let mut started = Vec::with_capacity(most);
    for _ in 0..most {
        let up = up.clone();
        let thread = Builder::new().spawn(move || {
            let _ = up.send(());
            thread::park();
        });
        match thread {
            Ok(thread) => {
                started.push(thread);
                // One after the other: a thread that starts with no memory left aborts the process.
                let _ = ups.recv();
            }
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    // What follows needs some memory.
    drop(reserve);
    let count = started.len();
    for thread in started {
        thread.thread().unpark();
        drop(thread.join());
    }
    refused.map_or(Ok(()), |error| {
        let space = getrlimit(Resource::As).current;
        let space = space.map_or(String::new(), |bytes| {
            format!("; the limit RLIMIT_AS (ulimit -v) is {bytes} bytes")
        });
        Err(Stop::Refused(format!("needs {most} threads and can start {count}: {error}{space}")))
    })
}
