//! The jobs that a thread runs, nested, and the state that belongs to each.
//!
//! **Stack rule.** A frame lies on a thread's stack while it is the [`INNERMOST`] of the thread, or the outer frame of such a frame.
//! During that time everything it refers to is borrowed there.
//!
//! **Context rule.** A fork or a scope has the innermost frame of the thread that made it as its [`JobContext`]. The thread does not
//! leave the call in which it made the fork or scope before the last part has ended. So a part may use the frame, on any thread.

use core::any::Any;
use core::mem;
use core::ptr::{self, NonNull};
use std::sync::Arc;

use super::state::State;
use crate::cause::Cause;
use crate::contain::catch;
use crate::values::Values;

brigade_sync::scoped_thread_local! {
    /// The innermost frame. Models never look at it: all threads of a model share a thread-local of std.
    static INNERMOST: Frame
}

/// State that belongs to a running job, and to the parts of the job on other threads.
pub trait Attachment: Sync {
    /// The name of the job, if this is its name.
    fn name(&self) -> Option<&str> {
        None
    }

    /// The values that follow the job, if these are they: those of outer attachments are among them.
    fn values(&self) -> Option<&Values> {
        None
    }

    /// Whether [`is_cancelled`] says that the job is to stop, beside what its handle asks. A future is dropped by its handle alone.
    fn must_stop(&self) -> bool {
        false
    }

    /// Calls a part of the job on another thread, whose state it may change for the time of the call.
    fn enter(&self, call: &mut dyn FnMut()) {
        call();
    }
}

/// The begin of a job, of a part, or of a call with an attachment.
struct Frame {
    what: What<'static>,
    outer: Option<NonNull<Frame>>,
}

/// The beginning that a frame marks.
#[derive(Clone, Copy)]
enum What<'a> {
    /// A job; with the state if it has a handle.
    Job(Option<&'a State>),
    /// A part of work with this context.
    Part(Option<&'a Frame>),
    /// A call with an attachment, in the same job. A reference to a reference keeps a frame short.
    Attached(&'a &'a dyn Attachment),
    /// The drop of a closure cancelled for this cause.
    Dropped(Cause),
}

impl What<'_> {
    /// Whether the beginning job has been asked to stop; `None` if no job begins.
    fn is_asked(self) -> Option<bool> {
        match self {
            What::Job(state) => Some(state.is_some_and(State::is_stop_requested)),
            What::Part(_) | What::Attached(_) | What::Dropped(_) => None,
        }
    }

    /// The same, or whether its attachment says so.
    fn must_stop(self) -> Option<bool> {
        match self {
            What::Attached(attachment) => attachment.must_stop().then_some(true),
            _ => self.is_asked(),
        }
    }
}

impl Frame {
    /// # Safety
    /// Stack rule and Context rule: everything that `what` refers to must outlive the frame.
    #[inline]
    unsafe fn new(what: What<'_>) -> Self {
        // SAFETY: only the lifetime changes; guaranteed by the caller.
        let what = unsafe { mem::transmute::<What<'_>, What<'static>>(what) };
        Self { what, outer: JobContext::current().0 }
    }

    fn outer(&self) -> Option<&Self> {
        // SAFETY: Stack rule: a reference to a frame is the thread's reference or was made of it.
        self.outer.map(|outer| unsafe { outer.as_ref() })
    }

    /// The first frame that `is` wanted: of this frame, the frame `outer` of it, and so on.
    fn first<'a>(
        mut frame: Option<&'a Self>,
        outer: fn(&'a Self) -> Option<&'a Self>,
        is: fn(What<'_>) -> bool,
    ) -> Option<&'a Self> {
        while let Some(here) = frame {
            if is(here.what) {
                break;
            }
            frame = outer(here);
        }
        frame
    }

    /// The next outer frame: of the same job, or of the job that runs this job in place.
    fn outer_of_context(&self) -> Option<&Self> {
        match self.what {
            What::Job(None) => None,
            What::Part(context) => context,
            What::Job(Some(_)) | What::Attached(_) | What::Dropped(_) => self.outer(),
        }
    }
}

/// The identity of a thread's innermost job, for parts of the job on other threads.
#[derive(Clone, Copy)]
pub(crate) struct JobContext(Option<NonNull<Frame>>);

// SAFETY: a frame is not changed while there is a reference to it, and a state and an attachment are `Sync`.
unsafe impl Send for JobContext {}
// SAFETY: as above.
unsafe impl Sync for JobContext {}

impl JobContext {
    /// The context of the calling thread.
    #[inline]
    pub(crate) fn current() -> Self {
        Self(INNERMOST.with(|frame| match cfg!(brigade_loom) {
            true => None,
            false => frame.map(NonNull::from),
        }))
    }

    /// Whether it is the context of the calling thread.
    #[inline]
    pub(crate) fn is_current(self) -> bool {
        self.0 == Self::current().0
    }

    /// Calls `call` as a part of work with this context.
    ///
    /// # Safety
    /// Context rule: the thread whose context it is must not have left the call in which it took it.
    #[inline]
    pub(crate) unsafe fn enter<R>(self, call: impl FnOnce() -> R) -> R {
        if self.is_current() {
            return call();
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.enter_elsewhere(call) }
    }

    /// Like [`enter`](Self::enter), for any context but the [current](Self::is_current) context.
    ///
    /// # Safety
    /// As for `enter`.
    #[cold]
    pub(crate) unsafe fn enter_elsewhere<R>(self, call: impl FnOnce() -> R) -> R {
        // SAFETY: Context rule, guaranteed by the caller.
        let mut context = self.0.map(|frame| unsafe { frame.as_ref() });
        // A part of a part has the context of the outer part, so parts of parts form no chain.
        if let Some(&Frame { what: What::Part(outer), .. }) = context {
            context = outer;
        }
        // SAFETY: Context rule, guaranteed by the caller.
        let frame = unsafe { Frame::new(What::Part(context)) };
        let (mut call, mut result) = (Some(call), None);
        let mut call = || result = call.take().map(|call| call());
        INNERMOST.set(&frame, || enter_attachments(context, &mut call));
        match result {
            Some(result) => result,
            None => unreachable!("an attachment calls what it is given"),
        }
    }
}

/// Calls `call` inside all attachments of a context, those of outer frames first.
fn enter_attachments(context: Option<&Frame>, call: &mut dyn FnMut()) {
    let is_attached = |what: What<'_>| matches!(what, What::Attached(_));
    match Frame::first(context, Frame::outer_of_context, is_attached) {
        Some(frame @ Frame { what: What::Attached(attachment), .. }) => {
            enter_attachments(frame.outer(), &mut || attachment.enter(call));
        }
        _ => call(),
    }
}

/// Identifies a job among all that are running or have a handle.
///
/// An id is reused only after the job has ended and the handle is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(usize);

impl From<JobId> for usize {
    fn from(JobId(number): JobId) -> Self {
        number
    }
}

impl JobId {
    #[inline]
    pub(super) fn of(state: &State) -> Self {
        Self(ptr::from_ref(state).addr())
    }
}

/// The future being polled.
#[derive(Clone, Copy, Debug)]
pub struct RunningFuture {
    /// Identifies it.
    pub id: JobId,
    /// Whether the end is reported to a set.
    pub is_member: bool,
}

impl RunningFuture {
    #[inline]
    pub(crate) fn of(state: &State) -> Self {
        Self { id: JobId::of(state), is_member: state.is_member() }
    }

    /// The innermost job of the calling thread, if it has a handle.
    pub fn innermost() -> Option<Self> {
        let is_job = |what: What<'_>| matches!(what, What::Job(_) | What::Dropped(_));
        INNERMOST.with(|innermost| match Frame::first(innermost, Frame::outer, is_job)?.what {
            What::Job(Some(state)) => Some(Self::of(state)),
            _ => None,
        })
    }
}

/// Calls `call` as a part of the job with this state.
#[inline]
pub(crate) fn enter<R>(state: &State, call: impl FnOnce() -> R) -> R {
    // SAFETY: the state is borrowed during the call.
    let frame = unsafe { Frame::new(What::Job(Some(state))) };
    INNERMOST.set(&frame, call)
}

/// Calls `call` as a job without a handle, inside the running job: nothing attached to the outer job belongs to it.
///
/// ```
/// use brigade_task::{Job, enter_other, is_cancelled};
/// let (job, mut handle) = Job::with_handle(|| (is_cancelled(), enter_other(is_cancelled)));
/// _ = handle.ask_to_stop(true);
/// job.run();
/// assert_eq!(handle.join()?, (true, false));
/// # Ok::<(), brigade_task::JoinError>(())
/// ```
pub fn enter_other<R>(call: impl FnOnce() -> R) -> R {
    // SAFETY: it refers to nothing.
    let frame = unsafe { Frame::new(What::Job(None)) };
    INNERMOST.set(&frame, call)
}

/// Calls `call` with an attachment. Forks and scopes of `call` have it too, on any thread.
///
/// ```
/// use brigade_task::{Attachment, attach, job_name};
/// struct Name(&'static str);
/// impl Attachment for Name {
///     fn name(&self) -> Option<&str> {
///         Some(self.0)
///     }
/// }
/// assert_eq!(attach(&Name("resize"), job_name).as_deref(), Some("resize"));
/// assert_eq!(job_name(), None);
/// ```
pub fn attach<R>(attachment: &dyn Attachment, call: impl FnOnce() -> R) -> R {
    // SAFETY: the reference is borrowed during the call.
    let frame = unsafe { Frame::new(What::Attached(&attachment)) };
    INNERMOST.set(&frame, call)
}

/// Calls `drop`, which drops a closure of this type, cancelled for this cause. The code for types that need a drop is compiled once.
///
/// # Errors
/// The payload of a panic.
#[inline(always)]
pub(crate) fn drop_as<F>(cause: Cause, drop: &mut dyn FnMut()) -> Result<(), Box<dyn Any + Send>> {
    if const { mem::needs_drop::<F>() } { drop_any_as(cause, drop) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn drop_any_as(cause: Cause, drop: &mut dyn FnMut()) -> Result<(), Box<dyn Any + Send>> {
    // SAFETY: it refers to nothing.
    let frame = unsafe { Frame::new(What::Dropped(cause)) };
    INNERMOST.set(&frame, || catch(drop))
}

/// Returns the cause for which the job that this thread drops is cancelled; [`Ended`](Cause::Ended) if it drops none.
///
/// ```
/// use brigade_task::{Cause, Job, drop_cause};
/// struct Tells(std::sync::mpsc::Sender<Cause>);
/// impl Drop for Tells {
///     fn drop(&mut self) {
///         _ = self.0.send(drop_cause());
///     }
/// }
/// let (sender, causes) = std::sync::mpsc::channel();
/// let tells = Tells(sender);
/// Job::new(move || drop(tells)).cancel(Cause::Evicted);
/// assert_eq!(causes.recv(), Ok(Cause::Evicted));
/// ```
pub fn drop_cause() -> Cause {
    fn cause(what: What<'_>) -> Option<Cause> {
        match what {
            What::Dropped(cause) => Some(cause),
            // A future is dropped as it is polled.
            What::Job(Some(state)) => state.stop_cause(),
            What::Job(None) | What::Part(_) | What::Attached(_) => None,
        }
    }
    INNERMOST.with(|innermost| {
        // Models never look at it.
        let innermost = if cfg!(brigade_loom) { None } else { innermost };
        let frame = Frame::first(innermost, Frame::outer, |what| cause(what).is_some());
        frame.and_then(|frame| cause(frame.what)).unwrap_or(Cause::Ended)
    })
}

/// Returns whether the job run by this thread has been [asked to stop](crate::JobHandle::ask_to_stop) by the handle;
/// `false` if there is no such job.
///
/// Inside a nested job, this is about the inner job until it ends. In a part of a fork or a scope it is about the job that made the
/// fork or scope.
///
/// ```
/// use brigade_task::{Job, is_cancelled};
/// use std::sync::mpsc;
/// let (begun, begins) = mpsc::channel();
/// let (job, mut handle) = Job::with_handle(move || {
///     _ = begun.send(is_cancelled());
///     while !is_cancelled() {
///         std::hint::spin_loop();
///     }
///     "stopped"
/// });
/// let worker = std::thread::spawn(|| job.run());
/// assert_eq!(begins.recv(), Ok(false));
/// _ = handle.ask_to_stop(true);
/// worker.join().unwrap();
/// assert_eq!(handle.join()?, "stopped");
/// # Ok::<(), brigade_task::JoinError>(())
/// ```
pub fn is_cancelled() -> bool {
    must_stop_by(Frame::outer_of_context, |what| what.must_stop())
}

/// Whether the innermost job on this thread's stack has been asked to stop. For a future of a scope this is the future itself; the job
/// that opened the scope waits for this future.
pub(crate) fn must_stop() -> bool {
    must_stop_by(Frame::outer, |what| what.is_asked())
}

/// What the first frame that tells says: of the innermost frame, the frame `outer` of it, and so on.
#[inline]
fn must_stop_by(outer: fn(&Frame) -> Option<&Frame>, tell: fn(What<'_>) -> Option<bool>) -> bool {
    INNERMOST.with(|mut frame| {
        while let Some(here) = frame {
            if let Some(must_stop) = tell(here.what) {
                return must_stop;
            }
            frame = outer(here);
        }
        false
    })
}

/// Cancels the future polled by this thread, for this cause, although it is about to be ready.
pub(crate) fn cancel_polled(cause: Cause) {
    // Models never look at it.
    INNERMOST.with(|innermost| match innermost.map(|frame| frame.what) {
        Some(What::Job(Some(state))) if !cfg!(brigade_loom) => _ = state.request_stop(cause),
        _ => {}
    });
}

/// The [attached](attach) name of the job that this thread runs, wholly or in part.
pub fn job_name() -> Option<String> {
    let is_named = |what: What<'_>| match what {
        What::Job(_) => true,
        What::Attached(attachment) => attachment.name().is_some(),
        What::Part(_) | What::Dropped(_) => false,
    };
    INNERMOST.with(|innermost| {
        match Frame::first(innermost, Frame::outer_of_context, is_named)?.what {
            What::Attached(attachment) => attachment.name().map(String::from),
            _ => None,
        }
    })
}

/// Whether values may follow the job that this thread runs, wholly or in part; a single look, without a call.
#[inline(always)]
pub fn may_have_job_values() -> bool {
    JobContext::current().0.is_some()
}

/// Whether values follow the job that this thread runs, wholly or in part.
#[cold]
#[inline(never)]
pub fn has_job_values() -> bool {
    with_values(|values| values.is_some())
}

/// The values that follow the job that this thread runs, wholly or in part.
///
/// ```
/// use brigade_task::{Attachment, Values, attach, has_job_values, inherited, job_values};
/// struct Has(Values);
/// impl Attachment for Has {
///     fn values(&self) -> Option<&Values> {
///         Some(&self.0)
///     }
/// }
/// let has = Has(Values::default().with(42));
/// let inner = attach(&has, || (job_values().get(), inherited()));
/// assert_eq!(inner, (Some(42.into()), Some(42.into())));
/// assert!(attach(&has, has_job_values) && !has_job_values());
/// ```
pub fn job_values() -> Values {
    with_values(|values| values.cloned().unwrap_or_default())
}

/// The value of a type that follows the job that this thread runs, wholly or in part; see [`job_values`].
pub fn inherited<T: Send + Sync + 'static>() -> Option<Arc<T>> {
    with_values(|values| values?.get())
}

fn with_values<R>(call: impl FnOnce(Option<&Values>) -> R) -> R {
    let ends = |what: What<'_>| match what {
        What::Job(_) | What::Dropped(_) => true,
        What::Attached(attachment) => attachment.values().is_some(),
        What::Part(_) => false,
    };
    INNERMOST.with(|innermost| {
        // Models never look at it.
        let innermost = if cfg!(brigade_loom) { None } else { innermost };
        match Frame::first(innermost, Frame::outer_of_context, ends).map(|frame| frame.what) {
            Some(What::Attached(attachment)) => call(attachment.values()),
            _ => call(None),
        }
    })
}

/// Calls `call` with each job with a handle that can't end before this call does. The first is the innermost job that this thread runs,
/// wholly or a part of a fork or scope; then comes the job around it, and so on. Each comes once.
///
/// ```
/// use brigade_task::{Job, for_each_running};
/// let (inner, inner_handle) = Job::with_handle(|| {
///     let mut running = Vec::new();
///     for_each_running(|id| running.push(id));
///     running
/// });
/// let inner_id = inner_handle.id();
/// let (outer, outer_handle) = Job::with_handle(move || inner.run());
/// let outer_id = outer_handle.id();
/// outer.run();
/// assert_eq!(inner_handle.join()?, [inner_id, outer_id]);
/// # drop(outer_handle);
/// for_each_running(|_| unreachable!());
/// # Ok::<(), brigade_task::JoinError>(())
/// ```
pub fn for_each_running(mut call: impl FnMut(JobId)) {
    visit_running(&mut call);
}

fn visit_running(call: &mut dyn FnMut(JobId)) {
    INNERMOST.with(|innermost| {
        // The seen frames are sorted. Frames of a stack are visited in this order, so an insertion moves few.
        let (mut next, mut left, mut seen) = (innermost, Vec::new(), Vec::new());
        while let Some(frame) = next.take().or_else(|| left.pop()) {
            // Two ways lead from a part to the older frames, so their number would double with each part on the way. Before the first part
            // there is a single way.
            if matches!(frame.what, What::Part(_)) || !seen.is_empty() {
                let frame = ptr::from_ref(frame);
                let Err(place) = seen.binary_search(&frame) else { continue };
                seen.insert(place, frame);
            }
            next = frame.outer();
            match frame.what {
                What::Job(Some(state)) => call(JobId::of(state)),
                // The context's thread waits for this part, and so do the outer frames there.
                What::Part(context) => {
                    if let Some(outer) = next {
                        left.push(outer);
                    }
                    next = context;
                }
                What::Job(None) | What::Attached(_) | What::Dropped(_) => {}
            }
        }
    });
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Calls `last` inside this many jobs, each inside a part of the job before, which a third job runs.
    fn nest(levels: usize, last: &mut dyn FnMut()) {
        if levels == 0 {
            return last();
        }
        let mut part = |context: JobContext| {
            // SAFETY: Context rule: this thread took it in a call still on the stack.
            unsafe { context.enter(|| nest(levels - 1, last)) }
        };
        enter(&State::new(), || {
            let context = JobContext::current();
            enter(&State::new(), || part(context));
        });
    }

    /// Caught: a visit of the frames around a part, and another of the frames around the context, which doubled with each level.
    #[test]
    fn each_running_job_comes_once_with_any_parts() {
        let mut jobs = Vec::new();
        nest(16, &mut || for_each_running(|job| jobs.push(job)));
        let distinct: BTreeSet<_> = jobs.iter().collect();
        assert_eq!((jobs.len(), distinct.len()), (32, 32));
    }
}
