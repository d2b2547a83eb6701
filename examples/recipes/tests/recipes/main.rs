//! Frameworks and drivers on a pool of brigade, without tokio's runtime. Each file is a recipe to copy, and a test of it.

mod criterion;
mod prometheus;
mod quinn;
mod sqlx;
mod tonic;

type Failure = Box<dyn std::error::Error + Send + Sync>;
