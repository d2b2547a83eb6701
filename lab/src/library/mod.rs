//! The laboratory as a library: a closure of the user's on several pools.
//!
//! `pool` is what the closure gets, and counts its jobs; `row` measures the closure, as the workloads do; `comparison` is what that comes
//! to.

mod comparison;
mod pool;
mod row;

use std::error::Error as StdError;
use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;

pub use self::comparison::{Comparison, Measured};
pub use self::pool::AnyPool;
use self::pool::Closure;
use self::row::Yours;
use crate::fault::Fault;
use crate::kernel::Kernel;
use crate::limits;
use crate::machine::{self, Machine};
use crate::needs::Needs;
use crate::noise::Noise;
use crate::report::Reporter;
use crate::report::book::SharedBook;
use crate::report::forecast::Forecast;
use crate::report::speedup;
use crate::rounds::{self, Contest, Rules};
use crate::session::fresh_seed;
use crate::stop::Stop;
use crate::target::{Entry, Family as _};
use crate::targets::pools::Pools;

/// Compares pools by a closure: what it does, and the closure, which submits jobs to the pool that it gets.
///
/// Nothing runs before [`Compare::run`]. Then the closure is called on one pool after the other, in rounds, each with all pools in random
/// order. In a round each pool is started afresh, runs some jobs, and gets one call that does not count. Calls follow for five milliseconds,
/// or one if it takes longer. A call ends when the closure has returned and all jobs have run; the laboratory counts them. The first
/// round is not part of the result.
///
/// To measure the memory of each pool, Linux is asked to reset the peak of this process (`VmHWM` in `/proc/self/status`) before each.
///
/// # Examples
/// ```
/// use std::hint::black_box;
/// use std::sync::Arc;
///
/// let texts: Arc<[String]> = (0..50).map(|n| "word ".repeat(n)).collect();
/// let comparison = brigade_lab::compare("count words", move |pool| {
///     for index in 0..texts.len() {
///         let texts = Arc::clone(&texts);
///         pool.execute(move || {
///             black_box(texts[index].split_whitespace().count());
///         });
///     }
/// })
/// .targets(["brigade", "tokio"])
/// .threads(2)
/// .rounds(5)
/// .run()?;
///
/// println!("{comparison}"); // tables, and how brigade compares with each of the others
/// let speedup = comparison.speedup("brigade", "tokio").expect("both have run all jobs");
/// assert!(speedup.low <= speedup.high);
/// # Ok::<(), brigade_lab::Error>(())
/// ```
pub fn compare<F, R>(what: impl Into<String>, run: F) -> Compare
where
    F: Fn(&AnyPool) -> R + Send + Sync + 'static,
{
    Compare {
        what: what.into(),
        run: Arc::new(move |pool| drop(black_box(run(pool)))),
        targets: DEFAULT.map(str::to_owned).to_vec(),
        threads: machine::cpus(),
        rounds: 10,
        until: None,
        at_most: Duration::from_secs(60),
        patience: Duration::from_secs(20),
        seed: None,
        inject: None,
    }
}

/// The targets that take part if none is named.
const DEFAULT: [&str; 6] =
    ["brigade", "brigade-lifo", "brigade-shared", "rayon", "tokio", "threadpool"];

/// A comparison that has not run yet; [`compare`] makes one.
#[must_use = "nothing is measured before `run`"]
pub struct Compare {
    /// What the closure does.
    what: String,
    /// The closure.
    run: Arc<Closure>,
    /// The names of the targets.
    targets: Vec<String>,
    /// Threads of each pool.
    threads: usize,
    /// Rounds that count.
    rounds: u64,
    /// How narrow the interval of the speed-up must be, as a share.
    until: Option<f64>,
    /// For how long there may be further rounds for that.
    at_most: Duration,
    /// How long to wait for a pool that runs nothing.
    patience: Duration,
    /// The seed of the order of the targets.
    seed: Option<u64>,
    /// The fault to inject, and the name of the target.
    inject: Option<(Fault, &'static str)>,
}

impl fmt::Debug for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compare").field("what", &self.what).finish_non_exhaustive()
    }
}

impl Compare {
    /// Sets the pools, by the names that `brigade-lab list` has for the family `pools`; `all` stands for all of them.
    ///
    /// The default is brigade, two other configurations of it, rayon, tokio and threadpool.
    pub fn targets<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.targets = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the number of threads of each pool. The default is the number of CPUs that the process may use.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the number of rounds that count. The default is 10; with fewer than 5 there is no verdict.
    pub fn rounds(mut self, rounds: u64) -> Self {
        self.rounds = rounds;
        self
    }

    /// Takes further rounds until the interval of brigade's speed-up over the best of the other pools reaches no further than this share
    /// from it: 0.05 for 5 %. The default is not to; [`rounds`](Self::rounds) is the fewest then, and 5 at least.
    ///
    /// The rounds end after a minute, or the time that [`at_most`](Self::at_most) sets, even if it is wider.
    pub fn until(mut self, width: f64) -> Self {
        self.until = Some(width);
        self
    }

    /// Sets the time after which [`until`](Self::until) takes no further round. The default is a minute.
    pub fn at_most(mut self, time: Duration) -> Self {
        self.at_most = time;
        self
    }

    /// Sets the time after which a pool is given up on which no job ends. The default is 20 seconds.
    ///
    /// The closure itself may take as long between two jobs.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets the seed of the order of the pools within a round. By default, it differs from run to run.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Measures. If stderr is a terminal, it shows how far it is.
    ///
    /// A pool that loses a job, stands still, or runs a job that panics has no number. See [`Comparison::failures`].
    ///
    /// # Errors
    /// If there is no target with one of the names, a number is out of its range, or threads can't be started.
    pub fn run(self) -> Result<Comparison, Error> {
        self.measure().map_err(Error)
    }

    /// See [`run`](Self::run).
    fn measure(self) -> Result<Comparison, Stop> {
        let targets = self.entries()?;
        let range = |what: &str, number: u64, most: u64| match (1..=most).contains(&number) {
            true => Ok(()),
            false => Err(Stop::Usage(format!("{what} must be a number from 1 to {most}"))),
        };
        range("threads", self.threads as u64, limits::MAX_THREADS)?;
        range("rounds", self.rounds, limits::MAX_ROUNDS)?;
        Needs { files: 0, threads: self.threads as u64 }.check()?;
        let seed = self.seed.unwrap_or_else(fresh_seed);
        if let Some(width) = self.until.filter(|width| !(0.0..=10.0).contains(width)) {
            return Err(Stop::Usage(format!("until must be from 0 to 10, and is {width}")));
        }
        let Compare { patience, inject, .. } = self;
        let until = self.until.map(|width| (width, self.at_most));
        let rounds = until.map_or(self.rounds, |_| self.rounds.max(speedup::ROUNDS as u64));
        let rules = Rules { rounds, until, patience, pin: None, inject, samples: None };
        let machine = Machine::read(seed, 0, None);
        let noise = Noise::new(Kernel::here(), machine::cpus());
        let book = SharedBook::new(machine, rounds as usize, noise, Vec::new(), None);
        let forecast = Forecast::new((1 + rounds) * targets.len() as u64, None);
        let reporter = Reporter::new(false, true, forecast);
        let own = targets.iter().find(|target| target.name == "brigade").unwrap_or(&targets[0]);
        let row = Yours {
            what: self.what.leak(),
            own: own.name,
            run: self.run,
            threads: self.threads,
            targets: targets.clone(),
        };
        let contest = Contest { row: Box::new(row), targets };
        let mut random = SmallRng::seed_from_u64(seed);
        book.noise(Noise::begin);
        rounds::measure(&contest, &rules, &book, &reporter, &mut random, || Ok(()))?;
        book.noise(Noise::end);
        Ok(Comparison::new(book.into_results()))
    }

    /// The targets, each once; one at least.
    fn entries(&self) -> Result<Vec<&'static Entry>, Stop> {
        let here = || Pools::TARGETS.iter().copied().filter(|target| target.elsewhere.is_none());
        let is_named = |entry: &Entry, name: &str| name == "all" || name == entry.name;
        if let Some(name) = self.targets.iter().find(|name| !here().any(|e| is_named(e, name))) {
            let names: Vec<_> = here().map(|target| target.name).collect();
            let reason = format!("no such target: {name}; there are {}", names.join(", "));
            return Err(Stop::Usage(reason));
        }
        let wanted = |target: &&Entry| self.targets.iter().any(|name| is_named(target, name));
        let wanted: Vec<_> = here().filter(wanted).collect();
        if wanted.is_empty() { Err(Stop::Usage("needs a target".to_owned())) } else { Ok(wanted) }
    }
}

/// The reason why nothing was measured.
#[derive(Debug)]
pub struct Error(Stop);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.reason())
    }
}

impl StdError for Error {}

/// The examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/own-program.md")]
struct Guide;

#[cfg(test)]
mod tests {
    use super::{Compare, compare};
    use crate::fault::Fault;
    use brigade_executor::{Executor, ExecutorExt};
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    /// Two targets in two rounds, the last with its name.
    fn short(compare: Compare) -> Compare {
        compare.targets(["brigade", "rayon"]).threads(2).rounds(2).seed(1)
    }

    /// The reason why this target has no number.
    pub(super) fn reason(compare: Compare, target: &str) -> String {
        let comparison = compare.run().expect("measured");
        assert!(comparison.measured(target).is_none());
        let failures: Vec<_> = comparison.failures().collect();
        let [(name, reason)] = failures[..] else { panic!("{failures:?}") };
        assert_eq!(name, target);
        assert!(comparison.to_string().contains(reason));
        reason.to_owned()
    }

    #[test]
    fn every_call_runs_all_jobs_and_those_they_submit_before_the_next() {
        let (left, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&calls);
        let comparison = short(compare("nest", move |pool| {
            assert_eq!(left.swap(12, Ordering::Relaxed), 0, "a job of the call before");
            counted.fetch_add(1, Ordering::Relaxed);
            for _ in 0..3 {
                let (inner, left) = (pool.clone(), Arc::clone(&left));
                pool.execute(move || {
                    left.fetch_sub(1, Ordering::Relaxed);
                    let further = Arc::clone(&left);
                    inner.execute(move || _ = further.fetch_sub(1, Ordering::Relaxed));
                });
            }
            pool.wait();
            assert_eq!(left.load(Ordering::Relaxed), 6);
            let library: &dyn Executor = pool;
            for _ in 0..6 {
                let left = Arc::clone(&left);
                library.execute(move || _ = left.fetch_sub(1, Ordering::Relaxed));
            }
        }));
        let comparison = comparison.run().expect("measured");
        assert_eq!(comparison.targets().collect::<Vec<_>>(), ["brigade", "rayon"]);
        assert_eq!(comparison.failures().count(), 0, "{comparison}");
        // Two targets in three rounds, with one call at least that counts and one that does not.
        assert!(calls.load(Ordering::Relaxed) >= 12);
        let measured = comparison.measured("rayon").expect("a number");
        assert!(measured.min <= measured.time && measured.time <= measured.max, "{measured:?}");
        assert!(comparison.speedup("brigade", "rayon").is_some());
        assert!(comparison.speedup("brigade", "smol").is_none());
        let text = comparison.to_string();
        assert!(
            text.contains("nest --threads 2") && text.contains("The answer: brigade"),
            "{text}"
        );
        assert!(comparison.json().contains("\"workload\": \"nest\""));
        let page = comparison.html();
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains("nest"), "{page}");
        let tables = comparison.markdown();
        assert!(tables.contains("## nest") && tables.contains("| whole runs, start to end |"));
        if cfg!(target_os = "linux") {
            assert!(text.contains("\nbefore the run: load "), "{text}");
            assert!(text.contains("\nafter the run: load "), "{text}");
        }
    }

    #[test]
    fn rounds_go_on_until_the_interval_is_narrow_or_the_time_is_over() {
        let rounds = |compare: Compare| {
            let json = compare.run().expect("measured").json();
            let file: serde_json::Value = serde_json::from_str(&json).expect("JSON");
            file["results"][0]["samples"].as_array().expect("samples").len()
        };
        // As long with every pool, and so long that other programs do not make it ten times that.
        let short = || short(compare("sleep", |_| thread::sleep(Duration::from_millis(2))));
        // Five are the fewest that have an interval.
        assert_eq!(rounds(short().until(0.0).at_most(Duration::from_millis(1))), 5);
        assert!((5..50).contains(&rounds(short().until(10.0))));
    }

    #[test]
    fn other_work_is_said() {
        let comparison = short(compare("one", |pool| pool.execute(|| ())));
        let comparison = comparison.run().expect("measured");
        let text = comparison.to_string();
        assert_eq!(comparison.disturbed().is_some(), text.contains("this machine was busy"));
    }

    #[test]
    fn the_call_that_does_not_count_says_nothing_of_how_many_follow() {
        thread_local!(static IS_COLD: Cell<bool> = const { Cell::new(true) });
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let cold = compare("warm up", move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            if IS_COLD.replace(false) {
                thread::sleep(Duration::from_millis(6));
            }
        });
        cold.targets(["threadpool"]).threads(1).rounds(1).run().expect("measured");
        // Each of the two runs calls it from a thread of its own.
        assert!(calls.load(Ordering::Relaxed) > 4, "{calls:?}");
    }

    #[test]
    fn a_lost_job_and_a_panic_leave_no_number() {
        let one = |pool: &super::AnyPool| pool.execute(|| ());
        let lossy = Compare {
            inject: Some((Fault::Lost, "rayon")),
            ..short(compare("lose", one)).patience(Duration::from_secs(1))
        };
        assert_eq!(reason(lossy, "rayon"), "lost 1 of 1 tasks: nothing ran any more");
        let panics = short(compare("panic", |pool| pool.execute(|| panic!("unlucky"))));
        assert_eq!(reason(panics.targets(["rayon"]), "rayon"), "a job panicked: unlucky");
        let panics = short(compare("panic", |_| panic!("unlucky")));
        assert_eq!(reason(panics.targets(["tokio"]), "tokio"), "the closure panicked: unlucky");
        let waits = short(compare("wait", |pool| {
            let inner = pool.clone();
            pool.execute(move || inner.wait());
        }));
        assert!(reason(waits.targets(["tokio"]), "tokio").contains("may wait"));
    }

    #[test]
    fn a_target_that_is_none_and_a_number_out_of_its_range_are_errors() {
        let nothing = || compare("nothing", |_| ());
        for (wrong, reason) in [
            (
                nothing().targets(["rayon", "nowhere"]),
                "no such target: nowhere; there are brigade, ",
            ),
            (nothing().targets::<&str>([]), "needs a target"),
            (nothing().threads(0), "threads must be a number from 1 to"),
            (nothing().rounds(0), "rounds must be a number from 1 to"),
            (nothing().until(-0.1), "until must be from 0 to 10"),
            (nothing().until(f64::NAN), "until must be from 0 to 10"),
        ] {
            let error = wrong.run().expect_err("refused").to_string();
            assert!(error.starts_with(reason), "{error}");
        }
    }
}
