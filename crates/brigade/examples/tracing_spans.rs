//! Spans of `tracing` that go with their jobs.
//!
//! A span belongs to the thread that has entered it, and a job runs on another one. `Instrument` enters it whenever the future is
//! polled, on whatever thread that is. A closure takes a clone of the span along.
//!
//! ```sh
//! cargo run --example tracing_spans
//! ```

#![allow(clippy::disallowed_types, reason = "an example uses the standard library")]

use std::error::Error;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brigade::{JoinError, Pool, time};
use tracing::{Instrument, Span, info, info_span};

/// What the subscriber writes; a program would give it standard error.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Answers a request: part of it waits, and part of it computes.
async fn answer(id: u32) -> Result<u32, JoinError> {
    info!("accepted");
    time::sleep(Duration::from_millis(1)).await; // Another thread may go on from here.
    let span = Span::current();
    let square = brigade::submit(move || {
        span.in_scope(|| {
            info!("computing");
            id * id
        })
    });
    let square = square.await?;
    info!(square, "answered");
    Ok(square)
}

fn main() -> Result<(), Box<dyn Error>> {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().without_time().with_target(false).with_ansi(false);
    let subscriber = subscriber.with_writer(move || writer.clone()).finish();
    tracing::subscriber::set_global_default(subscriber)?;

    let pool = Pool::new(2);
    let requests: Vec<_> =
        (1..=3).map(|id| pool.spawn(answer(id).instrument(info_span!("request", id)))).collect();
    for (request, id) in requests.into_iter().zip(1..) {
        assert_eq!(request.join()??, id * id);
    }
    // Without a span, the event has none: the jobs have left no span on their threads.
    pool.submit(|| info!("idle again")).join()?;

    let text = log.text();
    print!("{text}");
    for id in 1..=3 {
        let said =
            text.lines().filter_map(|line| line.split_once(&format!("request{{id={id}}}: ")));
        let said: Vec<_> = said.map(|(_, event)| event.to_owned()).collect();
        assert_eq!(said, ["accepted", "computing", &format!("answered square={}", id * id)]);
    }
    assert!(text.lines().any(|line| line.trim() == "INFO idle again"));
    Ok(())
}
