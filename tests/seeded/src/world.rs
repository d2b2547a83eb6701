//! The state that the threads, jobs and futures of a program share.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use brigade::{Cause, Handle, JoinError, JoinHandle, Limited, Reason, inherited};

use crate::act::act;
use crate::judge;
use crate::ledger::{Claim, Ledger, Token};
use crate::pools::THREADLESS;
use crate::verb::{Body, End, Micros, Panics};

/// A pool, as its jobs see it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) pool: Handle,
    /// A view of the pool that runs one job at once.
    pub(crate) limited: Limited,
    /// Another pool with its view, whose jobs use this one, and the other way round.
    other: Option<(Handle, Limited)>,
    pub(crate) ledger: Ledger,
    shared: Arc<Shared>,
    /// The pool will be discarded, and then refuses what its jobs submit.
    pub(crate) is_discarded: bool,
    /// A full pool does not reject a job that waits for room.
    accepts: bool,
    /// A full pool drops an accepted job.
    evicts: bool,
    /// How many jobs, parts and futures enclose this code.
    depth: u32,
    /// The number of the value that follows this code.
    value: Option<u8>,
}

/// A value that follows a job.
struct Value {
    number: u8,
    _token: Token,
}

struct Shared {
    /// The pool may end, and then cancels or drops accepted jobs.
    ends: AtomicBool,
    /// The pool does not end while others use it, and can start threads. Otherwise a thread outside would use
    /// the default pool, which never ends.
    is_sure: bool,
    /// The pool may have been closed.
    closed: AtomicBool,
    /// A limited job is in a part of it that does not wait.
    is_alone: AtomicBool,
}

/// The payload of a panic that belongs to the program.
pub(crate) struct Planned;

/// The result of a job.
pub(crate) struct Output {
    value: u64,
    _token: Token,
}

/// Panics as the program has planned. No hook is called.
pub(crate) fn panic() -> ! {
    resume_unwind(Box::new(Planned))
}

/// Calls code that may panic as planned, outside of a pool.
pub(crate) fn contained(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        if !payload.is::<Planned>() {
            resume_unwind(payload);
        }
    }
}

pub(crate) fn micros(time: Micros) -> Duration {
    Duration::from_micros(time.into())
}

impl World {
    pub(crate) fn new(pool: Handle, ends: bool, is_sure: bool) -> Self {
        let (ends, closed) = (AtomicBool::new(ends), AtomicBool::new(false));
        let shared = Arc::new(Shared { ends, is_sure, closed, is_alone: AtomicBool::new(false) });
        let (other, ledger, limited) = (None, Ledger::default(), pool.limited(1));
        let (is_discarded, accepts, evicts) = Default::default();
        let value = Self::seen();
        Self {
            pool,
            limited,
            other,
            ledger,
            shared,
            is_discarded,
            accepts,
            evicts,
            depth: 0,
            value,
        }
    }

    /// The number of the value that the calling code sees.
    fn seen() -> Option<u8> {
        inherited::<Value>().map(|value| value.number)
    }

    /// The value of this code follows it, on any thread.
    pub(crate) fn sees_its_value(&self) {
        assert_eq!(Self::seen(), self.value, "another value follows a job");
    }

    /// Of a thread outside.
    pub(crate) fn outside(&self) -> Self {
        Self { value: None, ..self.clone() }
    }

    /// Of a job with a value, and the value.
    pub(crate) fn with_value(&self, number: u8) -> (Self, impl Send + Sync + use<>) {
        let panics = if number == 1 { Panics::InItsDrop } else { Panics::Never };
        let value = Value { number, _token: self.ledger.token("a value", panics) };
        (Self { value: Some(number), ..self.clone() }, value)
    }

    /// With another pool, whose jobs use this one, and the other way round.
    pub(crate) fn beside(self, other: Handle) -> Self {
        Self { other: Some((other, other.limited(1))), ..self }
    }

    /// A full pool does not reject a job that waits for room.
    pub(crate) fn accepting(self, accepts: bool) -> Self {
        Self { accepts, ..self }
    }

    /// A full pool drops an accepted job.
    pub(crate) fn evicting(self, evicts: bool) -> Self {
        Self { evicts, ..self }
    }

    pub(crate) fn accepts(&self) -> bool {
        self.accepts
    }

    /// The pool is the current one of a job, part or call of `install`, except of one that a closed pool leaves to the caller.
    pub(crate) fn is_current(&self) {
        let is_current = Handle::current() == Some(self.pool) || self.is_closed();
        assert!(is_current, "in a job of a pool, another pool is the current one");
    }

    /// As jobs of the other pool, if there is one.
    pub(crate) fn across(&self) -> Self {
        let mut across = self.clone();
        if let Some((pool, limited)) = across.other.take() {
            across.other = Some((self.pool, self.limited.clone()));
            (across.pool, across.limited) = (pool, limited);
        }
        across
    }

    /// Whether there is another pool.
    pub(crate) fn is_pair(&self) -> bool {
        self.other.is_some()
    }

    /// Inside a job or a future.
    pub(crate) fn inside(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    /// Whether this thread is a worker of the pool.
    pub(crate) fn is_here(&self) -> bool {
        let own = brigade::current_worker().map(|worker| worker.pool);
        own == Some(self.pool.metrics().pool)
    }

    /// Whether the pool's jobs run in waits.
    pub(crate) fn is_threadless(&self) -> bool {
        self.pool.metrics().pool.ends_with(THREADLESS)
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) fn is_sure(&self) -> bool {
        self.shared.is_sure
    }

    /// From now on the pool may be closed.
    pub(crate) fn close(&self) {
        self.shared.closed.store(true, Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.closed.load(Relaxed)
    }

    /// From now on the pool may end, and cancel or drop accepted jobs.
    pub(crate) fn lose(&self) {
        self.shared.ends.store(true, Relaxed);
    }

    pub(crate) fn loses(&self) -> bool {
        self.evicts || self.shared.ends.load(Relaxed)
    }

    /// Looks that no other limited job runs before and after a body.
    pub(crate) fn alone<T, F: FnOnce() -> T>(&self, run: F) -> impl FnOnce() -> T + use<T, F> {
        let world = self.clone();
        move || {
            world.is_alone();
            let result = run();
            world.is_alone();
            result
        }
    }

    fn is_alone(&self) {
        // Those of the other pool have their own view.
        if !self.is_pair() {
            assert!(!self.shared.is_alone.swap(true, Relaxed), "two limited jobs run");
            brigade_sync::thread::yield_now();
            self.shared.is_alone.store(false, Relaxed);
        }
    }

    /// The body of a job that returns something.
    pub(crate) fn body(&self, body: &Body) -> impl FnOnce() -> Output + Send + use<> {
        self.claimed(body).1
    }

    /// The same with its claim.
    pub(crate) fn claimed(&self, body: &Body) -> (Claim, impl FnOnce() -> Output + Send + use<>) {
        let token = self.ledger.token("a job", body.1);
        let claim = token.claim();
        let (world, body) = (self.inside(), body.clone());
        let run = move || {
            token.runs();
            world.is_current();
            world.run(&body);
            // A panic of this drop after it was made would leak the output: rust-lang/rust#47949.
            drop(token);
            world.output(body.1)
        };
        (claim, run)
    }

    /// The body of a job without a result, and its claim.
    pub(crate) fn job(&self, body: &Body) -> (Claim, impl FnOnce() + Send + use<>) {
        let token = self.ledger.token("a job", body.1);
        let claim = token.claim();
        let (world, body) = (self.inside(), body.clone());
        let run = move || {
            token.runs();
            world.run(&body);
        };
        (claim, run)
    }

    /// Runs the operations of a closure.
    pub(crate) fn run(&self, Body(verbs, panics): &Body) {
        let _nests = judge::nests();
        act(self, verbs);
        if *panics == Panics::AtTheEnd {
            panic();
        }
    }

    pub(crate) fn output(&self, panics: Panics) -> Output {
        let panics = match panics {
            Panics::InTheDropOfItsOutput => Panics::InItsDrop,
            _ => Panics::Never,
        };
        Output { value: 7, _token: self.ledger.token("an output", panics) }
    }

    /// Something was not accepted.
    pub(crate) fn refused<W>(&self, reason: Reason, work: W) {
        let closed = reason == Reason::Closed;
        assert!(!closed || self.is_closed(), "closed, and nobody has closed it");
        drop(work);
    }

    /// Uses a handle.
    pub(crate) fn end(&self, mut handle: JoinHandle<Output>, end: End) {
        match end {
            End::JoinedAtOnce | End::Joined => self.wait(handle, None),
            End::Detached => drop(handle),
            End::Cancelled => {
                let cancels = handle.cancel();
                let result = handle.join();
                let is_asked = matches!(result, Err(JoinError::Cancelled(Cause::Asked)));
                assert!(!cancels || is_asked, "cancelled, and another cause is told");
                self.ended(result, Some(Cause::Asked));
            }
            End::CancelledOnDrop => drop(handle.cancel_on_drop()),
            End::JoinedFor(time) => {
                let canceller = handle.cancel_handle();
                if let Some(result) = handle.join_timeout(micros(time)) {
                    self.ended(result, None);
                }
                canceller.cancel();
            }
            End::TriedFirst => match handle.try_join() {
                Some(result) => self.ended(result, None),
                None => self.wait(handle, None),
            },
        }
    }

    /// Waits for an outcome.
    pub(crate) fn wait(&self, handle: JoinHandle<Output>, may: Option<Cause>) {
        self.ended(handle.join(), may);
    }

    /// There is an outcome; the program may have cancelled the job for the cause `may`.
    pub(crate) fn ended(&self, result: Result<Output, JoinError>, may: Option<Cause>) {
        match result {
            Ok(output) => assert_eq!(output.value, 7),
            Err(JoinError::Panicked(panic)) => {
                let payload = panic.into_payload();
                assert!(payload.is::<Planned>(), "a panic that is none of the program");
            }
            // Each job waits only for jobs that it, or such a job, has submitted.
            Err(JoinError::WouldDeadlock) => panic!("no program has a circle"),
            Err(JoinError::Cancelled(cause)) => {
                let may_be = may == Some(cause)
                    || match cause {
                        Cause::Evicted => self.evicts,
                        Cause::Ended => self.shared.ends.load(Relaxed),
                        _ => false,
                    };
                assert!(may_be, "cancelled for another cause: {cause:?}");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}
