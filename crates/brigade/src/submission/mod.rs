//! Submitting to a pool that may be full, or with a deadline: the way in for every submission that is not simply
//! accepted.
//!
//! What an unbounded pool accepts without a deadline does not come here: that path is hot, and knows by the pool's key
//! that it may be taken.

mod handle;
mod pool;
mod queued;

use core::future::{Future, poll_fn};
use core::task::{Context, Poll};
use std::time::Instant;

use brigade_task::Job;

use crate::config::WhenFull;
use crate::engine::{Admission, CURRENT, Core, Worker};
use crate::handle::closure_of;
use crate::registry;
use crate::rejected::{Reason, Rejected};
use crate::room::{Place, Spot};
use queued::Deadline;
pub(crate) use queued::Queued;

/// What whoever submits gets for an accepted job: nothing, or a handle for its outcome.
pub(crate) trait Receipt<T>: Sized {
    /// Makes a job.
    fn make(work: impl brigade_task::Work<Output = T>) -> (Job, Self);
}

impl Receipt<()> for () {
    fn make(work: impl brigade_task::Work<Output = ()>) -> (Job, Self) {
        (Job::new(work), ())
    }
}

impl<T: Send + 'static> Receipt<T> for brigade_task::JoinHandle<T> {
    fn make(work: impl brigade_task::Work<Output = T>) -> (Job, Self) {
        Job::with_handle(work)
    }
}

/// A closure on its way to a pool.
pub(crate) struct Submission<F, D = ()> {
    work: F,
    /// What to do if there is no room; `None` for what the pool is configured to.
    when_full: Option<WhenFull>,
    deadline: D,
}

impl<F> Submission<F> {
    /// A closure that the pool treats as it is configured to.
    #[inline(always)]
    pub(crate) fn new(work: F) -> Self {
        Self { work, when_full: None, deadline: () }
    }

    /// With something else to do if there is no room.
    fn when_full(self, when_full: WhenFull) -> Self {
        Self { when_full: Some(when_full), ..self }
    }

    /// Not to be started any more at this instant.
    fn before(self, deadline: Instant) -> Submission<F, Instant> {
        Submission { work: self.work, when_full: self.when_full, deadline }
    }
}

impl<F, D: Deadline> Submission<F, D> {
    /// Hands it to the pool with this key, from wherever we are.
    #[cold]
    #[inline(never)]
    pub(crate) fn hand_in<T, R>(self, key: u64) -> Result<R, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        R: Receipt<T>,
    {
        CURRENT.with(|worker| match worker.filter(|worker| worker.is_of(key)) {
            Some(worker) => self.hand_to(worker.core(), Some(worker)),
            // By a count of our own: code of the user's may run in there, and submit elsewhere.
            None => match registry::find(key) {
                Some(core) => self.hand_to(&core, None),
                None => Err(Rejected::new(self.work, Reason::Closed)),
            },
        })
    }

    fn hand_to<T, R>(self, core: &Core, worker: Option<&Worker>) -> Result<R, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        R: Receipt<T>,
    {
        let Self { work, when_full, deadline } = self;
        let when_full = when_full.unwrap_or(core.config.when_full);
        let place = match core.admit(when_full, deadline.at(), worker.is_some()) {
            Admission::Queue(place) => place,
            Admission::Refuse(reason) => return Err(Rejected::new(work, reason)),
            Admission::RunHere => {
                let (job, receipt) = R::make(Queued { place: None::<Place>, deadline, work });
                match worker {
                    Some(worker) => worker.run_here(job),
                    None => core.run_here(job),
                }
                return Ok(receipt);
            }
            Admission::Drop => {
                let (job, receipt) = R::make(Queued { place: None::<Place>, deadline, work });
                core.drop_for_room(job);
                return Ok(receipt);
            }
        };
        let (job, receipt) = R::make(Queued { place, deadline, work });
        let accepted = match worker {
            Some(worker) => worker.submit(job),
            None => core.inject(job),
        };
        accepted.map(|()| receipt).map_err(|job| {
            let queued: Queued<F, D> = closure_of(job);
            Rejected::new(queued.work, core.refusal())
        })
    }
}

impl<F> Submission<F> {
    /// Hands it to the pool with this key as soon as there is room, without a thread that waits.
    ///
    /// The future stands in line only while it is pending, and is in no pool before it is ready.
    fn hand_in_later<T, R>(self, key: u64) -> impl Future<Output = Result<R, Rejected<F>>> + Send
    where
        F: FnOnce() -> T + Send + 'static,
        R: Receipt<T>,
    {
        let mut waiting = Some((self.work, None));
        poll_fn(move |context| {
            let Some((work, spot)) = waiting.take() else { panic!("polled after it was ready") };
            match try_or_stand_in_line(work, spot, key, context) {
                Ok(done) => Poll::Ready(done),
                Err(still) => {
                    waiting = Some(still);
                    Poll::Pending
                }
            }
        })
    }
}

/// Tries to hand a closure in; if the pool is full, gives it back with a spot in line, and the caller will be woken.
fn try_or_stand_in_line<F, T, R>(
    mut work: F,
    mut spot: Option<Spot>,
    key: u64,
    context: &Context<'_>,
) -> Result<Result<R, Rejected<F>>, (F, Option<Spot>)>
where
    F: FnOnce() -> T + Send + 'static,
    R: Receipt<T>,
{
    // A worker does not wait for itself, and a future on it must not either.
    let on_own_worker = CURRENT.with(|worker| worker.is_some_and(|worker| worker.is_of(key)));
    let when_full = if on_own_worker { WhenFull::RunInCaller } else { WhenFull::Reject };
    if on_own_worker {
        // It needs no place, so it must not hold up whoever is next in line while its job runs.
        spot = None;
    }
    let mut stands = false;
    loop {
        match Submission::new(work).when_full(when_full).hand_in(key) {
            Err(rejected) if rejected.reason() == Reason::Full => work = rejected.into_inner(),
            done => return Ok(done),
        }
        if stands {
            return Err((work, spot));
        }
        if spot.is_none() {
            spot = registry::find(key).and_then(|core| core.room().cloned().map(Spot::new));
        }
        match &mut spot {
            Some(spot) => spot.stand(context.waker()),
            // It is gone, and says so at the next try.
            None => continue,
        }
        stands = true;
    }
}

/// Hands in several closures, one after the other; gives back those from the first one on that was not accepted.
#[cold]
pub(crate) fn hand_in_all<F>(
    key: u64,
    jobs: impl Iterator<Item = F>,
) -> Result<(), Rejected<Vec<F>>>
where
    F: FnOnce() + Send + 'static,
{
    // To its end first: the iterator is the user's, and may panic.
    let mut jobs = jobs.collect::<Vec<_>>().into_iter();
    while let Some(job) = jobs.next() {
        if let Err(rejected) = Submission::new(job).hand_in::<(), ()>(key) {
            let reason = rejected.reason();
            let rest = core::iter::once(rejected.into_inner()).chain(jobs).collect();
            return Err(Rejected::new(rest, reason));
        }
    }
    Ok(())
}
