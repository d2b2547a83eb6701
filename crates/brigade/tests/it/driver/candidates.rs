//! Candidates: jobs that block in `block_on` poll timers and I/O when every thread of their pool is blocked or busy.

use std::future::Future;
use std::sync::mpsc;
use std::task::Context;
use std::time::{Duration, Instant};

use brigade::time::sleep;
use brigade::{Growth, Pool, block_on, blocking};
use brigade_testkit::{BlockedThread, Gate, Halt, Latch, OnDrop, eventually, on_wake, test};

const SHORT: Duration = Duration::from_millis(20);

/// This many threads and no others, however many of them are blocked.
fn no_spares(threads: usize) -> Pool {
    Pool::builder().threads(threads).spare_threads(0).build().unwrap()
}

/// Puts the driver holder into a job that blocks, after a job on the other worker has blocked and relies on it.
fn call_the_holder_away(
    pool: &Pool,
    waits: impl FnOnce() + Send + 'static,
    by_blocking: bool,
) -> Halt {
    // There is a timer, so a parked worker holds the driver.
    drop(pool.spawn(sleep(Duration::from_secs(3600))));
    eventually("both workers are parked", || pool.metrics().idle_threads == 2);
    let worker = BlockedThread::default();
    let blocks = worker.clone();
    pool.execute(move || {
        blocks.is_this();
        waits();
    });
    eventually("the other worker holds the driver", || pool.metrics().idle_threads == 1);
    worker.wait_until_blocked();
    let halt = Halt::default();
    let stops = halt.job();
    pool.execute(move || if by_blocking { blocking(stops) } else { stops() });
    halt.await_thread();
    halt
}

#[test(by_blocking in [true, false])]
fn a_sleep_ends_while_the_holder_is_away(by_blocking: bool) {
    let (pool, (woken, wakes)) = (no_spares(2), mpsc::channel());
    let waits = move || {
        block_on(sleep(SHORT * 5));
        woken.send(()).unwrap();
    };
    let holder = call_the_holder_away(&pool, waits, by_blocking);
    wakes.recv().unwrap();
    holder.release();
}

/// A job of each thread sleeps; one after the other is the candidate that polls. There may be more jobs than threads.
#[test(threads in [1, 2, 3])]
fn jobs_asleep_on_every_thread_all_end(threads: usize) {
    let pool = no_spares(threads);
    let sleepers: Vec<_> = (0..2 * threads as u32)
        .map(|number| {
            pool.submit(move || {
                for round in 0..20 {
                    let delay =
                        Duration::from_micros(u64::from(100 + 700 * ((number + round) % 3)));
                    let start = Instant::now();
                    block_on(sleep(delay));
                    assert!(start.elapsed() >= delay);
                }
            })
        })
        .collect();
    sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
}

/// The driver holder finds more than one job, and no worker takes the rest: from then on the waiting job polls.
/// Caught: the wait below the waker was still listed as polling, so the wait in the waker was not.
#[test]
fn a_timer_fires_beside_a_waiting_waker() {
    let (pool, end, fired) = (no_spares(2), Gate::closed(), Gate::closed());
    let (_end, handle, fires) = (OnDrop(|| end.open()), pool.handle(), fired.clone());
    pool.execute(end.job());
    eventually("a worker computes", || pool.metrics().running == 1);
    let below = Latch::default();
    let wait = below.wait();
    let job = pool.submit(move || {
        let waits = on_wake(move || drop(handle.submit(|| ()).join_timeout(Duration::MAX)));
        let timers = [on_wake(move || fires.open()), waits].into_iter().zip([2, 1]);
        let _timers = timers
            .map(|(waker, n)| {
                let mut timer = Box::pin(sleep(n * SHORT));
                if timer.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                    waker.wake();
                }
                timer
            })
            .collect::<Vec<_>>();
        block_on(wait);
    });
    eventually("it fires", || fired.is_open());
    below.open();
    end.open();
    job.join().unwrap();
}

#[test]
fn a_sleep_ends_beside_a_busy_lone_holder() {
    let builder = Pool::builder().threads(1..=4).growth(Growth::WhenQueued(10));
    let (pool, gate) = (builder.build().unwrap(), Gate::closed());
    let (begun, begins) = mpsc::channel();
    let sleeper = pool.submit(move || {
        block_on(async {
            begun.send(()).unwrap();
            sleep(SHORT * 5).await;
        });
    });
    begins.recv().unwrap();
    eventually("another holds the driver", || pool.metrics().idle_threads == 1);
    pool.job().execute_batch([gate.job(), gate.job()]).unwrap();
    sleeper.join().unwrap();
    gate.open();
}

#[cfg(feature = "io")]
mod files {
    use crate::support::pipes::{PipeReader, pipe};
    use brigade::yield_now;
    use brigade_testkit::{spin_for, test};
    use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

    use super::*;

    fn read(mut reader: PipeReader) -> u8 {
        let mut byte = [0];
        block_on(reader.read_exact(&mut byte)).unwrap();
        byte[0]
    }

    #[test(threads in [1, 2, 3])]
    fn every_worker_may_wait_for_a_file(threads: usize) {
        let pool = no_spares(threads);
        let workers: Vec<_> = (0..threads).map(|_| BlockedThread::default()).collect();
        let (jobs, mut writers): (Vec<_>, Vec<_>) = workers
            .iter()
            .map(|worker| {
                let (reader, writer) = pool.handle().enter(pipe).unwrap();
                let worker = worker.clone();
                let job = pool.submit(move || {
                    worker.is_this();
                    read(reader)
                });
                (job, writer)
            })
            .unzip();
        workers.iter().for_each(BlockedThread::wait_until_blocked);
        for (number, writer) in writers.iter_mut().enumerate().rev() {
            block_on(writer.write_all(&[number as u8])).unwrap();
        }
        for (number, job) in jobs.into_iter().enumerate() {
            assert_eq!(job.join().unwrap(), number as u8);
        }
    }

    #[test(by_blocking in [true, false])]
    fn a_byte_is_read_while_the_holder_is_away(by_blocking: bool) {
        let (pool, (got, gets)) = (no_spares(2), mpsc::channel());
        let (reader, mut writer) = pool.handle().enter(pipe).unwrap();
        let waits = move || got.send(read(reader)).unwrap();
        let holder = call_the_holder_away(&pool, waits, by_blocking);
        block_on(writer.write_all(&[7])).unwrap();
        assert_eq!(gets.recv(), Ok(7));
        holder.release();
    }

    /// A candidate polls the driver for all; a worker that runs out of work takes its place, and returns it.
    #[test]
    fn timers_and_files_survive_changing_workers() {
        let pool = no_spares(2);
        let (mut reader, mut writer) = pool.handle().enter(pipe).unwrap();
        let job = pool.submit(move || {
            let mut sum = 0;
            for _ in 0..100 {
                let mut byte = [0];
                block_on(reader.read_exact(&mut byte)).unwrap();
                block_on(sleep(Duration::from_micros(300)));
                sum += u32::from(byte[0]);
            }
            sum
        });
        for number in 0..100 {
            pool.execute(|| spin_for(Duration::from_micros(200)));
            block_on(writer.write_all(&[number])).unwrap();
            block_on(sleep(Duration::from_micros(700)));
        }
        assert_eq!(job.join().unwrap(), 4950);
    }

    /// A file takes each new waker for another task's, and wakes the former one.
    #[test(threads in [1, 2])]
    fn a_job_waiting_for_file_and_job_lets_others_run(threads: usize) {
        let pool = Pool::builder().threads(threads).spare_threads(1).build().unwrap();
        let (mut reader, mut writer) = pool.handle().enter(pipe).unwrap();
        let (here, (told, tells)) = (pool.handle(), mpsc::channel());
        let waits = pool.submit(move || {
            let mut byte = [0];
            let read = async { reader.read_exact(&mut byte).await.unwrap() };
            // It needs a worker of its own.
            let job = here.spawn(async { yield_now().await });
            block_on(future::or(read, async { job.await.unwrap() }));
            told.send(()).unwrap();
            let gate = Gate::closed();
            let held = here.submit(gate.job());
            let read = async {
                reader.read_exact(&mut byte).await.unwrap();
            };
            block_on(future::or(read, async { held.await.unwrap() }));
            gate.open();
            byte[0]
        });
        tells.recv().unwrap();
        block_on(writer.write_all(&[7])).unwrap();
        assert_eq!(waits.join().unwrap(), 7);
    }
}
