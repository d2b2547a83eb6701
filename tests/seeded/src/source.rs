//! The choices that make a program: of a random source, or of given bytes.

use std::ops::Range;
use std::vec;

use fastrand::Rng;

/// Operations of a program, at most.
const OPERATIONS: u8 = 30;
/// How many bodies may enclose an operation.
const DEPTH: u8 = 6;

/// Makes choices and records them: the record, as given bytes, makes the same program. A choice is a small number, of which 0 is the simplest.
#[derive(Clone)]
pub(crate) struct Source {
    given: Given,
    pub(crate) taken: Vec<u8>,
    /// The choices of each element of a list. Without them the list is one shorter, and all else is the same.
    pub(crate) elements: Vec<Range<usize>>,
    /// Operations that are left.
    fuel: u8,
    pub(crate) depth: u8,
    /// The names of the operations that it may choose at random. Empty: all.
    pub(crate) only: Vec<String>,
    /// The program has two pools.
    pub(crate) is_pair: bool,
}

#[derive(Clone)]
enum Given {
    Random(Rng),
    /// After the last byte, all are 0.
    Bytes(vec::IntoIter<u8>),
}

impl Source {
    pub(crate) fn random(seed: u64, only: Vec<String>) -> Self {
        Self { only, ..Self::new(Given::Random(Rng::with_seed(seed))) }
    }

    pub(crate) fn bytes(bytes: Vec<u8>) -> Self {
        Self::new(Given::Bytes(bytes.into_iter()))
    }

    fn new(given: Given) -> Self {
        Self {
            given,
            taken: Vec::new(),
            elements: Vec::new(),
            fuel: OPERATIONS,
            depth: 0,
            only: Vec::new(),
            is_pair: false,
        }
    }

    /// One of the numbers below this.
    pub(crate) fn below(&mut self, end: u8) -> u8 {
        let choice = match &mut self.given {
            Given::Random(random) => random.u8(0..end),
            Given::Bytes(bytes) => bytes.next().unwrap_or(0) % end,
        };
        self.taken.push(choice);
        choice
    }

    pub(crate) fn one_in(&mut self, of: u8) -> bool {
        self.below(of) == of - 1
    }

    pub(crate) fn pick<T: Copy, const N: usize>(&mut self, from: [T; N]) -> T {
        from[usize::from(self.below(N as u8))]
    }

    /// The number of a weight that is not 0, as often as that says. Given bytes have the number itself.
    pub(crate) fn weighed(&mut self, weights: &[u8]) -> usize {
        let Given::Random(random) = &mut self.given else {
            return self.below(weights.len() as u8).into();
        };
        let mut left = random.u8(0..weights.iter().sum());
        let is_over = |weight: &u8| left.checked_sub(*weight).map(|less| left = less).is_none();
        let number = weights.iter().position(is_over).expect("less than their sum");
        self.taken.push(number as u8);
        number
    }

    /// Some elements, each number of them as often.
    pub(crate) fn list<T>(&mut self, most: u8, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut list = Vec::new();
        while self.has_more(most - list.len() as u8, true) {
            let start = self.taken.len() - 1;
            list.push(make(self));
            self.elements.push(start..self.taken.len());
        }
        list
    }

    /// At least one element.
    pub(crate) fn some<T: Clone>(
        &mut self,
        most: u8,
        mut make: impl FnMut(&mut Self) -> T,
    ) -> Vec<T> {
        let first = make(self);
        [vec![first], self.list(most - 1, make)].concat()
    }

    /// Some operations, as far as the fuel lasts. An operation leaves a quarter of the fuel to those after it.
    pub(crate) fn operations<T>(
        &mut self,
        most: u8,
        mut make: impl FnMut(&mut Self) -> T,
    ) -> Vec<T> {
        let mut list = Vec::new();
        while self.has_more(most - list.len() as u8, self.fuel > 0 && self.depth <= DEPTH) {
            let start = self.taken.len() - 1;
            let reserve = self.fuel / 4;
            self.depth += 1;
            list.push(self.with_fuel(self.fuel - reserve, |source| {
                source.fuel -= 1;
                make(source)
            }));
            self.depth -= 1;
            self.elements.push(start..self.taken.len());
        }
        list
    }

    /// Whether a list that may have so many more elements has another one. The choice is recorded even where it is none, so that it stays the same one
    /// if others go.
    fn has_more(&mut self, most: u8, may: bool) -> bool {
        let more = self.below(most + 1) > 0 && may;
        if !more {
            *self.taken.last_mut().expect("the choice") = 0;
        }
        more
    }

    /// Whether no body encloses the operation that is made.
    pub(crate) fn is_outermost(&self) -> bool {
        self.depth <= 1
    }

    /// Has `make` use no more than a third of all fuel: up to two threads beside the owner do so.
    pub(crate) fn with_share<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        self.with_fuel(OPERATIONS / 3, make)
    }

    /// Has `make` use no more than a part of the fuel.
    pub(crate) fn with_fuel<T>(&mut self, part: u8, make: impl FnOnce(&mut Self) -> T) -> T {
        let reserve = self.fuel.saturating_sub(part);
        self.fuel -= reserve;
        let made = make(self);
        self.fuel += reserve;
        made
    }
}
