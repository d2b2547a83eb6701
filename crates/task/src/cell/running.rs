//! Which jobs with handles a thread runs, one inside the other.
//!
//! **Stack rule.** A frame lies on its thread's stack, in [`enter`], while it is the thread's reference or the outer of one
//! that is; so long the state that it names is borrowed there.

use core::ptr::{self, NonNull};

use super::state::State;

brigade_sync::scoped_thread_local! {
    /// The innermost. Models never look at it: to a thread-local of std's all their threads are one.
    static RUNNING: Frame
}

/// A job that runs, and the one around it.
struct Frame {
    state: NonNull<State>,
    outer: Option<NonNull<Frame>>,
}

impl Frame {
    fn state(&self) -> &State {
        // SAFETY: Stack rule: whoever has a frame got it as the thread's reference, or from one.
        unsafe { self.state.as_ref() }
    }

    fn outer(&self) -> Option<&Self> {
        // SAFETY: Stack rule, as above.
        self.outer.map(|outer| unsafe { outer.as_ref() })
    }
}

/// Names one job among all those that are running or have a handle.
///
/// Two jobs have the same name only if the first had ended, and its handle was gone, before the second was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(usize);

impl JobId {
    pub(super) fn of(state: &State) -> Self {
        Self(ptr::from_ref(state).addr())
    }
}

/// Runs a job with this state.
pub(crate) fn enter<R>(state: &State, call: impl FnOnce() -> R) -> R {
    let outer = RUNNING.with(|frame| match cfg!(brigade_loom) {
        true => None,
        false => frame.map(NonNull::from),
    });
    RUNNING.set(&Frame { state: NonNull::from(state), outer }, call)
}

/// Whether the handle of the job that this thread runs has asked it to stop.
pub(crate) fn is_asked_to_stop() -> bool {
    RUNNING.with(|frame| frame.is_some_and(|frame| frame.state().is_asked()))
}

/// Calls with each job with a handle that this thread runs, from the innermost.
pub(crate) fn for_each_running(mut call: impl FnMut(JobId)) {
    RUNNING.with(|innermost| {
        let frames = core::iter::successors(innermost, |frame| frame.outer());
        frames.for_each(|frame| call(JobId::of(frame.state())));
    });
}
