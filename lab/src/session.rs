//! A call of the laboratory from the command line to the last byte of output.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::apart;
use crate::book::SharedBook;
use crate::cli::{Cli, What};
use crate::hogs;
use crate::interrupt;
use crate::kernel::Kernel;
use crate::machine::{self, Machine};
use crate::needs::Needs;
use crate::noise::Noise;
use crate::plan;
use crate::report::Reporter;
use crate::report::destination::Destination;
use crate::report::table::Detail;
use crate::rounds::{self, Until};
use crate::row::Row;
use crate::stop::Stop;
use crate::workloads::server::load;

/// Carries out the command line.
pub(crate) fn run(cli: Cli) -> Result<(), Stop> {
    let options = &cli.options;
    match &cli.what {
        Some(What::List) => plan::list(),
        Some(What::Chart(chart)) => chart.draw(options.force),
        Some(What::Report(report)) => report.run(options.verbose),
        Some(What::Compare(compare)) => compare.run(options.verbose, options.quiet),
        Some(What::Load) => load::generate(),
        Some(What::Process(process)) => process.measure(options.rules().patience),
        Some(What::Hogs { count }) => hogs::compute(*count),
        Some(What::Once { .. }) => {
            let rows = cli.rows()?;
            let row = rows.first().ok_or_else(|| Stop::Usage("needs a target".to_owned()))?;
            let target = row.targets[0];
            apart::child(|| (row.run_here)(target, options.rules().bench(target)))
        }
        // The others measure.
        _ => measure(&cli.rows()?, &cli),
    }
}

/// Measures all of `rows` and writes the results.
fn measure(rows: &[Row], cli: &Cli) -> Result<(), Stop> {
    let options = &cli.options;
    if options.dry_run {
        return plan::show(rows);
    }
    let all = rows.iter().flat_map(|row| row.targets.iter().map(|target| (row.needs)(target)));
    let needs = all.fold(Needs::default(), Needs::or);
    needs.check()?;
    let output = options.output()?;
    let (seed, shown) = (options.seed.unwrap_or_else(fresh_seed), cli.shown());
    let machine = Machine::read(seed, cli.hogs(), options.pin);
    let entered: usize = rows.iter().map(|row| row.targets.len()).sum();
    let rules = cli.rules(rows.len());
    let runs = (1 + rules.rounds) * entered as u64;
    let to_stderr = matches!(output, Some(Destination::Stdout));
    let reporter = Arc::new(Reporter::new(to_stderr, options.quiet, runs));
    let mut head = machine.describe(options.verbose).join("\n");
    let noise = Noise::new(Kernel::here(), machine::cpus(), cli.hogs() > 0);
    let book = SharedBook::new(machine, noise, output, shown);
    interrupt::install(book.clone(), Arc::clone(&reporter))?;
    needs.probe()?;
    let waited = wait_for_quiet(&book, cli.patience_with_others());
    if waited > 0 {
        head += &format!("\nwaited {waited} s for a quiet machine");
    }
    let more = if rules.until == Until::Rounds { "" } else { " or more" };
    let word = if rows.len() == 1 { "row" } else { "rows" };
    head += &format!("\n{} {word}, {runs} runs{more}", rows.len());
    let hogs = hogs::start(cli.hogs())?;

    let mut random = SmallRng::seed_from_u64(seed);
    let measured = reporter.print(&head).and_then(|()| {
        rows.iter().try_for_each(|row| {
            rounds::measure(row, &rules, &book, &reporter, &mut random)?;
            let table = book.lock().last_table();
            table.map_or(Ok(()), |table| reporter.print(&table))
        })
    });
    drop(hogs);
    let busy = book.lock().noise.record.busy.clone();
    // The results so far are written even if the rest fails.
    let [peers, own] = [true, false].map(|peers| book.lock().failures(peers));
    let is_complete = measured.is_ok() && peers.is_empty() && own.is_empty();
    let written = book.lock().finish(is_complete);
    measured?;
    written?;
    let mut end = String::new();
    // A peer without a number is missing from the table, and does not fail the run.
    for (index, failure) in peers.iter().enumerate() {
        end += &format!("{}no number: {failure}\n", if index == 0 { "\n" } else { "" });
    }
    end.extend(book.lock().conclusion().map(|last| last + "\n"));
    end.extend(busy.iter().map(|busy| format!("\n{busy}\n")));
    end += &match (shown.is_check, peers.len() + own.len()) {
        (false, _) if shown.detail == Detail::None => format!("\n{MORE}"),
        (false, _) => format!("{RATIO}\n{MORE}"),
        (true, 0) => format!("\n{} runs: every task ran exactly once", reporter.runs()),
        (true, failed) => format!("\n{} runs: {failed} failed", reporter.runs()),
    };
    reporter.print(&end)?;
    if !own.is_empty() {
        return Err(Stop::Failed(own.join("; ")));
    }
    busy.filter(|_| options.quiet_machine).map_or(Ok(()), |busy| Err(Stop::Busy(busy)))
}

/// How long nothing else must compute on this machine.
const LOOK: Duration = Duration::from_millis(500);

/// Waits until nothing else computes on this machine, or the patience is over; returns how long, in seconds.
fn wait_for_quiet(book: &SharedBook, patience: Duration) -> u64 {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        book.lock().noise.begin();
        thread::sleep(LOOK);
        if book.lock().noise.is_quiet() {
            break;
        }
    }
    book.lock().noise.begin();
    begun.elapsed().as_secs()
}

/// How to read the tables.
const RATIO: &str = "\n× best peer: 2 is twice the rate of the best peer, or half its time; ≈: it can't be told apart from that.";
/// A hint at further output.
const MORE: &str = "More: `--verbose` has a table for each row, `brigade-lab list` names what there is, and `--features full -- all --full` says more.";

/// A seed from the clock.
pub(crate) fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // Six digits are easy to type.
    u64::from(now.unwrap_or_default().subsec_nanos()) % 1_000_000
}
