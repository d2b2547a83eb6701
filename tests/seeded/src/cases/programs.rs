//! Programs of random choices that found a fault, as `ci/seeded.sh` prints them once they are cut down.

#![allow(unused_imports, reason = "a program uses some of the variants")]

use super::all;
use crate::program::{
    Call::*, Ending, Kernel::*, Kind::*, Level::*, Pair, Pause::*, Program, Round, Wait::*, Way::*,
};
use crate::verb::{
    Body, By::*, Drain::*, End::*, Full::*, Here::*, How::*, Lifetime, Panics::*, Periodic,
    Setting::*, Settings, Shares::*, Tasks, Terms, Then::*, Transfer, Verb::*, Wire::*, Work::*,
};

all! { PROGRAMS, fn() -> Program, }
