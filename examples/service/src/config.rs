//! Settings: from the command line, else from a file, else a default.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use serde::Deserialize;

/// Makes thumbnails of images.
///
/// Each setting may also stand in a file, with underscores: `grace_ms = 5000`.
#[derive(Parser)]
#[command(version)]
struct Flags {
    /// A file of settings, in TOML
    #[arg(long)]
    config: Option<PathBuf>,
    #[command(flatten)]
    given: Given,
}

/// Declares each setting once: as a flag, as a key of the file, and as a field with a default.
macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr;)+) => {
        /// What the command line or the file says.
        #[derive(Args, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Given {
            $($(#[doc = $doc])+ #[arg(long)] $name: Option<$type>,)+
        }

        /// What the service goes by.
        pub struct Settings {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        impl Settings {
            fn new(flags: Given, file: Given) -> Self {
                Self { $($name: flags.$name.or(file.$name).unwrap_or_else(|| $default),)+ }
            }
        }
    };
}

settings! {
    /// The address to listen at; port 0 is any free port
    listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080));
    /// The folder for results, unless there is a queue
    store: PathBuf = "results".into();
    /// A NATS server whose queue several processes share, such as nats://localhost:4222
    queue: String = String::new();
    /// The name before those of the streams and the bucket in the NATS server
    prefix: String = "thumbnails".into();
    /// How many jobs the NATS server keeps before it refuses more
    queue_capacity: i64 = 100_000;
    /// For how long a message may be without a sign of life before another process gets it
    ack_wait_ms: u64 = 30_000;
    /// How often a job may be begun without a result before it becomes a dead letter
    max_attempts: u32 = 5;
    /// The threads that compute; 0 is one for each CPU
    threads: usize = 0;
    /// How many jobs may wait for a thread
    capacity: usize = 64;
    /// The largest image, in bytes
    max_body: usize = 8 << 20;
    /// How many connections are served at a time; each may have an image in memory
    max_connections: usize = 256;
    /// How long a client may take to send its headers, to send its image, and to read
    client_ms: u64 = 10_000;
    /// A job that has run for so long is logged
    stall_ms: u64 = 1_000;
    /// How long the end may take
    grace_ms: u64 = 10_000;
}

impl Settings {
    /// Reads the command line, and the file that it names. Prints what is wrong with the command line, and exits.
    pub fn read() -> Result<Self, String> {
        let Flags { config, given } = Flags::parse();
        let text = config.as_ref().map_or(Ok(String::new()), std::fs::read_to_string);
        let named = config.unwrap_or_default();
        let file = text
            .map_err(|error| error.to_string())
            .and_then(|text| toml::from_str(&text).map_err(|error| error.to_string()))
            .map_err(|error| format!("{}: {error}", named.display()))?;
        let settings = Self::new(given, file);
        for (name, number) in [
            ("client-ms", settings.client_ms),
            ("stall-ms", settings.stall_ms),
            ("ack-wait-ms", settings.ack_wait_ms),
            ("capacity", settings.capacity as u64),
            ("max-attempts", settings.max_attempts.into()),
            ("max-connections", settings.max_connections as u64),
        ] {
            if number == 0 {
                return Err(format!("{name} must be at least 1"));
            }
        }
        Ok(settings)
    }

    pub fn client_time(&self) -> Duration {
        Duration::from_millis(self.client_ms)
    }

    pub fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }

    pub fn ack_wait(&self) -> Duration {
        Duration::from_millis(self.ack_wait_ms)
    }
}
