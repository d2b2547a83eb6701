//! The ways in which jobs are submitted and waited for.

use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use brigade::{
    Cause, Handle, JobBuilder, JoinError, JoinHandle, Pool, Priority, Reason, Rejected, WhenFull,
};
use fastrand::Rng;

use crate::doing::Doing;
use crate::ledger::{Ledger, Ticket};
use crate::polled::{ready, ready_soon};
use crate::{plan, sets, work};

/// A submitter to a pool: a thread from outside, or a job.
pub(crate) struct Submitter<'a> {
    pub(crate) pool: Handle,
    ledger: &'a Arc<Ledger>,
    pub(crate) random: Rng,
    /// That of the jobs it submits.
    generation: u32,
    /// Handles for later.
    kept: Vec<JoinHandle<()>>,
}

impl<'a> Submitter<'a> {
    pub(crate) fn new(pool: Handle, ledger: &'a Arc<Ledger>, random: Rng, generation: u32) -> Self {
        Self { pool, ledger, random, generation, kept: Vec::new() }
    }

    /// The handles that were kept for later.
    pub(crate) fn kept(&mut self) -> Vec<JoinHandle<()>> {
        mem::take(&mut self.kept)
    }

    /// A ticket for a job.
    pub(crate) fn ticket(&self) -> Ticket {
        Ticket::new(self.ledger)
    }

    /// A job of this ticket's.
    pub(crate) fn job_of(&mut self, ticket: Ticket) -> impl FnOnce() + Send + use<> + 'static {
        work::job(self.pool, ticket, self.random.fork(), self.generation)
    }

    fn job(&mut self) -> impl FnOnce() + Send + use<> + 'static {
        self.job_of(self.ticket())
    }

    /// Of any class, or of that of the job that submits.
    fn builder(&mut self) -> JobBuilder {
        let job = self.pool.job();
        match self.random.u8(0..6) {
            0 => job.priority(Priority::Low),
            1 => job.priority(Priority::Normal),
            2 => job.priority(Priority::High),
            _ => job,
        }
    }

    /// Up to this many microseconds.
    pub(crate) fn micros(&mut self, most: u64) -> Duration {
        Duration::from_micros(self.random.u64(0..=most))
    }

    /// Submits in one of the ways there are; a handle may be kept for later.
    pub(crate) fn call(&mut self) {
        let pool = self.pool;
        match self.random.u8(0..34) {
            0..12 => {
                let (builder, job) = (self.builder(), self.job());
                self.submit(builder, job, self.may_be_full());
            }
            12..14 => self.batch(),
            14 => {
                let job = self.job();
                let taken = Doing::Submitting.during(|| pool.try_execute(job));
                self.count(taken, self.is_bounded());
            }
            15 => {
                let job = self.job();
                let taken = Doing::Submitting.during(|| pool.try_submit(job));
                self.count_and_wait(taken, self.is_bounded());
            }
            16..18 => self.in_time(),
            18..20 => self.before(),
            20..22 => self.later(),
            22..24 => sets::spawn_and_wait(self),
            24..26 => self.timed(),
            26 => self.dispatch(),
            27 => self.broadcast(),
            // Beside the end too.
            28 => _ = pool.resize(plan::size(&mut self.random)),
            _ => self.spawn(),
        }
    }

    /// Submits to a pool that is not full.
    pub(crate) fn submit_to_one_with_room(&mut self) {
        let job = self.job();
        let taken = Doing::Submitting.during(|| self.pool.try_execute(job));
        self.count(taken, false);
    }

    /// Submits a job with a handle or without; returns the reason if it is rejected.
    fn submit(
        &mut self,
        builder: JobBuilder,
        job: impl FnOnce() + Send + 'static,
        may_be_full: bool,
    ) -> Option<Reason> {
        if self.random.bool() {
            let taken = Doing::Submitting.during(|| builder.execute(job));
            let reason = taken.as_ref().err().map(Rejected::reason);
            self.count(taken, may_be_full);
            reason
        } else {
            let taken = Doing::Submitting.during(|| builder.submit(job));
            let reason = taken.as_ref().err().map(Rejected::reason);
            self.count_and_wait(taken, may_be_full);
            reason
        }
    }

    fn batch(&mut self) {
        let count = self.random.u64(0..20);
        let jobs: Vec<_> = (0..count).map(|_| self.job()).collect();
        let taken = Doing::Submitting.during(|| self.pool.job().execute_batch(jobs));
        let back = taken.err().map_or(0, |rejected| {
            self.ledger.assert_is_reason(rejected.reason(), self.may_be_full());
            rejected.into_inner().len() as u64
        });
        self.ledger.submitted(count - back, back);
    }

    /// With a time to wait for room: none, some, or any. A submission that times out does not do so early.
    fn in_time(&mut self) {
        let some = self.micros(300);
        let time = *self.random.choice(&[Duration::ZERO, some, Duration::MAX]).expect("three");
        let (builder, job) = (self.pool.job().when_full(WhenFull::BlockFor(time)), self.job());
        let begun = Instant::now();
        let reason = self.submit(builder, job, self.is_bounded() && time < Duration::MAX);
        assert!(reason != Some(Reason::Full) || begun.elapsed() >= time, "full before {time:?}");
    }

    /// With a deadline: past, soon or far.
    fn before(&mut self) {
        let now = Instant::now();
        let (soon, far) = (now + self.micros(300), now + Duration::from_secs(600));
        let deadline = *self.random.choice(&[now, soon, far]).expect("three");
        let ticket = self.ticket();
        let job = self.job_of(if deadline == now { ticket.invalid() } else { ticket });
        let may_be_full = self.may_be_full() || self.ledger.when_full == Some(WhenFull::Block);
        self.submit(self.pool.job().deadline(deadline), job, may_be_full);
    }

    /// By a future, which is driven to its end, or polled some times and dropped.
    fn later(&mut self) {
        let (pool, job) = (self.pool, self.job());
        let polls = if self.random.bool() { None } else { Some(self.random.u32(0..5)) };
        let room = match ready_soon(pool.job().reserve(), polls) {
            Some(Ok(room)) => room,
            refused => {
                if let Some(Err(reason)) = refused {
                    self.ledger.assert_is_reason(reason, false);
                }
                drop(job);
                return self.ledger.submitted(0, 1);
            }
        };
        if self.random.bool() {
            let taken = Doing::Submitting.during(|| room.execute(job));
            self.count(taken, false);
        } else {
            let taken = Doing::Submitting.during(|| room.submit(job));
            self.count_and_wait(taken, false);
        }
    }

    /// As a future, which lets others go first a few times, and may wait for a local future.
    fn spawn(&mut self) {
        let (pool, job, yields) = (self.pool, self.job(), self.random.u8(0..3));
        let (waits, ledger) = (self.random.u8(0..4) == 0, self.ledger.clone());
        let future = Box::pin(async move {
            for _ in 0..yields {
                brigade::yield_now().await;
            }
            if waits && work::is_worker_of(pool) {
                wait_for_a_local(&ledger).await;
            }
            job();
        });
        let builder = self.builder();
        let taken = Doing::Submitting.during(|| builder.spawn(future));
        self.count_future(taken);
    }

    fn count_future<F>(&mut self, taken: Result<JoinHandle<()>, Rejected<F>>) {
        let Some(mut handle) = self.count(taken, self.may_be_full()) else { return };
        // It is not cancelled, as that may come when the job has returned.
        match self.random.u8(0..4) {
            0 => drop(handle),
            1 => _ = handle.try_join(),
            2 => _ = handle.join_timeout(self.micros(100)),
            _ => _ = handle.join(),
        }
    }

    /// A moment later: by a timer, which is no job until then, or by a future that sleeps.
    fn timed(&mut self) {
        let (builder, delay) = (self.builder(), self.micros(100));
        if self.random.bool() {
            let job = self.job_of(self.ticket().in_doubt());
            let timer = Doing::Submitting.during(|| builder.after(delay).execute(job));
            let timer = self.count(timer, false);
            if self.random.u8(0..4) == 0 {
                timer.inspect(|timer| _ = timer.cancel());
            }
        } else {
            let job = self.job();
            let taken = Doing::Submitting.during(|| builder.after(delay).submit(job));
            self.count_future(taken);
        }
    }

    /// To threads that are idle.
    fn dispatch(&mut self) {
        let jobs: Vec<_> = (0..4).map(|_| self.job()).collect();
        let builder = self.builder();
        let back = Doing::Submitting.during(|| builder.dispatch(jobs)).count() as u64;
        self.ledger.submitted(4 - back, back);
    }

    /// To each thread.
    fn broadcast(&mut self) {
        let shares = Arc::new(Shares { ledger: Arc::clone(self.ledger), left: AtomicI64::new(0) });
        let (own, pool) = (Arc::clone(&shares), self.pool);
        let call = move |_| Doing::Other.during(|| own.returns());
        // It is refused by a pool that is closed or has no thread.
        let sent = panic::catch_unwind(AssertUnwindSafe(|| pool.broadcast(call)));
        let sent = sent.unwrap_or_default();
        shares.left.fetch_add(sent.len() as i64, Ordering::SeqCst);
        self.ledger.submitted(sent.len() as u64, 0);
        drop(shares);
        sent.into_iter().for_each(|share| self.wait(share));
    }

    /// Whether a full pool may return a submission that has no policy of its own. Where all room is reserved, there is no job to drop
    /// for room.
    pub(crate) fn may_be_full(&self) -> bool {
        use WhenFull::{BlockFor, DropOldest, Reject};
        matches!(self.ledger.when_full, Some(Reject | BlockFor(_) | DropOldest))
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.ledger.when_full.is_some()
    }

    /// Counts one submission; returns what there was for it.
    pub(crate) fn count<R, F>(
        &self,
        taken: Result<R, Rejected<F>>,
        may_be_full: bool,
    ) -> Option<R> {
        match taken {
            Ok(receipt) => {
                self.ledger.submitted(1, 0);
                Some(receipt)
            }
            Err(rejected) => {
                self.ledger.assert_is_reason(rejected.reason(), may_be_full);
                drop(rejected.into_inner());
                self.ledger.submitted(0, 1);
                None
            }
        }
    }

    fn count_and_wait<F>(&mut self, taken: Result<JoinHandle<()>, Rejected<F>>, may_be_full: bool) {
        if let Some(handle) = self.count(taken, may_be_full) {
            self.wait(handle);
        }
    }

    /// Does one of the things that a handle is for.
    fn wait(&mut self, mut handle: JoinHandle<()>) {
        match self.random.u8(0..9) {
            0 => drop(handle),
            1 => _ = handle.join(),
            2 => _ = handle.try_join(),
            3 => _ = handle.join_timeout(self.micros(100)),
            4..6 => {
                if handle.cancel() {
                    assert!(
                        matches!(handle.join(), Err(JoinError::Cancelled(Cause::Asked))),
                        "was cancelled"
                    );
                }
            }
            6 => drop(handle.cancel_on_drop()),
            // A worker would have to say that it waits.
            7 if brigade::current_worker_index().is_none() => _ = ready(handle),
            _ => self.kept.push(handle),
        }
    }
}

/// Counts the shares of a broadcast; once the closure is dropped, the shares left were cancelled.
struct Shares {
    ledger: Arc<Ledger>,
    left: AtomicI64,
}

impl Shares {
    fn returns(&self) {
        self.left.fetch_sub(1, Ordering::SeqCst);
        self.ledger.share_returns();
    }
}

impl Drop for Shares {
    fn drop(&mut self) {
        self.ledger.shares_uncalled(*self.left.get_mut() as u64);
    }
}

/// Spawns a local future, which lets others go first, and waits for it.
async fn wait_for_a_local(ledger: &Arc<Ledger>) {
    let mut ticket = Ticket::new(ledger);
    ledger.submitted(1, 0);
    let local = brigade::spawn_local(async move {
        brigade::yield_now().await;
        ticket.called();
        ticket.returns();
    });
    let _ = local.await;
}

/// A thread from outside that submits; returns when it has made its calls.
///
/// `owner` is the pool while that is sure to be open: it is then resized now and then, and waited for.
pub(crate) fn produce(
    pool: Handle,
    owner: Option<&Pool>,
    ledger: &Arc<Ledger>,
    calls: u32,
    random: Rng,
) {
    let mut producer = Submitter::new(pool, ledger, random, 0);
    for _ in 0..calls {
        producer.call();
        let Some(owner) = owner else { continue };
        match producer.random.u8(0..60) {
            0 => {
                owner.resize(plan::size(&mut producer.random)).expect("a size that there can be");
            }
            1 => _ = owner.wait_idle_timeout(producer.micros(200)),
            2 => {
                let now = owner.metrics();
                let known = now.returned + now.panicked + now.cancelled;
                assert_eq!(now.accepted, known + now.queued + now.running, "{now:?}");
            }
            _ => {}
        }
    }
    for handle in producer.kept() {
        let _ = handle.join();
    }
}
