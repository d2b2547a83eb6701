//! The service from outside: its program, asked over HTTP, and killed.

mod http;
mod page;
mod queue;
mod support;
