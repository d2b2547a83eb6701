//! Any workload with its options: a subcommand, a table, and a row of the plans.

use serde_json::Value;

use crate::apart;
use crate::dispatch::Run;
use crate::failure::Failure;
use crate::machine;
use crate::needs::Needs;
use crate::report::results::Sheet;
use crate::stop::Stop;
use crate::target::{Accept, Entry, Family};
use crate::workload::{Bench, Outcome, Workload};

/// A workload with its options; [`Workload`] explains the fields.
pub(crate) struct Row {
    /// The sheet, without targets.
    pub(crate) sheet: Sheet,
    /// See [`Workload::FURTHER`].
    pub(crate) further: &'static [&'static str],
    /// See [`Workload::PINS`].
    pub(crate) pins: bool,
    /// The targets that take turns: the suitable targets of the family, in the order of the table, or some of these.
    pub(crate) targets: Vec<&'static Entry>,
    /// See [`Workload::APART`].
    pub(crate) apart: bool,
    /// See [`Workload::needs`].
    pub(crate) needs: Box<dyn Fn(&Entry) -> Needs>,
    /// Runs once on a fresh target, in this process.
    pub(crate) run_here: Box<dyn Fn(&'static Entry, Bench) -> Outcome>,
}

impl Row {
    /// Runs once on a fresh target. A user's command starts a process itself.
    pub(crate) fn run(&self, target: &'static Entry, bench: Bench) -> Outcome {
        let is_apart = self.apart || target.elsewhere.is_some();
        if !is_apart || self.sheet.is_yours {
            return (self.run_here)(target, bench);
        }
        let values = apart::run(&self.sheet.workload, &self.sheet.params, target, bench)?;
        let (there, needed) = (values.len(), self.sheet.metrics.len());
        let wrong = || Failure::Told(format!("its process said {there} numbers, not {needed}"));
        if there == needed { Ok(values) } else { Err(wrong()) }
    }
}

/// The type of a subcommand's options.
pub(crate) trait AsRow {
    /// The row they stand for, of the workload with this name, if they go together.
    fn row(&self, name: &str) -> Result<Row, Stop>;
}

impl<W: Workload> AsRow for W
where
    W::Family: Accept<Run<W>>,
{
    fn row(&self, name: &str) -> Result<Row, Stop> {
        self.check()?;
        if W::APART && cfg!(not(target_os = "linux")) {
            let reason = "resident memory can be read on Linux only";
            return Err(Stop::Refused(reason.to_owned()));
        }
        let targets = W::Family::TARGETS.iter().copied();
        let program = self.program().unwrap_or_else(|| name.to_owned());
        let targets = targets.filter(|target| (target.runs)(&program));
        let (workload, needy) = (self.clone(), self.clone());
        let (params, cpus) = (self.params(), machine::cpus() as u64);
        let threads = params.get("threads").and_then(Value::as_u64).filter(|all| *all > cpus);
        let crowd = |all| format!("more threads than CPUs: {all} take turns on {cpus}");
        let notes = self.note().into_iter().chain(threads.map(crowd));
        let notes = notes.collect::<Vec<_>>().join("; ");
        let [done, like] = self.meaning().map(str::to_owned);
        let sheet = Sheet {
            workload: name.to_owned(),
            done,
            like,
            own: "brigade".to_owned(),
            headline: W::HEADLINE,
            params,
            metrics: self.metrics().to_vec(),
            note: (!notes.is_empty()).then_some(notes),
            ..Sheet::default()
        };
        Ok(Row {
            sheet,
            further: W::FURTHER,
            pins: W::PINS,
            targets: targets.filter(|target| self.is_for(target)).collect(),
            apart: W::APART,
            needs: Box::new(move |target: &Entry| {
                let own = needy.needs();
                let threads = (target.threads)(needy.threads() as u64, needy.tasks());
                Needs { threads: own.threads + threads, ..own }
            }),
            run_here: Box::new(move |target, bench| {
                let instead = workload.instead(target, bench);
                let run = || Run { workload: workload.clone(), target, bench };
                instead.unwrap_or_else(|| W::Family::accept(target, run()))
            }),
        })
    }
}
