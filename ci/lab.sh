#!/usr/bin/env bash
# By hand, after a change that the project's figures show, on a machine that does nothing else:
#   ci/lab.sh full [OPTIONS]     all workloads in full, some 35 minutes; OPTIONS are the laboratory's
#   ci/lab.sh figures            docs/results/quick.json, and from it all figures of README.md and of the guide, and the chart; some three minutes
#   ci/lab.sh seeds [TABLE...]   the tables of the five crates on their columns, in docs/results/seeds.md; after `executors`, `st3` and a build with
#                                `--features full`. All take an hour and three quarters; each can be measured on its own
#   ci/lab.sh cores [FILE]       on a machine with more cores, ten minutes: how rows grow with the threads, into FILE, or cores-N.json; what the file says
#                                of the machine, the answer, and what the model predicts. A FILE that is there is shown, not measured
#   ci/lab.sh scale [ROUNDS]     what the model of `examples/simulate` predicts, and the model beside the pool on one core and two: fails if
#                                they differ by more than 20 per cent, as one row may (docs/scale.md)
#   ci/lab.sh fresh              a fresh clone: time and memory to compile the laboratory, and time to its answer
# These build programs beside `brigade-lab`, or in FOLDER, which are its targets of that name: the laboratory with one dependency patched, or other
# features of one, and programs in other languages:
#   ci/lab.sh executors          `executors-no-park`, `executors-counted`, and `brigade-executors-no-park`
#   ci/lab.sh rayon              rayon on brigade: the target `brigade-rayon` of `fork-join`
#   ci/lab.sh st3                tokio's queue behind the interface of st3, which st3's package has a copy of: `tokio-fifo` of `queue`
#   ci/lab.sh go [FOLDER]        goroutines: `go`
#   ci/lab.sh cpp [FOLDER]       oneTBB: `cpp`
set -euo pipefail
cd "$(dirname "$0")/.."

lab() { cargo run --release --locked --quiet -p brigade-lab "${features[@]}" -- "$@"; }
features=()

full() {
    features=(--features full)
    lab all --full "$@"
}

figures() {
    lab all --rounds 9 --json docs/results/quick.json --force
    # A repository keeps each of them: half as long.
    python3 -m json.tool --compact --no-ensure-ascii docs/results/quick.json docs/results/quick.tmp
    mv docs/results/quick.tmp docs/results/quick.json
    lab chart docs/results/quick.json --workload throughput --where messages=100000 --metric rate --title 'Tasks per second of a fully loaded pool' \
        --targets brigade,executors-stealing,rayon,tokio,rusty_pool,threadpool --svg docs/charts/throughput.svg --force
    ci/figures.py --write
    ci/guide.py --write
}

seeds() {
    python3 ci/seeds.py "$@"
}

cores() (
    cpus=$(nproc)
    file=${1:-cores-$cpus.json}
    features=(--features full)
    if [[ ! -e $file ]]; then
        parts=$(mktemp -d)
        trap 'rm -rf "$parts"' EXIT
        row() { lab "$@" --json "$parts/$((part += 1)).json" --quiet; }
        part=1000
        for ((threads = 1; ; threads = threads * 2 < cpus ? threads * 2 : cpus)); do
            echo "$threads of $cpus threads" >&2
            pools=brigade,rayon,tokio
            forks=brigade,rayon,chili
            half=$((threads / 2))
            ((half == 0)) || row throughput --threads "$half" --producers "$half" --messages 20000 --target $pools
            row throughput --threads "$threads" --producers 1 --messages $((64 * threads)) --amplification 1000 --target $pools
            row fan-out --threads "$threads" --children $((32 * threads)) --shots 50 --target $pools
            row wake --threads "$threads" --target $pools
            row ramp-up --threads "$threads" --jobs "$threads" --block-ms 5 --target $pools
            row fork-join --program fib --threads "$threads" --target $forks
            row fork-join --program short --threads "$threads" --target $forks,fork-union
            ((threads == 1)) || row steal --threads "$threads" --target $forks
            ((threads < cpus)) || break
        done
        python3 - "$file" "$parts"/*.json <<'PYTHON'
import json, sys

first, *others = [json.load(open(name)) for name in sys.argv[2:]]
first["sheets"] += [sheet for other in others for sheet in other["sheets"]]
json.dump(first, open(sys.argv[1], "w"))
PYTHON
    fi
    echo "What $file says of the machine:"
    python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["machine"], indent=1))' "$file"
    lab report "$file" --verbose
    # The model has even numbers of cores.
    cargo run --release --locked --quiet -p brigade-simulate -- --recorded --cores "2..$((cpus / 2 * 2 > 2 ? cpus / 2 * 2 : 4))"
)

scale() {
    simulate() { cargo run --release --locked --quiet -p brigade-simulate -- "$@"; }
    simulate --cores 2,16,64,256
    simulate --cores 16,64,256 --group 8
    simulate --check --rounds "${1-5}"
}

fresh() {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    git clone --quiet . "$folder/brigade"
    python3 - "$folder/brigade" <<'PYTHON'
import os, resource, subprocess, sys, time

os.chdir(sys.argv[1])
for name in ("CARGO_TARGET_DIR", "RUSTFLAGS"):
    os.environ.pop(name, None)
for what, command in (("compile", ["cargo", "build", "--release", "--quiet"]), ("run", ["cargo", "run", "--release"])):
    begun = time.time()
    subprocess.run(command, check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(f"{what}: {time.time() - begun:.0f} s; the largest process so far had {peak:.1f} GB", flush=True)
PYTHON
}

executors() (
    target="${CARGO_TARGET_DIR:-$PWD/target}"
    mkdir -p "$target/release"
    build() {
        local name="$target/release/brigade-lab-executors-$1"
        shift
        cargo build --release --locked -p brigade-lab --target-dir "$target/executors-lab" "$@"
        cp "$target/executors-lab/release/brigade-lab" "$name"
        echo "$name"
    }
    build no-park --features full,no-park
    build counted --no-default-features --features full
)

rayon() (
    target="${CARGO_TARGET_DIR:-$PWD/target}"
    copy="$target/rayon-on-brigade"
    mkdir -p "$copy/workspace" "$target/release"
    cp -r Cargo.toml Cargo.lock crates lab tests examples "$copy/workspace/"
    printf '\n[patch.crates-io]\nrayon-core = { path = "crates/rayon-core" }\n' >>"$copy/workspace/Cargo.toml"

    # Not --locked: the lock file of the copy loses rayon's own core.
    cargo build --release -p brigade-lab --manifest-path "$copy/workspace/Cargo.toml" --target-dir "$copy/target"
    if ! cargo tree --manifest-path "$copy/workspace/Cargo.toml" -p brigade-lab --invert rayon-core@1 2>&1 | grep -q 'workspace/crates/rayon-core'; then
        echo "rayon does not run on brigade: the patch is not used" >&2
        exit 1
    fi
    cp "$copy/target/release/brigade-lab" "$target/release/brigade-lab-rayon"
    echo "$target/release/brigade-lab-rayon"
)

st3() (
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
)

# Where the programs lie.
folder() { realpath "${1-${CARGO_TARGET_DIR:-$PWD/target}/release}"; }

# Nothing is downloaded: not another version of the compiler, and no module.
go() { GOTOOLCHAIN=local GOPROXY=off GOFLAGS='' command go build -C lab/peers/go -buildvcs=false -o "$(folder "$@")/brigade-lab-go" .; }

cpp() { "${CXX:-c++}" -std=c++17 -O2 -o "$(folder "$@")/brigade-lab-cpp" lab/peers/cpp/main.cpp -ltbb -pthread; }

case "${1-}" in
    full | figures | seeds | cores | scale | fresh | executors | rayon | st3 | go | cpp) "$@" ;;
    *) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
esac
