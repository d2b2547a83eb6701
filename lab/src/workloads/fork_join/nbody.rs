//! Bodies that attract each other: many steps of a few microseconds each, and a barrier after each of them.

use super::{Program, each, fingerprint};
use crate::workloads::prelude::*;

/// Bodies.
const BODIES: usize = 64;
/// Bodies of a chunk.
const CHUNK: usize = 8;
/// Chunks of a step.
pub(super) const CHUNKS: usize = BODIES / CHUNK;
/// Time of a step.
const STEP: f64 = 0.001;

/// A vector.
type Vector = [f64; 3];

/// A body.
#[derive(Clone, Copy, Default)]
struct Body {
    /// Where it is.
    place: Vector,
    /// Where it goes.
    speed: Vector,
}

/// Some bodies.
pub(super) struct Nbody {
    /// Steps of a run.
    steps: usize,
    /// The bodies.
    bodies: [Body; BODIES],
}

/// The bodies of the beginning: on a spiral, at rest.
fn spiral() -> [Body; BODIES] {
    let mut bodies = [Body::default(); BODIES];
    for (index, body) in bodies.iter_mut().enumerate() {
        let (angle, way) = (0.7 * index as f64, 1.0 + 0.1 * index as f64);
        body.place = [way * angle.cos(), way * angle.sin(), 0.1 * way];
    }
    bodies
}

impl Program for Nbody {
    fn prepare(size: usize) -> io::Result<Self> {
        Ok(Nbody { steps: size, bodies: spiral() })
    }

    fn reset(&mut self) {
        self.bodies = spiral();
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let mut pulls = [Vector::default(); BODIES];
        for _ in 0..self.steps {
            let all = &self.bodies;
            each::<F, _>(outside, &mut pulls, CHUNK, |index, pulls| {
                pull(&all[index * CHUNK..], all, pulls);
            });
            for (body, pull) in self.bodies.iter_mut().zip(&pulls) {
                body.speed.iter_mut().zip(pull).for_each(|(speed, pull)| *speed += STEP * pull);
                let (place, speed) = (&mut body.place, body.speed);
                place.iter_mut().zip(speed).for_each(|(place, speed)| *place += STEP * speed);
            }
        }
    }

    fn answer(&self) -> u64 {
        fingerprint(self.bodies.iter().flat_map(|body| body.place).map(f64::to_bits))
    }
}

/// Computes how all bodies pull some of them. It has the same machine code for all pools.
#[inline(never)]
fn pull(some: &[Body], all: &[Body], pulls: &mut [Vector]) {
    pulls.iter_mut().zip(some).for_each(|(pull, body)| *pull = pulled(body, all));
}

/// How all of these pull this body.
fn pulled(body: &Body, all: &[Body]) -> Vector {
    let mut pull = Vector::default();
    for other in all {
        let way: Vector = std::array::from_fn(|axis| other.place[axis] - body.place[axis]);
        // A little more than the distance: it is never 0, not even between a body and itself.
        let square = way.iter().map(|part| part * part).sum::<f64>() + 0.01;
        let force = 1.0 / (square * square.sqrt());
        pull.iter_mut().zip(way).for_each(|(pull, part)| *pull += force * part);
    }
    pull
}
