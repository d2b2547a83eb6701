//! A trace as JSON, in the Trace Event format.
//!
//! Written without a crate for JSON: it is a flat list, and only names have to be escaped.

use core::fmt;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::event::Event;
use crate::traced::{Before, Trace, Traced};
use crate::what::{Label, Since, What, title_of};

/// The tracks of foreign threads are numbered from here, and so shown below the workers.
const OUTSIDE: usize = 1_000_000;

/// A string of JSON.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for char in self.0.chars() {
            match char {
                '"' | '\\' => write!(f, "\\{char}")?,
                char if char.is_control() => write!(f, "\\u{:04x}", u32::from(char))?,
                char => write!(f, "{char}")?,
            }
        }
        f.write_str("\"")
    }
}

/// A time in microseconds, which is the unit of the format.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// The list of events, in writing.
struct List<'a> {
    writer: &'a mut dyn Write,
    is_empty: bool,
}

impl List<'_> {
    /// Writes an event of a track, with further members.
    fn event(&mut self, kind: &str, track: usize, more: fmt::Arguments<'_>) -> io::Result<()> {
        let comma = if self.is_empty { "" } else { "," };
        self.is_empty = false;
        write!(self.writer, "{comma}\n{{\"ph\":\"{kind}\",\"pid\":1,\"tid\":{track},{more}}}")
    }

    fn name_track(&mut self, track: usize, title: &str) -> io::Result<()> {
        let title = Text(title);
        self.event(
            "M",
            track,
            format_args!("\"name\":\"thread_name\",\"args\":{{\"name\":{title}}}"),
        )?;
        self.event(
            "M",
            track,
            format_args!("\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{track}}}"),
        )
    }

    fn slice(&mut self, track: usize, from: u64, until: u64, shown: &Shown) -> io::Result<()> {
        let Shown { name, class, args } = shown;
        let (name, at, lasts) = (Text(name), Micros(from), Micros(until.saturating_sub(from)));
        self.event("X", track, format_args!(
            "\"ts\":{at},\"dur\":{lasts},\"name\":{name},\"cat\":\"{class}\",\"args\":{{{args}}}"
        ))
    }

    fn moment(&mut self, track: usize, at: u64, shown: &Shown) -> io::Result<()> {
        let Shown { name, class, args } = shown;
        let (name, at) = (Text(name), Micros(at));
        self.event(
            "i",
            track,
            format_args!(
                "\"ts\":{at},\"s\":\"t\",\"name\":{name},\"cat\":\"{class}\",\"args\":{{{args}}}"
            ),
        )
    }

    /// Writes an end of an arrow, bound to the slice around it.
    fn arrow(&mut self, end: &str, track: usize, at: u64, number: u64) -> io::Result<()> {
        let at = Micros(at);
        self.event(
            end,
            track,
            format_args!(
                "\"ts\":{at},\"id\":{number},\"bp\":\"e\",\"name\":\"wake-up\",\"cat\":\"wake-up\""
            ),
        )
    }
}

/// How something is shown.
struct Shown {
    name: String,
    class: &'static str,
    /// The members of an object.
    args: String,
}

impl Shown {
    fn new(name: impl Into<String>, class: &'static str, args: String) -> Self {
        Self { name: name.into(), class, args }
    }

    fn job(Label { name, place }: &Label, is_inside: bool) -> Self {
        let title = match (name, place) {
            (Some(name), _) => name.to_string(),
            (None, Some(place)) => format!("{}:{}", place.file(), place.line()),
            (None, None) => "job".to_owned(),
        };
        let mut args = Vec::new();
        args.extend(place.map(|place| format!("\"submitted at\":{}", Text(&place.to_string()))));
        args.extend(is_inside.then(|| "\"runs\":\"in the job that waits for it\"".to_owned()));
        Self::new(title, "job", args.join(","))
    }

    fn of(what: &What, is_inside: bool) -> Self {
        let some = |name: &str, count: usize| format!("\"{name}\":{count}");
        match what {
            What::Job(label) => Self::job(label, is_inside),
            What::Blocked => Self::new("blocked", "blocked", String::new()),
            What::Search(since) => {
                let since = match since {
                    Since::Running => "it had nothing to run",
                    Since::Parked => "it saw something to do while it was parked",
                    Since::Woken(_) => "it was woken",
                };
                Self::new("search", "search", format!("\"reason\":\"{since}\""))
            }
            What::Parked { holds_driver: false, .. } => {
                Self::new("parked", "parked", String::new())
            }
            What::Parked { .. } => {
                let duty = "waits for timers and I/O";
                Self::new(format!("parked: {duty}"), "parked", format!("\"duty\":\"{duty}\""))
            }
            What::Wake { worker, .. } => {
                Self::new(format!("wake worker {worker}"), "wake-up", some("worker", *worker))
            }
            What::Stolen { from, jobs, are_forks } => {
                let what = if *are_forks { "forks" } else { "jobs" };
                let (victim, number) = title_of(*from);
                let args = [some(&format!("from {victim}"), number), some(what, *jobs)].join(",");
                Self::new(format!("steal from {victim} {number}"), "steal", args)
            }
            What::Taken(jobs) => {
                Self::new("take from the shared queue", "take", some("jobs", *jobs))
            }
            What::Timers(count) => Self::new("timers", "timers", some("fired", *count)),
            What::Events(count) => Self::new("I/O events", "io", some("events", *count)),
            What::Starts(role) => {
                Self::new("thread starts", "thread", format!("\"role\":\"{role}\""))
            }
            What::Ends => Self::new("thread ends", "thread", String::new()),
            What::Resumes => unreachable!("it ends a search, and is not recorded"),
        }
    }
}

/// The numbers of the wake-ups of which both ends are known.
fn arrows(threads: &[Traced]) -> HashSet<u64> {
    let numbers = |number: fn(&What) -> Option<u64>| -> HashSet<u64> {
        let events = threads.iter().flat_map(|thread| &thread.events);
        events.filter_map(|event| number(&event.what)).collect()
    };
    let sent = numbers(|what| match what {
        What::Wake { number, .. } => Some(*number),
        _ => None,
    });
    let seen = numbers(|what| match what {
        What::Search(Since::Woken(number)) => Some(*number),
        _ => None,
    });
    sent.intersection(&seen).copied().collect()
}

fn write_before(list: &mut List<'_>, track: usize, before: &Before) -> io::Result<()> {
    let Before { from, until, what, why } = before;
    let mut shown = Shown::of(what, false);
    if let What::Job(Label { name: None, place: None, .. }) = what {
        shown = Shown::new(format!("({why})"), "before", String::new());
    } else if !why.is_empty() {
        shown.name = format!("{} ({why})", shown.name);
    }
    list.slice(track, *from, *until, &shown)
}

/// Writes the events of a thread.
fn write_thread(
    list: &mut List<'_>,
    track: usize,
    thread: &Traced,
    arrows: &HashSet<u64>,
) -> io::Result<()> {
    let title = match thread.lost {
        0 => thread.title.clone(),
        lost => format!("{}, {lost} events lost", thread.title),
    };
    list.name_track(track, &title)?;
    thread.before.iter().try_for_each(|before| write_before(list, track, before))?;
    for Event { from, until, what, is_inside } in &thread.events {
        let shown = Shown::of(what, *is_inside);
        match what {
            What::Stolen { .. }
            | What::Taken(_)
            | What::Timers(_)
            | What::Events(_)
            | What::Starts(_)
            | What::Ends => list.moment(track, *from, &shown)?,
            _ => list.slice(track, *from, *until, &shown)?,
        }
        match what {
            What::Wake { number, .. } if arrows.contains(number) => {
                list.arrow("s", track, *from, *number)?;
            }
            What::Search(Since::Woken(number)) if arrows.contains(number) => {
                list.arrow("f", track, *from, *number)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes a trace.
fn write(trace: &Trace, writer: &mut dyn Write) -> io::Result<()> {
    writer.write_all(b"{\"traceEvents\":[")?;
    let mut list = List { writer, is_empty: true };
    let pool = format!("pool {}", trace.pool);
    let pool = Text(&pool);
    list.event("M", 0, format_args!("\"name\":\"process_name\",\"args\":{{\"name\":{pool}}}"))?;
    let arrows = arrows(&trace.threads);
    for (place, thread) in trace.threads.iter().enumerate() {
        let track = thread.worker.map_or(OUTSIDE + place, |index| index + 1);
        write_thread(&mut list, track, thread, &arrows)?;
    }
    let (pool, lasted) = (Text(&trace.pool), trace.lasted);
    let (recorded, lost, version) = (trace.recorded(), trace.lost(), env!("CARGO_PKG_VERSION"));
    writeln!(
        writer,
        "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{{\"pool\":{pool},\"nanoseconds\":{lasted},\
         \"recorded\":{recorded},\"lost\":{lost},\"brigade\":\"{version}\"}}}}"
    )
}

impl Trace {
    /// Writes the trace as JSON in the Trace Event format, which [ui.perfetto.dev](https://ui.perfetto.dev) and `chrome://tracing` open.
    ///
    /// It makes many small writes, so `writer` should be buffered.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        write(self, &mut writer)
    }

    /// Writes the trace to a file, which is created or replaced; see [`write_to`](Self::write_to).
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        self.write_to(&mut file)?;
        file.flush()
    }
}
