//! Classes of jobs: which runs first, how long the others wait, and what has which class.

mod at_once;
mod bounded;
mod inheritance;
mod mixed;
mod order;
mod waits;

use brigade::Priority;

const CLASSES: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];
