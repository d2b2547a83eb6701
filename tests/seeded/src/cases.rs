//! Small programs: for each fault that a random program has found, a program of its own.

use std::future::poll_fn;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{self, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::time::Duration;
use std::{io, process};

use brigade::io::UnixListener;
use brigade::{Handle, NewThread, Pool, Shutdown, TaskSet, Thread, WhenFull, current_worker};
use brigade_io::Faults;
use brigade_sync::thread::yield_now;
use brigade_sync::{Mutex, time};

use crate::judge::{self, Due};
use crate::program::Thing;
use crate::waits::in_turns;

/// All of them, each with its name.
macro_rules! all {
    ($all:ident, $type:ty, $($case:ident)*) => {
        pub(crate) const $all: &[(&str, $type)] = &[$((stringify!($case), $case)),*];
    };
}
use all;

mod programs;
pub(crate) use programs::PROGRAMS;

all! { ALL, fn(),
    a_drop_waits_for_a_thread_that_is_about_to_be_started
    a_shutdown_waits_for_a_closure_that_its_handle_runs
    a_pool_ends_although_a_future_always_goes_on
    a_job_that_holds_a_lock_submits_to_its_full_pool
    a_wait_for_idle_ends_when_the_last_work_off_the_pool_does
    a_timer_of_a_pool_that_is_closed_runs
    a_job_that_is_accepted_by_the_last_thread_runs
    a_shutdown_ends_after_its_timeout_beside_a_hook
    two_tasks_wait_for_connections_of_one_listener
    a_driver_holder_that_is_picked_before_it_sleeps_does_not_sleep
    a_job_runs_although_the_first_thread_was_lost
    a_cancelled_set_drops_the_closures_that_wait_in_it
    a_wait_for_a_set_ends_on_a_worker_that_parks_while_its_jobs_end
    a_dispatched_job_does_not_wait_for_a_job_whose_wait_ends
    a_job_that_waits_polls_once_the_driver_holder_runs_a_job
    a_job_that_waits_polls_once_the_wait_that_polled_is_over
    a_shutdown_awaits_a_job_run_by_its_submitter
    the_jobs_of_a_set_with_a_limit_run_in_their_order
    busy_futures_are_polled_at_most_twice_after_the_close
    a_wake_beside_the_end_of_the_pool_drops_no_future
}

fn beside(main: impl FnOnce() + Send + 'static) -> Thread {
    NewThread::new("beside".into(), None, main).start().expect("a thread")
}

fn a_drop_waits_for_a_thread_that_is_about_to_be_started() {
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = is_over.clone();
    let hook = move |_| assert!(!seen.load(Relaxed), "a thread starts after the drop");
    let pool = Pool::builder().threads(2).prestart(0).on_start(hook).build().expect("a pool");
    let handle = pool.handle();
    let other = beside(move || drop(handle.try_execute(|| ())));
    drop(pool);
    is_over.store(true, Relaxed);
    other.join();
}

fn a_shutdown_waits_for_a_closure_that_its_handle_runs() {
    let pool = Pool::builder().threads(1).build().expect("a pool");
    let handle = pool.handle();
    let other = beside(move || {
        // Rejected, it is not run, or runs there and is not counted.
        _ = handle.in_place_scope(|scope| _ = scope.submit(yield_now).join());
    });
    assert_eq!(pool.shutdown(Shutdown::Finish).still_running, 0);
    other.join();
}

fn a_pool_ends_although_a_future_always_goes_on() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let pool = Pool::new(1);
        drop(pool.spawn(async {
            loop {
                brigade::yield_now().await;
            }
        }));
        let mut ticks = brigade::time::interval(Duration::from_millis(1));
        drop(pool.spawn(async move {
            loop {
                ticks.tick().await;
                time::sleep(Duration::from_millis(2));
            }
        }));
        pool.shutdown(how);
    }
}

fn a_job_that_holds_a_lock_submits_to_its_full_pool() {
    let pool = Pool::builder().threads(2).capacity(1).build().expect("a pool");
    let lock = Arc::new(Mutex::new(0));
    for _ in 0..3 {
        let (handle, lock) = (pool.handle(), lock.clone());
        pool.execute(move || {
            let mut count = lock.lock();
            let lock = lock.clone();
            handle.execute(move || *lock.lock() += 1);
            *count += 1;
        });
    }
    drop(pool);
    assert_eq!(*lock.lock(), 6);
}

fn a_wait_for_idle_ends_when_the_last_work_off_the_pool_does() {
    let pool = Pool::builder().threads(1).capacity(1).when_full(WhenFull::RunInCaller).build();
    let pool = pool.expect("a pool");
    let handle = pool.handle();
    let other = beside(move || {
        for _ in 0..3 {
            handle.execute(|| ());
            // Here, if that is still queued.
            handle.execute(|| time::sleep(Duration::from_micros(20)));
        }
    });
    for _ in 0..4 {
        assert!(pool.wait_idle());
        time::sleep(Duration::from_micros(10));
    }
    other.join();
}

fn a_timer_of_a_pool_that_is_closed_runs() {
    let (ran, delay) = (Arc::new(AtomicBool::new(false)), Duration::from_micros(50));
    let pool = Pool::new(2);
    let run = ran.clone();
    _ = pool.job().after(delay).execute(move || run.store(true, Relaxed)).expect("it is open");
    time::sleep(delay);
    pool.shutdown(Shutdown::Finish);
    assert!(ran.load(Relaxed));
}

fn a_job_that_is_accepted_by_the_last_thread_runs() {
    let starts = AtomicBool::new(true);
    let spawner = move |thread: NewThread| match starts.swap(false, Relaxed) {
        true => thread.start(),
        false => Err(io::Error::other("the first thread is the last")),
    };
    let keep_alive = Duration::from_micros(50);
    let pool = Pool::builder().threads(0..=1).keep_alive(keep_alive).spawner(spawner).build();
    let (pool, ran) = (pool.expect("a pool"), Arc::new(AtomicBool::new(false)));
    pool.execute(|| ());
    time::sleep(keep_alive);
    let run = ran.clone();
    let accepted = pool.try_execute(move || run.store(true, Relaxed)).is_ok();
    pool.shutdown(Shutdown::Finish);
    assert_eq!(ran.load(Relaxed), accepted);
}

fn a_shutdown_ends_after_its_timeout_beside_a_hook() {
    let lock = Arc::new(Mutex::new(()));
    let (hook, held) = (lock.clone(), lock.lock());
    let builder = Pool::builder().threads(1).prestart(1).on_stop(move |_| drop(hook.lock()));
    let pool = builder.build().expect("a pool");
    pool.shutdown(Shutdown::Finish.timeout(Duration::from_millis(1)));
    drop(held);
}

fn two_tasks_wait_for_connections_of_one_listener() {
    brigade_io::begin(Faults::None);
    let pool = Pool::new(2);
    let name = format!("brigade-seeded-{}", process::id());
    let address = SocketAddr::from_abstract_name(name).expect("a short name");
    let listener = net::UnixListener::bind_addr(&address).expect("a name of its own");
    let listener = pool.enter(|| UnixListener::new(listener)).map(Arc::new).expect("a driver");
    let one = || {
        let listener = listener.clone();
        pool.spawn(async move {
            loop {
                match listener.get_ref().accept() {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        // Not `accept`: the `poll_` methods share a slot for the wakers of both tasks.
                        poll_fn(|context| listener.poll_readable(context)).await?;
                    }
                    accepted => return accepted.map(drop),
                }
            }
        })
    };
    let tasks = [one(), one()];
    for _ in &tasks {
        net::UnixStream::connect_addr(&address).expect("it listens");
        brigade_io::changed();
    }
    for task in tasks {
        task.join().expect("no panic").expect("a connection");
    }
    // The end does not wait for tasks without a connection.
    drop([one(), one()]);
}

fn a_driver_holder_that_is_picked_before_it_sleeps_does_not_sleep() {
    brigade_io::begin(Faults::None);
    let pool = Pool::new(2);
    let _pipe = pool.enter(brigade::io::pipe).expect("a driver");
    for _ in 0..12 {
        // Each is the earliest: it picks the holder, which looks at the time again.
        let after = |micros| pool.job().after(Duration::from_micros(micros)).submit(|| ());
        let timers = [30, 20, 10].map(after).map(|timer| timer.expect("it is open"));
        let jobs = [pool.submit(|| ()), pool.submit(|| ())];
        jobs.into_iter().chain(timers).for_each(|job| job.join().expect("no panic"));
    }
}

fn a_job_runs_although_the_first_thread_was_lost() {
    let kept = Arc::new(Mutex::new(None));
    let (first, is_first) = (kept.clone(), AtomicBool::new(true));
    let spawner = move |thread: NewThread| match is_first.swap(false, Relaxed) {
        true => {
            *first.lock() = Some(thread);
            Ok(Thread::not_joined())
        }
        false => thread.start(),
    };
    let pool = Pool::builder().threads(1).prestart(0).spawner(spawner).build().expect("a pool");
    let job = pool.submit(|| 7);
    let lost = kept.lock().take();
    drop(lost.expect("a submission starts it"));
    assert_eq!(job.join().expect("no panic"), 7);
}

fn a_cancelled_set_drops_the_closures_that_wait_in_it() {
    let pool = Pool::new(1);
    let (lock, capture) = (Arc::new(Mutex::new(())), Arc::new(()));
    let held = lock.lock();
    let mut set = TaskSet::new(&pool).limit(1);
    for _ in 0..3 {
        let (lock, capture) = (lock.clone(), capture.clone());
        set.submit(move || {
            drop(lock.lock());
            drop(capture);
        });
    }
    assert_eq!(pool.metrics().accepted, 1, "the limit");
    set.cancel_all();
    // The first may have started.
    assert!(Arc::strong_count(&capture) <= 2);
    drop(held);
    assert_eq!(set.outcomes().count(), 3);
}

fn a_wait_for_a_set_ends_on_a_worker_that_parks_while_its_jobs_end() {
    let pool = Pool::builder().threads(2).waits_run_anything().build().expect("a pool");
    let handle = pool.handle();
    let waits = move || {
        let mut set = TaskSet::new(handle);
        // They end one after the other, on the other worker or here.
        (0..2).for_each(|turns| {
            set.spawn(async move {
                for _ in 0..turns {
                    brigade::time::sleep(Duration::from_micros(100)).await;
                }
            });
        });
        set.wait_all()
    };
    assert!(pool.submit(waits).join().expect("no panic"));
}

fn a_dispatched_job_does_not_wait_for_a_job_whose_wait_ends() {
    let [pool, other] = [0, 1].map(|spare| Pool::builder().threads(1).spare_threads(spare).build());
    let (pool, other) = (pool.expect("a pool"), other.expect("a pool"));
    let awaited = other.submit(|| time::sleep(Duration::from_micros(10)));
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = is_over.clone();
    pool.execute(move || {
        awaited.join().expect("no panic");
        time::sleep(Duration::from_millis(1));
        ends.store(true, Relaxed);
    });
    let mut late = Vec::new();
    for _ in 0..8 {
        time::sleep(Duration::from_micros(2));
        let (is_late, seen) = (Arc::new(AtomicBool::new(false)), is_over.clone());
        let notes = is_late.clone();
        let sent = pool.job().dispatch([move || notes.store(seen.load(Relaxed), Relaxed)]);
        // Until then only a thread in a wait can be idle.
        if sent.count() == 0 && !is_over.load(Relaxed) {
            late.push(is_late);
        }
    }
    drop(pool);
    let is_late = |late: &Arc<AtomicBool>| late.load(Relaxed);
    assert!(!late.iter().any(is_late), "it waits for a long job");
}

/// A time to which the clock leaps only if nothing else can go on.
const LATER: Duration = Duration::from_secs(61);
const SOON: Duration = Duration::from_millis(1);

/// A job that waits for a future, which sleeps, while others compute.
fn sleeps(pool: Handle, time: Duration) -> impl FnOnce() {
    move || {
        let due = Due::new(pool, Thing::ASleep(0));
        due.after(time);
        let slept = due.clone();
        let sleep = async move { slept.watch(brigade::time::sleep(time)).await };
        let sleep = pool.spawn(sleep);
        let _waits = judge::waits_for(Some(&due), true);
        sleep.join().expect("no panic");
    }
}

fn a_job_that_waits_polls_once_the_driver_holder_runs_a_job() {
    judge::begin();
    let pool = Pool::builder().threads(2).spare_threads(0).build().expect("a pool");
    let waits = pool.submit(sleeps(pool.handle(), LATER + SOON));
    time::sleep(LATER);
    // The holder leaves the second in the queue.
    (0..2).for_each(|_| pool.execute(judge::compute));
    waits.join().expect("no panic");
    drop(pool);
    judge::end();
}

fn a_job_that_waits_polls_once_the_wait_that_polled_is_over() {
    judge::begin();
    let pool = Pool::builder().threads(3).spare_threads(0).build().expect("a pool");
    let other = Pool::new(1);
    pool.execute(|| {
        time::sleep(LATER);
        judge::compute();
    });
    let ends = other.submit(|| time::sleep(LATER));
    pool.execute(|| {
        ends.join().expect("no panic");
        judge::compute();
    });
    pool.submit(sleeps(pool.handle(), LATER + SOON)).join().expect("no panic");
    drop(pool);
    judge::end();
}

fn a_shutdown_awaits_a_job_run_by_its_submitter() {
    let pool = Pool::builder().threads(1).capacity(1).when_full(WhenFull::RunInCaller).build();
    let (pool, lock) = (pool.expect("a pool"), Arc::new(Mutex::new(())));
    let (held, its) = (lock.lock(), lock.clone());
    // The pool is full until the first ends.
    pool.execute(move || drop(its.lock()));
    let (handle, runs) = (pool.handle(), Arc::new(AtomicBool::new(false)));
    let begins = runs.clone();
    let other = beside(move || {
        for _ in 0..30 {
            let begins = begins.clone();
            drop(handle.job().execute(move || {
                if current_worker().is_none() {
                    begins.store(true, Relaxed);
                }
            }));
        }
    });
    while !runs.load(Relaxed) {
        yield_now();
    }
    drop(held);
    assert_eq!(pool.shutdown(Shutdown::Finish).still_running, 0);
    other.join();
}

fn the_jobs_of_a_set_with_a_limit_run_in_their_order() {
    let (pool, order) = (Pool::new(1), Arc::new(Mutex::new(Vec::new())));
    let mut set = TaskSet::new(&pool).limit(1);
    for number in 0..4 {
        let order = order.clone();
        set.submit(move || order.lock().push(number));
    }
    set.wait_all();
    assert_eq!(*order.lock(), [0, 1, 2, 3]);
}

fn busy_futures_are_polled_at_most_twice_after_the_close() {
    let (pool, is_closed) = (Pool::new(1), Arc::new(AtomicBool::new(false)));
    let polls = [(); 3].map(|()| Arc::new(AtomicU32::new(0)));
    let busy = |number: usize, future: Pin<Box<dyn Future<Output = ()> + Send>>| {
        let (mut future, polls, is_closed) = (future, polls[number].clone(), is_closed.clone());
        drop(pool.spawn(poll_fn(move |context| {
            polls.fetch_add(is_closed.load(Relaxed).into(), Relaxed);
            future.as_mut().poll(context)
        })));
    };
    let (wakers, never) = (Arc::default(), Arc::new(AtomicBool::new(false)));
    for own in [0, 1] {
        busy(own, Box::pin(in_turns(own, Arc::clone(&wakers), never.clone())));
    }
    busy(
        2,
        Box::pin(async {
            loop {
                _ = brigade::spawn(async {}).await;
            }
        }),
    );
    time::sleep(Duration::from_millis(1));
    pool.close();
    is_closed.store(true, Relaxed);
    drop(pool);
    let polls = polls.map(|polls| polls.load(Relaxed));
    assert!(polls.iter().all(|polls| *polls <= 2), "{polls:?}");
}

/// Waits for ever. Its drop takes the lock under which others wake it, and wakes others.
struct Side(Arc<Mutex<Vec<Waker>>>);

impl Drop for Side {
    fn drop(&mut self) {
        wake_all(&self.0);
    }
}

fn wake_all(wakers: &Mutex<Vec<Waker>>) {
    wakers.lock().drain(..).for_each(Waker::wake);
}

fn a_wake_beside_the_end_of_the_pool_drops_no_future() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let (pool, wakers) = (Pool::new(2), Arc::default());
        for _ in 0..2 {
            let side = Side(Arc::clone(&wakers));
            drop(pool.spawn(poll_fn(move |context| {
                side.0.lock().push(context.waker().clone());
                Poll::<()>::Pending
            })));
        }
        let others = [(); 2].map(|()| wakers.clone());
        let [inside, outside] = others.map(|wakers| {
            move || {
                for _ in 0..3 {
                    wake_all(&wakers);
                    yield_now();
                }
            }
        });
        pool.execute(inside);
        let outside = beside(outside);
        assert_eq!(pool.shutdown(how).still_running, 0);
        outside.join();
        assert_eq!(Arc::strong_count(&wakers), 1, "both have been dropped");
    }
}
