//! Futures, local futures and shares of broadcasts: who owns them, and how they are queued for a worker, or sent to it.
//! `MAILBOX.md` has the protocol of the mailbox.

pub(super) mod broadcast;
pub(super) mod groups;
pub(super) mod owned_tasks;
mod tasks;
