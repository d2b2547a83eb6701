#!/usr/bin/env bash
# Builds the laboratory with tokio's queue behind the interface of st3, as `brigade-lab-st3-tokio` beside `brigade-lab`: its target
# `tokio-fifo` of `queue` is this program. tokio's queue is private to tokio; st3's package has a copy of it among its benchmarks, which
# is taken from the registry. A patch holds for a whole workspace, so this builds a copy of it.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
copy="$target/tokio-queue"
mkdir -p "$copy/workspace" "$copy/st3/src" "$target/release"
cp -r Cargo.toml Cargo.lock crates lab tests examples "$copy/workspace/"
printf '\n[patch.crates-io]\nst3 = { path = "../st3" }\n' >>"$copy/workspace/Cargo.toml"

st3="$(cargo metadata --format-version 1 --locked | grep -oE '"manifest_path":"[^"]*/st3-0\.4\.1/Cargo.toml"' | sed 's/.*:"//; s/Cargo.toml"$//')"
cp "$st3/benches/tokio_queue.rs" "$copy/st3/src/"
# Another version than that of the package of crates/compat, from which a lock file must tell it.
printf '%s\n' '[package]' 'name = "st3"' 'version = "0.4.99"' 'edition = "2021"' '[workspace]' >"$copy/st3/Cargo.toml"
cat >"$copy/st3/src/lib.rs" <<'RUST'
//! What the laboratory uses of st3, on tokio's queue. A theft takes half, 32 at most, and returns one of these: nothing else can be
//! asked of that queue. It has one order; the laboratory needs the type of the other.

#[allow(dead_code)]
mod tokio_queue;

pub use tokio_queue::StealError;

macro_rules! order {
    ($($order:ident)*) => {$(
        pub mod $order {
            use crate::tokio_queue::{Local, Steal, StealError};

            pub struct Worker<T: 'static>(Local<T>);

            #[derive(Clone)]
            pub struct Stealer<T: 'static>(Steal<T>);

            impl<T> Worker<T> {
                pub fn new(capacity: usize) -> Self {
                    assert_eq!(capacity, 256, "tokio's queue has this capacity");
                    Self(Local::new())
                }

                #[inline]
                pub fn push(&self, item: T) -> Result<(), T> {
                    self.0.push_back(item)
                }

                #[inline]
                pub fn pop(&self) -> Option<T> {
                    self.0.pop()
                }

                pub fn stealer(&self) -> Stealer<T> {
                    Stealer(self.0.stealer())
                }
            }

            impl<T> Stealer<T> {
                pub fn steal(
                    &self,
                    _: &Worker<T>,
                    _: impl FnMut(usize) -> usize,
                ) -> Result<usize, StealError> {
                    unimplemented!("the workload does not measure it on this queue")
                }

                /// The number is not known, and not used.
                #[inline]
                pub fn steal_and_pop(
                    &self,
                    other: &Worker<T>,
                    _: impl FnMut(usize) -> usize,
                ) -> Result<(T, usize), StealError> {
                    self.0.steal_into(&other.0).map(|item| (item, 0))
                }
            }
        }
    )*};
}

order!(lifo fifo);
RUST

# The lock file of the copy loses st3's own queue, and nothing else changes.
cargo update --quiet --manifest-path "$copy/workspace/Cargo.toml" --package 'registry+https://github.com/rust-lang/crates.io-index#st3@0.4.1'
cargo build --release --locked -p brigade-lab --manifest-path "$copy/workspace/Cargo.toml" --target-dir "$copy/target"
tree="$(cargo tree --manifest-path "$copy/workspace/Cargo.toml" -p brigade-lab --depth 1 --prefix none)"
if ! grep -qF "($copy/st3)" <<<"$tree"; then
    echo "tokio's queue does not stand in for st3: the patch is not used" >&2
    exit 1
fi
cp "$copy/target/release/brigade-lab" "$target/release/brigade-lab-st3-tokio"
echo "$target/release/brigade-lab-st3-tokio"
