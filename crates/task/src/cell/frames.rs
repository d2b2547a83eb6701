//! The jobs with handles that a thread runs, one inside the other.
//!
//! **Stack rule.** A frame lies on its thread's stack, inside [`enter`], while it is the thread's reference or the outer
//! frame of one that is. During that time the state that it points to is borrowed there.

use core::ptr::{self, NonNull};

use super::state::State;

brigade_sync::scoped_thread_local! {
    /// The innermost frame. Models never look at it: to a thread-local of std all their threads are one.
    static INNERMOST: Frame
}

/// A running job, and the one that runs it.
struct Frame {
    state: NonNull<State>,
    outer: Option<NonNull<Frame>>,
}

impl Frame {
    /// The frame of a job that the innermost one runs.
    #[inline]
    fn inside(state: &State) -> Self {
        let outer = INNERMOST.with(|frame| match cfg!(brigade_loom) {
            true => None,
            false => frame.map(NonNull::from),
        });
        Self { state: NonNull::from(state), outer }
    }

    fn state(&self) -> &State {
        // SAFETY: Stack rule: a reference to a frame is the thread's reference or came from one.
        unsafe { self.state.as_ref() }
    }

    fn outer(&self) -> Option<&Self> {
        // SAFETY: Stack rule, as above.
        self.outer.map(|outer| unsafe { outer.as_ref() })
    }
}

/// Identifies one job among all those that are running or have a handle.
///
/// An id is used again only once its job has ended and its handle is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(usize);

impl JobId {
    pub(super) fn of(state: &State) -> Self {
        Self(ptr::from_ref(state).addr())
    }
}

/// Calls `call` as a part of the job with this state.
pub(crate) fn enter<R>(state: &State, call: impl FnOnce() -> R) -> R {
    INNERMOST.set(&Frame::inside(state), call)
}

/// Returns whether the innermost job that this thread runs has been asked to stop.
pub(crate) fn is_stop_requested() -> bool {
    INNERMOST.with(|frame| frame.is_some_and(|frame| frame.state().is_stop_requested()))
}

/// Calls `call` with each job with a handle that this thread runs, from the innermost on.
pub(crate) fn for_each_running(mut call: impl FnMut(JobId)) {
    INNERMOST.with(|innermost| {
        let frames = core::iter::successors(innermost, |frame| frame.outer());
        frames.for_each(|frame| call(JobId::of(frame.state())));
    });
}
