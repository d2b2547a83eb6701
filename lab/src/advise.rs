//! Five questions about a program: the workloads that look like it, and the configuration to begin with.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::{Args, Command, ValueEnum};

use crate::machine;
use crate::plan;
use crate::report::write_line;
use crate::stop::{Stop, printable};

use self::Blocks::{No, Yes};
use self::Length::{Long, Medium, Short};
use self::Matters::{Latency, Throughput};
use self::Source::{Jobs, Many, One};
use self::Work::{Closures, Futures, Io};

/// The questions. Those that no option answers are asked on the terminal.
#[derive(Args, Clone, Debug)]
pub(crate) struct Advise {
    /// How long does a job run?
    #[arg(long, value_enum)]
    job: Option<Length>,
    /// Do jobs block: in files, locks, or clients of a database?
    #[arg(long, value_enum)]
    blocks: Option<Blocks>,
    /// What matters more?
    #[arg(long, value_enum)]
    matters: Option<Matters>,
    /// What submits most of the jobs?
    #[arg(long, value_enum)]
    from: Option<Source>,
    /// What is a job?
    #[arg(long, value_enum)]
    work: Option<Work>,
}

/// How long a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Length {
    /// Less than ten microseconds.
    Short,
    /// Up to a millisecond.
    Medium,
    /// Longer.
    Long,
}

/// Whether jobs block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Blocks {
    /// They compute, or await.
    No,
    /// Some of them hold their thread while they wait.
    Yes,
}

/// What matters more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Matters {
    /// Jobs per second: there is always something to do.
    Throughput,
    /// The time until a job has run: the pool is idle now and then.
    Latency,
}

/// What submits most of the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Source {
    /// One thread outside of the pool.
    One,
    /// Several threads outside of the pool.
    Many,
    /// The jobs themselves.
    Jobs,
}

/// What a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Work {
    /// A closure.
    Closures,
    /// A future, which awaits channels, timers or other tasks.
    Futures,
    /// A future that serves connections.
    Io,
}

/// All answers.
#[derive(Clone, Copy, Debug)]
struct Answers {
    /// How long a job runs.
    job: Length,
    /// Whether jobs block.
    blocks: Blocks,
    /// What matters more.
    matters: Matters,
    /// What submits.
    from: Source,
    /// What a job is.
    work: Work,
}

/// What to say if the answers are such.
struct Rule {
    /// Whether they are.
    when: fn(Answers) -> bool,
    /// A command line of a workload, in which `CPUS` stands for their number, or a call of the builder.
    say: &'static str,
}

/// A rule for these values of the answers; an answer that is not named may be any.
macro_rules! rules {
    ($($($field:ident $($value:path)|+),+ => $say:literal;)+) => {
        &[$(Rule { when: |answers| $(matches!(answers.$field, $($value)|+))&&+, say: $say },)+]
    };
}

/// The workloads that look like such a program.
const WORKLOADS: &[Rule] = rules! {
    work Closures, from One, matters Throughput, job Short
        => "throughput --threads CPUS --producers 1 --amplification 0 --messages 200000";
    work Closures, from Many, matters Throughput, job Short
        => "throughput --threads CPUS --producers 4 --amplification 0 --messages 50000";
    work Closures, from One, matters Throughput, job Medium
        => "throughput --threads CPUS --producers 1 --amplification 0 --messages 5000 --pre 50000";
    work Closures, from Many, matters Throughput, job Medium
        => "throughput --threads CPUS --producers 4 --amplification 0 --messages 1000 --pre 50000";
    work Closures, from One | Many, matters Throughput, job Long
        => "fan-out --threads CPUS --children 16 --work-us 5000 --shots 10";
    work Closures, from One | Many, matters Throughput, job Short => "submit --pattern contended --threads CPUS";
    work Closures, from Jobs, blocks No => "fork-join --threads CPUS";
    work Closures, from Jobs, matters Throughput, job Short
        => "throughput --threads CPUS --producers 1 --messages 1 --amplification 500000";
    work Closures, from Jobs, job Short => "steal --threads CPUS --before-us 20 --sibling-us 20";
    work Closures, from Jobs, job Medium => "fan-out --threads CPUS --work-us 200";
    work Closures, from Jobs, job Long => "fan-out --threads CPUS --children 16 --work-us 5000 --shots 10";
    work Closures, from Jobs, matters Latency => "fairness --threads CPUS --chains 1000";
    work Closures, from One | Many, matters Latency => "wake --threads CPUS";
    work Closures, from One, matters Latency => "latency --threads CPUS --producers 1 --amplification 0";
    work Closures, from Many, matters Latency => "latency --threads CPUS --producers 4 --amplification 0";
    work Closures, from One | Many, matters Latency, job Medium | Long => "fairness --threads CPUS --work-us 1000";
    work Closures, blocks Yes => "elastic --core CPUS --max 32 --jobs 100";
    work Closures, blocks Yes, matters Latency => "ramp-up --threads 8";
    work Futures, job Short => "bucket-brigade --over channel --threads CPUS";
    work Futures, from Jobs => "creation --shape ping-pong --tasks 1000";
    work Futures, from One | Many => "creation --kind task --tasks 10000";
    work Futures, matters Throughput => "channels --kind tokio --capacity 100 --threads CPUS";
    work Futures, matters Latency => "timers --threads CPUS";
    work Futures | Io, job Medium | Long => "busy-io --threads CPUS --work-us 1000";
    work Futures | Io, blocks Yes => "busy-io --threads CPUS --chains 4 --work-us 5000";
    work Io, matters Throughput => "server --protocol resp --threads CPUS --connections 64 --pipeline 16";
    work Io, matters Latency => "server --protocol http --threads CPUS --connections 64";
    work Io => "echo --threads CPUS --connections 64";
    work Io, matters Throughput => "memory --tasks 8000";
};

/// The configuration that the guide names for such a program. The builder combines all that apply.
const CONFIGURATIONS: &[Rule] = rules! {
    blocks Yes => ".threads(2..=64)";
    work Closures, from Jobs => ".order(Order::Lifo)";
    matters Latency, job Short | Medium => ".idle(Idle::SpinThenPark(Duration::from_micros(10)))";
};

impl Advise {
    /// Asks what no option answers, and prints the advice.
    pub(crate) fn run(self) -> Result<(), Stop> {
        let (stdin, mut stdout) = (io::stdin(), io::stdout());
        let is_asked = stdin.is_terminal() && stdout.is_terminal();
        let answers = self.answers(is_asked.then(|| stdin.lock()), &mut stdout)?;
        write_line(&answers.advice())
    }

    /// All answers, those that are missing from `input` if there is one.
    fn answers(
        self,
        input: Option<impl BufRead>,
        output: &mut impl Write,
    ) -> Result<Answers, Stop> {
        let mut asker = Asker { input, output };
        Ok(Answers {
            job: asker.ask("job", self.job)?,
            blocks: asker.ask("blocks", self.blocks)?,
            matters: asker.ask("matters", self.matters)?,
            from: asker.ask("from", self.from)?,
            work: asker.ask("work", self.work)?,
        })
    }
}

/// Asks, if it may.
struct Asker<'a, R, W> {
    /// Where answers come from.
    input: Option<R>,
    /// Where questions go to.
    output: &'a mut W,
}

impl<R: BufRead, W: Write> Asker<'_, R, W> {
    /// The answer to the question of this option.
    fn ask<A: ValueEnum>(&mut self, name: &str, given: Option<A>) -> Result<A, Stop> {
        if let Some(answer) = given {
            return Ok(answer);
        }
        let Some(input) = &mut self.input else {
            let all = "--job, --blocks, --matters, --from and --work";
            return Err(Stop::Usage(format!(
                "no terminal to ask on: --{name} is missing of {all}"
            )));
        };
        let options = Advise::augment_args(Command::new("advise"));
        let option = options.get_arguments().find(|arg| arg.get_id() == name);
        let question = option.and_then(|arg| arg.get_help()).map(ToString::to_string);
        writeln!(self.output, "{}", question.unwrap_or_default())?;
        let values: Vec<_> =
            A::value_variants().iter().filter_map(|a| a.to_possible_value()).collect();
        for (number, value) in (1..).zip(&values) {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            writeln!(self.output, "  {number}  {:<12}{help}", value.get_name())?;
        }
        loop {
            write!(self.output, "1 to {}: ", values.len())?;
            self.output.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Err(Stop::Usage(format!("no answer to --{name}")));
            }
            let word = line.trim();
            let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let answer = number.and_then(|index| A::value_variants().get(index).cloned());
            match answer.or_else(|| A::from_str(word, true).ok()) {
                Some(answer) => return Ok(answer),
                None => writeln!(self.output, "`{}` is none of these", printable(word))?,
            }
        }
    }
}

impl Answers {
    /// What those of these rules say that apply.
    fn say(self, rules: &'static [Rule]) -> impl Iterator<Item = &'static str> {
        rules.iter().filter(move |rule| (rule.when)(self)).map(|rule| rule.say)
    }

    /// The command lines of the workloads.
    fn lines(self) -> impl Iterator<Item = String> {
        self.say(WORKLOADS).map(|line| line.replace("CPUS", &machine::cpus().to_string()))
    }

    /// The configuration.
    fn configuration(self) -> String {
        match self.say(CONFIGURATIONS).collect::<String>().as_str() {
            "" => "Pool::default()".to_owned(),
            calls => format!("Pool::builder(){calls}.build()?"),
        }
    }

    /// All of it in words.
    fn advice(self) -> String {
        let mut text = "\nWorkloads that look like it:\n".to_owned();
        for line in self.lines() {
            let rows = plan::rows(&line);
            let like = rows.first().map(|row| row.meaning().like).unwrap_or_default();
            text += &format!("  brigade-lab {line}\n    {like}\n");
        }
        text += "\nThe configuration to begin with, by `brigade::guide::choosing`:\n";
        text += &format!("  {}\n", self.configuration());
        text += "\nYour own program on several pools, by `docs/own-program.md`:\n";
        text + "  brigade-lab run --pools brigade,rayon,tokio -- ./program {pool}"
    }
}

#[cfg(test)]
mod tests {
    use super::{Advise, Answers, CONFIGURATIONS, Length, Source, WORKLOADS, Work};
    use super::{Blocks, Matters};
    use crate::plan;
    use clap::ValueEnum;
    use std::collections::HashSet;
    use std::fs;

    /// Every combination of answers.
    fn all() -> Vec<Answers> {
        let mut all = Vec::new();
        for &job in Length::value_variants() {
            for &blocks in Blocks::value_variants() {
                for &matters in Matters::value_variants() {
                    for &from in Source::value_variants() {
                        for &work in Work::value_variants() {
                            all.push(Answers { job, blocks, matters, from, work });
                        }
                    }
                }
            }
        }
        all
    }

    #[test]
    fn every_program_gets_a_few_commands_that_the_laboratory_accepts() {
        let mut lines = HashSet::new();
        for answers in all() {
            let count = answers.lines().inspect(|line| _ = lines.insert(line.clone())).count();
            assert!((1..=5).contains(&count), "{answers:?}: {count}");
        }
        for line in &lines {
            for row in plan::rows(line) {
                assert!(row.check().is_ok() && !row.targets().is_empty(), "{line}");
            }
        }
        // Two rules may have one line.
        let known: HashSet<_> = WORKLOADS.iter().map(|rule| rule.say).collect();
        assert_eq!(lines.len(), known.len(), "every rule applies to some program");
    }

    #[test]
    fn every_configuration_is_one_of_the_guides() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/brigade/src/guide/choosing.md");
        let guide = fs::read_to_string(guide).expect("the guide");
        for rule in CONFIGURATIONS {
            assert!(guide.contains(&format!("`{}`", rule.say)), "{}", rule.say);
        }
        assert!(guide.contains("`Pool::default()`"));
        assert!(all().into_iter().any(|answers| answers.configuration() == "Pool::default()"));
    }

    #[test]
    fn what_no_option_answers_is_asked_until_there_is_an_answer() {
        let none =
            Advise { job: Some(Length::Long), blocks: None, matters: None, from: None, work: None };
        let mut asked = Vec::new();
        let typed = "9\n0\n\x1b[31m\nyes\n2\nMANY\n 3 \n";
        let answers = none.clone().answers(Some(typed.as_bytes()), &mut asked).expect("all");
        assert_eq!((answers.blocks, answers.matters), (Blocks::Yes, Matters::Latency));
        assert_eq!((answers.from, answers.work), (Source::Many, Work::Io));
        let asked = String::from_utf8(asked).expect("text");
        assert_eq!(asked.matches("is none of these").count(), 3, "{asked}");
        assert!(
            asked.contains("What submits most of the jobs?\n  1  one         One thread outside"),
            "{asked}"
        );
        assert!(!asked.contains("How long") && !asked.contains('\x1b'), "{asked}");
        let stopped = none.answers(Some(&b"1\n"[..]), &mut Vec::new()).expect_err("the end");
        assert_eq!(stopped.reason(), "no answer to --matters");
    }
}
