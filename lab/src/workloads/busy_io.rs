//! Measures how late a timer and a byte on a socket are while jobs keep all workers busy.
//!
//! Chains of jobs, where each spawns the next, keep the workers busy. A task waits for short times in turn, and
//! another sends back the bytes written to a socket by a thread of the laboratory. All three end when
//! the time is over, even if a timer or a byte is late then.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use tokio::sync::Semaphore;

use super::echo::{connect, serve};
use crate::workloads::prelude::*;

/// Options of `busy-io`.
#[derive(Args, Clone, Debug, Serialize)]
pub(crate) struct BusyIo {
    /// Threads of the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
    /// Chains of jobs: each job spawns the next of the chain.
    #[arg(long, default_value_t = 4, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    chains: u64,
    /// Microseconds of work in each job of a chain.
    #[arg(long, default_value_t = 200, value_parser = whole::<0, { limits::MAX_WORK_US }>)]
    work_us: u64,
    /// Milliseconds for which the chains run.
    #[arg(long, default_value_t = 2_000, value_parser = whole::<1, { limits::MAX_SLEEP_MS }>)]
    millis: u64,
    /// Milliseconds between two bytes, on average.
    #[arg(long, default_value_t = 5, value_parser = whole::<1, { limits::MAX_SLEEP_MS }>)]
    every_ms: u64,
}

/// How long the timer waits each time.
const TIMER: Duration = Duration::from_millis(1);

/// Longest wait for a byte before the writing thread asks whether the time is over.
const LOOK: Duration = Duration::from_millis(50);

/// The count that marks a timer, beside the number; no chain is so long.
const TICK: u32 = u32::MAX;
/// The count that marks a byte, beside the value.
const BYTE: u32 = u32::MAX - 1;

/// The state shared by all tasks of a run; leaked, so a task needs a single word for it and no reference count.
struct Shared {
    /// Counts the jobs, the timers and the bytes.
    tally: &'static Tally,
    /// Units of work in a job of a chain.
    units: u64,
    /// Tells the chains and the timer to end.
    over: AtomicBool,
    /// Has a permit from each ended chain.
    ended: Semaphore,
}

/// Spawns a job of a chain, after so many others of it; the job spawns the next.
fn link<S: Spawn>(spawner: S, chain: u32, step: u32, shared: &'static Shared) -> io::Result<()> {
    let next = spawner.clone();
    spawner.detach(async move {
        grind(shared.units);
        shared.tally.ran(chain, step);
        if shared.over.load(Ordering::Relaxed) {
            shared.tally.expect(Sum::chain(chain, u64::from(step) + 1));
            shared.ended.add_permits(1);
        } else {
            // Only the start of a thread can fail, and a chain is no thread.
            let _ = link(next, chain, step + 1, shared);
        }
    })
}

/// Waits for timers in turn until the time is over, at least once; returns the lateness of each in seconds.
async fn timer<R: Runtime>(shared: &'static Shared) -> Vec<f64> {
    let mut late = Vec::new();
    while late.is_empty() || !shared.over.load(Ordering::Relaxed) {
        let due = Instant::now() + TIMER;
        R::sleep(TIMER).await;
        late.push(due.elapsed().as_secs_f64());
        let number = late.len() as u32;
        shared.tally.expect(Sum::one(number, TICK));
        shared.tally.ran(number, TICK);
    }
    late
}

/// Tells the chains and the timer to end when it is dropped, so nothing computes beside later runs.
struct Over(&'static Shared);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

impl BusyIo {
    /// Writes bytes in turn until the time is over, at least one; returns the seconds until each was
    /// sent back.
    fn bytes(&self, mut stream: TcpStream, over: Over, fault: Fault) -> io::Result<Vec<f64>> {
        let (shared, end) = (over.0, Instant::now() + Duration::from_millis(self.millis));
        let (mut times, mut random) = (Vec::new(), SmallRng::seed_from_u64(0));
        stream.set_read_timeout(Some(LOOK))?;
        while times.is_empty() || Instant::now() < end {
            // From 0.5 to 1.5 times as long, so no period of the target coincides with every byte.
            thread::sleep(Duration::from_micros(self.every_ms * random.random_range(500..1_500)));
            let (number, written) = (times.len() as u8, Instant::now());
            shared.tally.expect(Sum::one(number.into(), BYTE));
            stream.write_all(&vec![number; fault.copies(times.len() as u32)])?;
            while next(&mut stream, shared, end)? != Some(number) {}
            times.push(written.elapsed().as_secs_f64());
        }
        drop(over);
        stream.shutdown(Shutdown::Write)?;
        // Nothing follows unless a byte was repeated.
        while next(&mut stream, shared, end)?.is_some() {}
        Ok(times)
    }
}

/// The next byte, which is counted; `None` if there will be none. If it does not come until the end, the chains end.
fn next(stream: &mut TcpStream, shared: &'static Shared, end: Instant) -> io::Result<Option<u8>> {
    let mut byte = [0];
    loop {
        match stream.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => {
                shared.tally.ran(byte[0].into(), BYTE);
                return Ok(Some(byte[0]));
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                shared.tally.go_on().map_err(|_| io::Error::other("given up"))?;
                if Instant::now() >= end {
                    shared.over.store(true, Ordering::Relaxed);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Workload for BusyIo {
    const DONE: &'static str = "fire timers while the pool computes";
    const LIKE: &'static str = "It stands for programs that mix computing and I/O: a server that compresses, renders or encrypts.";
    type Family = Runtimes;

    const FURTHER: &'static [&'static str] = &["brigade-lifo"];

    const METRICS: &'static [Metric] = metrics! {
        less "s": "timer-p50" "timer-p99" "timer-p99.9" "timer-max" "byte-p50" "byte-p99"
            "byte-p99.9" "byte-max";
        more "tasks/s": "rate";
    };

    fn needs(&self) -> Needs {
        Needs { files: 2, threads: 1 }
    }
}

impl RuntimeWorkload for BusyIo {
    fn run<R: Runtime>(&self, runtime: &R, bench: &Bench) -> Outcome {
        let shared: &'static Shared = Box::leak(Box::new(Shared {
            tally: bench.tally,
            units: units_for(self.work_us),
            over: AtomicBool::new(false),
            ended: Semaphore::new(0),
        }));
        let mut connections = connect(1)?;
        let (client, server) = connections.pop().expect("one");
        runtime.block_on(async {
            let server = runtime.spawn(serve::<1>(R::stream(server)?))?;
            let (mut meter, lap) = (Meter::default(), Lap::begin());
            let timer = runtime.spawn(timer::<R>(shared))?;
            for chain in 0..self.chains as u32 {
                link(runtime.spawner(), chain, 0, shared)?;
            }
            let (this, over, fault) = (self.clone(), Over(shared), bench.fault);
            let bytes = thread::Builder::new().name("bytes".to_owned());
            let bytes = bytes.spawn(move || this.bytes(client, over, fault))?;
            let late = timer.await;
            // It is never closed.
            let _ = shared.ended.acquire_many(self.chains as u32).await;
            let wall = meter.end(&lap).as_secs_f64();
            server.await;
            let times = bytes.join().map_err(|_| Failure::Panicked)?;
            let times = times.map_err(|error| Failure::Told(format!("a byte is lost: {error}")))?;
            let jobs = bench.tally.expected().tasks - (late.len() + times.len()) as u64;
            let shares = [0.5, 0.99, 0.999, 1.0];
            let times = [late, times].map(|all| bench.quantiles(all, shares)).concat();
            Ok([times, vec![jobs as f64 / wall, meter.cpus()]].concat())
        })
    }
}
