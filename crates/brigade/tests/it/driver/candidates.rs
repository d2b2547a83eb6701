//! Jobs that block in `block_on` poll timers and I/O when every thread of their pool is blocked or busy.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use brigade::time::sleep;
use brigade::{Growth, Pool, block_on, blocking};
use brigade_testkit::{Gate, Watchdog, eventually};

const SHORT: Duration = Duration::from_millis(20);

/// This many threads and no others, however many of them are blocked.
fn no_spares(threads: usize) -> Pool {
    Pool::builder().threads(threads).spare_threads(0).build().unwrap()
}

/// All of them sleep; one holds the driver, as there is a timer.
fn with_a_holder(threads: usize) -> Pool {
    let pool = no_spares(threads);
    drop(pool.spawn(sleep(Duration::from_secs(3600))));
    eventually("all sleep", || pool.metrics().idle_threads == threads);
    std::thread::sleep(SHORT);
    pool
}

/// Puts the driver holder into a job that blocks, after the other worker has gone to sleep on its account.
#[test]
fn a_sleeper_wakes_in_time_when_the_driver_holder_is_called_away() {
    let _dog = Watchdog::start_alone(30);
    for says_so in [true, false] {
        let (pool, gate) = (with_a_holder(2), Gate::closed());
        let (begun, begins) = mpsc::channel();
        let sleeper = pool.submit(move || {
            block_on(async {
                begun.send(Instant::now()).unwrap();
                sleep(SHORT * 5).await;
            });
            Instant::now()
        });
        let start = begins.recv().unwrap();
        eventually("the other holds the driver", || pool.metrics().idle_threads == 1);
        std::thread::sleep(SHORT);
        let held = gate.clone();
        pool.execute(move || if says_so { blocking(|| held.wait()) } else { held.wait() });
        let woken = sleeper.join().unwrap();
        gate.open();
        assert!(woken - start < SHORT * 10, "{:?}", woken - start);
    }
}

/// A job of each thread sleeps; one after the other is the one that looks.
#[test]
fn all_workers_may_sleep_at_once() {
    let _dog = Watchdog::start(30);
    for threads in [1, 2, 3] {
        let pool = no_spares(threads);
        let sleepers: Vec<_> = (0..threads as u32)
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
}

/// The driver holder finds more than one job, and no worker takes the rest: from then on the waiting job polls.
#[test]
fn a_sleeper_wakes_when_the_driver_holder_has_jobs_and_no_other_worker_comes() {
    let _dog = Watchdog::start(30);
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
    let held = [gate.clone(), gate.clone()];
    pool.job().execute_batch(held.map(|gate| move || gate.wait())).unwrap();
    sleeper.join().unwrap();
    gate.open();
}

#[cfg(feature = "io")]
mod files {
    use brigade::io::{PipeReader, pipe};
    use brigade::yield_now;
    use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

    use super::*;

    fn read(mut reader: PipeReader) -> u8 {
        let mut byte = [0];
        block_on(reader.read_exact(&mut byte)).unwrap();
        byte[0]
    }

    #[test]
    fn every_worker_may_wait_for_a_file() {
        let _dog = Watchdog::start(30);
        for threads in [1, 2, 3] {
            let pool = no_spares(threads);
            let (begun, begins) = mpsc::channel();
            let (jobs, mut writers): (Vec<_>, Vec<_>) = (0..threads)
                .map(|_| {
                    let (reader, writer) = pool.handle().enter(pipe).unwrap();
                    let begun = begun.clone();
                    let job = pool.submit(move || {
                        begun.send(()).unwrap();
                        read(reader)
                    });
                    (job, writer)
                })
                .unzip();
            begins.iter().take(threads).for_each(drop);
            std::thread::sleep(SHORT);
            for (number, writer) in writers.iter_mut().enumerate().rev() {
                block_on(writer.write_all(&[number as u8])).unwrap();
                std::thread::sleep(SHORT / 20);
            }
            for (number, job) in jobs.into_iter().enumerate() {
                assert_eq!(job.join().unwrap(), number as u8);
            }
        }
    }

    #[test]
    fn what_arrives_is_read_when_the_driver_holder_is_called_away() {
        let _dog = Watchdog::start(30);
        for says_so in [true, false] {
            let (pool, gate) = (with_a_holder(2), Gate::closed());
            let (reader, mut writer) = pool.handle().enter(pipe).unwrap();
            let job = pool.submit(move || read(reader));
            eventually("the other holds the driver", || pool.metrics().idle_threads == 1);
            std::thread::sleep(SHORT);
            let held = gate.clone();
            pool.execute(move || if says_so { blocking(|| held.wait()) } else { held.wait() });
            std::thread::sleep(SHORT);
            block_on(writer.write_all(&[7])).unwrap();
            let mut job = job;
            let got = job.join_timeout(Duration::from_secs(5));
            gate.open();
            assert_eq!(got.unwrap().unwrap(), 7);
        }
    }

    /// One polls the driver for all; a worker that runs out of work takes its place, and returns it.
    #[test]
    fn a_timer_and_a_file_go_on_while_workers_come_and_go() {
        let _dog = Watchdog::start(60);
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
            pool.execute(|| std::thread::sleep(Duration::from_micros(500)));
            block_on(writer.write_all(&[number])).unwrap();
            block_on(sleep(Duration::from_micros(700)));
        }
        assert_eq!(job.join().unwrap(), 4950);
    }

    /// What polls a file takes each new waker for another task's, and wakes the former one.
    #[test]
    fn a_job_that_waits_for_a_file_and_for_a_job_lets_others_run() {
        let _dog = Watchdog::start(30);
        for threads in [1, 2] {
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
                let (opens, held) = (gate.clone(), here.submit(move || gate.wait()));
                let read = async {
                    reader.read_exact(&mut byte).await.unwrap();
                };
                block_on(future::or(read, async { held.await.unwrap() }));
                opens.open();
                byte[0]
            });
            tells.recv().unwrap();
            block_on(writer.write_all(&[7])).unwrap();
            assert_eq!(waits.join().unwrap(), 7);
        }
    }
}
