//! Calls, parts and jobs around a place of a program.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use brigade::{Handle, JoinError, JoinHandle, LocalPool, Rejected};

use crate::act::note;
use crate::judge;
use crate::meeting::Gate;
use crate::program::Level;
use crate::world::Planned;

/// A place in a program: the pool there, and another pool.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) pool: Handle,
    pub(crate) other: Handle,
}

/// The action of a program at a place.
pub(crate) type Leaf = Arc<dyn Fn(&Place) + Send + Sync>;

/// Calls a closure when it is dropped.
pub(crate) struct OnDrop<F: Fn()>(pub(crate) F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Calls a closure when it is woken, and then opens a gate.
struct OnWake<F>(F, Arc<Gate>);

impl<F: Fn() + Send + Sync> Wake for OnWake<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
        self.1.open();
    }
}

/// The outcome of a job around a place. Each waits only for jobs that it has made itself.
fn ended(result: Result<(), JoinError>) {
    if let Err(error) = result {
        let is_refused = matches!(error, JoinError::WouldDeadlock);
        assert!(!is_refused, "a wait of a good program is refused");
        if let JoinError::Panicked(panic) = error {
            assert!(panic.into_payload().is::<Planned>(), "a panic that is none of the program");
        }
    }
}

fn joined<F>(job: Result<JoinHandle<()>, Rejected<F>>) {
    if let Ok(job) = job {
        ended(job.join());
    }
}

/// Whether the calling thread is a worker of the pool.
pub(crate) fn is_worker_of(pool: Handle) -> bool {
    let own = brigade::current_worker().filter(|worker| worker.pool == pool.metrics().pool);
    // Every `LocalPool` has this name.
    own.is_some_and(|worker| &*worker.pool != "brigade" || Handle::current() == Some(pool))
}

/// Calls `leaf` inside of all these calls, parts and jobs.
pub(crate) fn within(place: &Place, levels: &[Level], leaf: &Leaf) {
    let Some((level, inner)) = levels.split_first() else { return leaf(place) };
    note(|| format!("goes on {level:?}"));
    // The judge does not know the waits of the levels.
    let _waits = judge::waits_for(None, false);
    let Place { pool, other } = *place;
    let at = |place: Place| {
        let (inner, leaf) = (inner.to_vec(), leaf.clone());
        move || within(&place, &inner, &leaf)
    };
    let there = at(*place);
    match level {
        Level::InBlocking => brigade::blocking(there),
        Level::InScope => drop(pool.scope(|scope| scope.execute(there))),
        Level::InPlace => drop(pool.in_place_scope(|_| there())),
        Level::InPlacesJob => drop(pool.in_place_scope(|scope| ended(scope.submit(there).join()))),
        Level::InInstall => drop(pool.install(|| brigade::join(|| (), there))),
        Level::InFork => drop(pool.install(|| brigade::join(there, || ()))),
        Level::InAGuest => _ = pool.enter(|| brigade::join(|| (), there)),
        Level::InSubmit => joined(pool.try_submit(there)),
        Level::InSpawn => joined(pool.try_spawn(async move { there() })),
        Level::InBlockOn => pool.block_on(async { there() }),
        Level::InMail => joined(pool.job().on_worker(0).submit(there)),
        Level::InALocalFuture if is_worker_of(pool) => {
            ended(brigade::spawn_local(async move { there() }).join());
        }
        Level::InALocalFuture => there(),
        Level::InADrop => {
            let capture = OnDrop(there);
            if let Ok(job) = pool.try_submit(move || drop(capture)) {
                job.cancel();
                ended(job.join());
            }
        }
        Level::InTheDropOfAFuture => {
            let capture = OnDrop(there);
            let future = async move {
                let _capture = capture;
                pending().await
            };
            if let Ok(job) = pool.try_spawn(future) {
                job.cancel();
                ended(job.join());
            }
        }
        Level::InAWaker => joined(pool.try_spawn(in_a_waker(there))),
        Level::InACancelledJob => in_a_cancelled_job(pool, there),
        Level::InAnotherPool => {
            joined(other.try_submit(at(Place { pool: other, other: pool })));
        }
        Level::InEnter => other.enter(there),
        Level::InALocalPool => {
            let local = LocalPool::new().expect("a pool");
            let there = at(Place { pool: local.handle(), other });
            if let Ok(job) = local.handle().try_submit(there) {
                local.run_until(async { ended(job.await) });
            }
        }
    }
}

/// Has a timer's waker call `there`.
async fn in_a_waker(there: impl Fn() + Send + Sync + 'static) {
    let gate = Arc::new(Gate::default());
    let waker = Waker::from(Arc::new(OnWake(there, gate.clone())));
    let mut sleep = pin!(brigade::time::sleep(Duration::from_micros(100)));
    let is_over = poll_fn(|_| Poll::Ready(sleep.as_mut().poll(&mut Context::from_waker(&waker))));
    if is_over.await.is_pending() {
        gate.pass().await;
    }
}

/// Calls `there` in a job that has asked itself to stop, unless it begins too soon for that.
fn in_a_cancelled_job(pool: Handle, there: impl Fn() + Send + 'static) {
    let canceller = Arc::new(Mutex::new(None::<brigade::CancelHandle>));
    let own = canceller.clone();
    let job = pool.try_submit(move || {
        let own = own.lock().expect("no panic").take();
        own.into_iter().for_each(|own| _ = own.cancel());
        there();
    });
    if let Ok(job) = job {
        *canceller.lock().expect("no panic") = Some(job.cancel_handle());
        ended(job.join());
    }
}
