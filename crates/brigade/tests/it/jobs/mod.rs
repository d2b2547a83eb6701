//! Guarantees for jobs: exactly one outcome, order, fairness, and isolation from each other.

mod aborting;
mod cancel_handles;
mod cancelled_flag;
mod cancelling;
mod causes;
mod churn;
mod conformance;
mod counters;
mod deadlines;
mod deadlocks;
mod dispatch;
mod errors;
mod fairness;
mod job_builder;
mod joining;
mod on_panic;
mod order;
mod panics;
mod park_tokens;
mod parts;
mod placement;
mod spinning;
mod stolen_forks;
mod values;
mod work_conservation;
