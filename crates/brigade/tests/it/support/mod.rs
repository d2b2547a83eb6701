//! Helpers of several of these tests that depend on pools; the rest is in `brigade-testkit`.

pub(crate) mod busy;
pub(crate) mod crowd;
pub(crate) mod full;
pub(crate) mod in_time;
#[cfg(target_os = "linux")]
pub(crate) mod nice;
#[cfg(feature = "io")]
pub(crate) mod pipes;
pub(crate) mod policy;
pub(crate) mod reports;
pub(crate) mod roll_call;
pub(crate) mod soak;
pub(crate) mod staging;
pub(crate) mod trees;
pub(crate) mod verbs;
