//! Runs one operation a number of times on a pool of one thread, for `ci/instructions.sh`, which counts the instructions.
//!
//! Without arguments it names the operations; with `levels` it prints the stack that a level of each recursion takes. An operation runs on the pool's only worker where it can, so no two threads compute at
//! a time: its count depends neither on the scheduler nor on the clock.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_types, reason = "programs use the standard library")]

#[cfg(test)]
mod backtraces;
mod levels;

use std::env;
use std::future::poll_fn;
use std::hint::black_box;
use std::io;
use std::mem;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use brigade::io::{PipeReader, PipeWriter, pipe};
use brigade::time::sleep;
use brigade::{Handle, Pool, Shutdown, Timer};
use futures_lite::future::{block_on, poll_once};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

/// Runs an operation a number of times on a pool, or submits all of that.
type Run = fn(&Pool, u64) -> io::Result<()>;

/// A name, how many times `ci/instructions.sh` runs the operation, and the operation.
type Operation = (&'static str, u64, Run);

/// The start of the pool varies by some thousand instructions: less than 0.1 % of so many operations.
const MANY: u64 = 20_000;

/// Operations that sleep take some milliseconds.
const SLEEPS: u64 = 1_000;

/// The operations.
const OPERATIONS: &[Operation] = &[
    ("execute", MANY, |pool, count| on_worker(pool, move |pool| batch(pool, count, execute))),
    ("execute-outside", MANY, execute_outside),
    ("submit-join", MANY, |pool, count| {
        on_worker(pool, move |pool| {
            repeat(count, || _ = black_box(pool.submit(|| black_box(1)).join()));
        })
    }),
    ("spawn", MANY, |pool, count| on_worker(pool, move |pool| batch(pool, count, spawn))),
    // Without a subscriber.
    ("spawn-traced", MANY, |_, count| {
        let pool = Pool::builder().threads(1).trace_jobs().build()?;
        on_worker(&pool, move |pool| batch(pool, count, spawn))?;
        pool.shutdown(Shutdown::Finish);
        Ok(())
    }),
    ("spawn-await", MANY, |pool, count| {
        in_task(pool, async move {
            for _ in 0..count {
                _ = black_box(brigade::spawn(async { black_box(1) }).await);
            }
        })
    }),
    ("join", MANY, |pool, count| {
        on_worker(pool, move |_| {
            repeat(count, || _ = black_box(brigade::join(|| black_box(1), || black_box(2))));
        })
    }),
    ("scope", MANY, |pool, count| {
        on_worker(pool, move |_| {
            repeat(count, || brigade::scope(|scope| scope.execute(|| _ = black_box(1))));
        })
    }),
    ("par-for-part", 10 * MANY, |pool, count| {
        on_worker(pool, move |_| brigade::par_for(0..count as usize, 1, |item| _ = black_box(item)))
    }),
    ("timer-cancelled", MANY, |pool, count| {
        in_task(pool, async move {
            for _ in 0..count {
                let mut timer = pin!(sleep(Duration::from_secs(3600)));
                assert!(poll_once(&mut timer).await.is_none());
            }
        })
    }),
    ("timer-fired", SLEEPS, |pool, count| {
        in_task(pool, async move {
            for _ in 0..count {
                sleep(Duration::from_millis(1)).await;
            }
        })
    }),
    ("delay-cancelled", MANY, |pool, count| {
        delays(pool, count, |pool| {
            assert!(delay(pool, Duration::from_secs(3600)).cancel());
        })
    }),
    ("delay-fired", MANY, |pool, count| {
        delays(pool, count, |pool| drop(delay(pool, Duration::ZERO)))
    }),
    ("wake-task", MANY, wake_task),
    ("wake-worker", SLEEPS, |pool, count| {
        repeat(count, || {
            until_the_worker_sleeps(pool);
            execute(pool.handle());
        });
        Ok(())
    }),
    // A worker that has not slept polls for each event; a worker that has slept on the driver sleeps before each event.
    ("io-polled", MANY, |pool, count| {
        in_task(pool, async move {
            let mut first = io_ready(count).expect("pipes");
            first.write_all(&[1]).await.expect("a pipe");
        })
    }),
    ("io-slept", MANY, |pool, count| {
        let mut first = pool.enter(|| io_ready(count))?;
        until_the_worker_sleeps(pool);
        block_on(first.write_all(&[1]))
    }),
];

/// Calls this in a job of the open pool: a closed one accepts no delayed closure.
fn delays(pool: &Pool, count: u64, call: fn(Handle)) -> io::Result<()> {
    let (handle, over) = (pool.handle(), Arc::new(Barrier::new(2)));
    let is_over = over.clone();
    pool.execute(move || {
        repeat(count, || call(handle));
        is_over.wait();
    });
    over.wait();
    Ok(())
}

/// Delays a closure.
fn delay(pool: Handle, time: Duration) -> Timer {
    pool.job().after(time).execute(|| _ = black_box(1)).expect("an open pool")
}

fn repeat(count: u64, mut call: impl FnMut()) {
    (0..count).for_each(|_| call());
}

fn on_worker(pool: &Pool, call: impl FnOnce(Handle) + Send + 'static) -> io::Result<()> {
    let handle = pool.handle();
    pool.execute(move || call(handle));
    Ok(())
}

fn in_task(pool: &Pool, task: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    drop(pool.spawn(task));
    Ok(())
}

/// Submits jobs in batches that the worker's queue holds; the last job of a batch submits the next.
fn batch(pool: Handle, left: u64, submit: fn(Handle)) {
    repeat(left.min(64), || submit(pool));
    if left > 64 {
        pool.execute(move || batch(pool, left - 64, submit));
    }
}

fn execute(pool: Handle) {
    let captured = black_box(1);
    pool.execute(move || _ = black_box(captured));
}

fn spawn(pool: Handle) {
    let captured = black_box(1);
    drop(pool.spawn(async move { black_box(captured) }));
}

/// Submits from outside while the worker is in a job, and then lets it run.
fn execute_outside(pool: &Pool, count: u64) -> io::Result<()> {
    let gate = Arc::new(Barrier::new(2));
    let passed = Arc::clone(&gate);
    pool.execute(move || (0..2).for_each(|_| _ = passed.wait()));
    gate.wait();
    repeat(count, || execute(pool.handle()));
    gate.wait();
    Ok(())
}

/// Two tasks wake each other in turn.
fn wake_task(pool: &Pool, count: u64) -> io::Result<()> {
    let wakers: [Arc<Mutex<Option<Waker>>>; 2] = Default::default();
    let task = |mine: usize| {
        let [mine, other] = [&wakers[mine], &wakers[1 - mine]].map(Arc::clone);
        let mut left = count / 2;
        poll_fn(move |context| {
            let take = || other.lock().expect("no panic").take();
            *mine.lock().expect("no panic") = Some(context.waker().clone());
            take().into_iter().for_each(Waker::wake);
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            Poll::Pending
        })
    };
    let [one, two] = [task(0), task(1)];
    in_task(pool, async move {
        let two = brigade::spawn(two);
        one.await;
        two.await.expect("no panic");
    })
}

/// Starts two tasks that pass a byte to each other, from when one is written to the result.
fn io_ready(count: u64) -> io::Result<PipeWriter> {
    let [(mut begun, begin), (here, there), (near, far)] = [pipe()?, pipe()?, pipe()?];
    // Until its pipe is closed.
    drop(brigade::spawn(hop(near, there, u64::MAX)));
    drop(brigade::spawn(async move {
        let mut far = far;
        begun.read_exact(&mut [0]).await?;
        far.write_all(&[1]).await?;
        hop(here, far, count / 2).await
    }));
    Ok(begin)
}

/// Passes a byte on, again and again.
async fn hop(mut reader: PipeReader, mut writer: PipeWriter, count: u64) -> io::Result<()> {
    for _ in 0..count {
        let mut byte = [0];
        reader.read_exact(&mut byte).await?;
        writer.write_all(&byte).await?;
    }
    Ok(())
}

/// Returns once the worker sleeps. `ci/instructions.sh` excludes this function by its name.
#[inline(never)]
fn until_the_worker_sleeps(pool: &Pool) {
    let mut is_idle = false;
    // The worker is idle a little before it sleeps: look twice.
    while !mem::replace(&mut is_idle, pool.metrics().idle_threads == 1) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if arguments == ["levels"] {
        return print_levels();
    }
    let [name, count] = &arguments[..] else {
        OPERATIONS.iter().for_each(|(name, count, _)| println!("{name} {count}"));
        return ExitCode::SUCCESS;
    };
    let run = OPERATIONS.iter().find(|(known, ..)| known == name);
    let (Some((.., run)), Ok(count)) = (run, count.parse()) else {
        eprintln!("usage: brigade-instructions [OPERATION COUNT | levels]");
        return ExitCode::from(2);
    };
    match perform(*run, count) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print_levels() -> ExitCode {
    for &(name, recurse) in levels::LEVELS {
        match levels::bytes(recurse) {
            Ok(bytes) => println!("{name} {bytes} bytes"),
            Err(error) => {
                eprintln!("{name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Runs an operation a number of times, to its end.
fn perform(run: Run, count: u64) -> io::Result<()> {
    let pool = Pool::new(1);
    run(&pool, count)?;
    pool.shutdown(Shutdown::Finish);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_operation_ends() {
        for (name, _, run) in super::OPERATIONS {
            super::perform(*run, 100).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
