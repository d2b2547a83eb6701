//! The operations of a thief, and their effect on deques.

use std::collections::VecDeque;

use brigade_queue::StealError;

use super::{Machine, Model, Operation};

/// Which of the stolen items is returned instead of queued.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returned {
    Nothing,
    Oldest,
    Newest,
}

impl<O: Model> Machine<O> {
    /// Applies an operation of a thief.
    pub(super) fn steal(&mut self, operation: Operation) {
        match operation {
            Operation::Steal { from, to, want, meddles } => {
                let (from, to) = (self.index(from), self.index(to));
                let (source, target) = (&self.rings[from].worker, &self.rings[to].worker);
                let (mut told, mut popped) = (None, None);
                let result = source.stealer_ref().steal(target, |count| {
                    told = Some(count);
                    popped = meddles.then(|| source.pop()).flatten().map(|item| *item.number);
                    want.into()
                });
                let model = &mut self.rings[from].model;
                assert_eq!(told, Some(model.len()).filter(|&count| count > 0));
                if meddles && told.is_some() {
                    assert_eq!(popped, O::take_next(model));
                }
                let expected = self.transfer(from, to, want.into(), Returned::Nothing);
                assert_eq!(result, expected.map(|(_, moved)| moved));
            }
            Operation::StealAndPop { from, to, want } => {
                let (from, to) = (self.index(from), self.index(to));
                let stealer = self.rings[from].worker.stealer();
                let result = stealer.steal_and_pop(&self.rings[to].worker, |_| want.into());
                let expected = self.transfer(from, to, want.into(), Returned::Newest);
                assert_eq!(result.map(|(item, moved)| (Some(*item.number), moved)), expected);
            }
            Operation::StealHalfAndPop { from, to } => {
                let (from, to) = (self.index(from), self.index(to));
                let stealer = self.rings[from].worker.stealer();
                let result = stealer.steal_half_and_pop(&self.rings[to].worker);
                let half = self.rings[from].model.len().div_ceil(2);
                let expected = self.transfer(from, to, half, Returned::Oldest);
                assert_eq!(result.map(|(item, moved)| (Some(*item.number), moved)), expected);
            }
            Operation::StealOne { from } => {
                let from = self.index(from);
                let ring = &mut self.rings[from];
                let stolen = ring.worker.stealer().steal_one().map(|item| *item.number);
                assert_eq!(stolen, ring.model.pop_front().ok_or(StealError::Empty));
            }
            _ => unreachable!("not a thief's"),
        }
    }

    /// Applies a steal to the models; returns the returned item and the number of moved ones.
    fn transfer(
        &mut self,
        from: usize,
        to: usize,
        want: usize,
        returned: Returned,
    ) -> Result<(Option<u32>, usize), StealError> {
        let most = self.rings[to].room() + usize::from(returned != Returned::Nothing);
        let count = want.min(self.rings[from].model.len()).min(most);
        if count == 0 {
            return Err(StealError::Empty);
        }
        let mut moved: VecDeque<_> = self.rings[from].model.drain(..count).collect();
        let item = match returned {
            Returned::Nothing => None,
            Returned::Oldest => moved.pop_front(),
            Returned::Newest => moved.pop_back(),
        };
        let count = moved.len();
        self.rings[to].model.append(&mut moved);
        Ok((item, count))
    }
}
