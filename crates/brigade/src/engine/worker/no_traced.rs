//! Replaces what a trace is told if the feature `trace` is off: nothing.

use std::borrow::Cow;
use std::panic::Location;

use super::Worker;
use crate::engine::core::Core;
use crate::idle::Duty;
use crate::trace::{Scope, Tracer, Wake};

impl Core {
    #[inline(always)]
    pub(in crate::engine) fn begin_wake(&self, _: usize) -> Option<Wake> {
        let Tracer = &self.tracer;
        None
    }

    #[inline(always)]
    pub(in crate::engine) fn end_wake(&self, _: Option<Wake>) {}
}

impl Worker {
    #[inline(always)]
    pub(super) fn trace_job(&self) -> Option<Scope<'_>> {
        self.me.track.write();
        None
    }

    #[inline(always)]
    pub(crate) fn trace_job_inside(&self) -> Option<Scope<'_>> {
        None
    }

    #[inline(always)]
    pub(super) fn trace_block(&self) -> Option<Scope<'_>> {
        None
    }

    #[inline(always)]
    pub(super) fn trace_search(&self) {}

    #[inline(always)]
    pub(super) fn trace_search_end(&self) {}

    #[inline(always)]
    pub(super) fn trace_park(&self, _: Option<Duty>) {}

    #[inline(always)]
    pub(super) fn trace_duty(&self, _: Option<Duty>) {}

    #[inline(always)]
    pub(super) fn trace_withdraw(&self) {}

    #[inline(always)]
    pub(super) fn trace_woken(&self) {}

    #[inline(always)]
    pub(super) fn trace_start(&self) {}

    #[inline(always)]
    pub(super) fn trace_end(&self) {}

    #[inline(always)]
    pub(super) fn trace_steal(&self, _: Option<usize>, _: usize) {}

    #[inline(always)]
    pub(super) fn trace_stolen_fork(&self, _: usize) {}

    #[inline(always)]
    pub(super) fn trace_before_take(&self) -> Option<usize> {
        None
    }

    #[inline(always)]
    pub(super) fn trace_take(&self, _: Option<usize>) {}

    #[inline(always)]
    pub(super) fn trace_timers(&self, _: usize) {}

    #[inline(always)]
    pub(super) fn trace_events(&self, _: usize) {}
}

#[inline(always)]
pub(crate) fn label_job(_: Option<&Cow<'static, str>>, _: Option<&'static Location<'static>>) {}
