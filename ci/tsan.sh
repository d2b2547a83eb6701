#!/usr/bin/env bash
# After a change of an ordering or of `unsafe` code: runs tests under ThreadSanitizer: `ci/tsan.sh [GROUP…] [-- ARGUMENT…]`, where a GROUP is `core` (queue, task,
# sync and burst), `io` or `brigade`; all by default. Arguments are passed on to the tests. Any report fails.
#
# The compiler is that of `ci/targets.sh`, with a std that the sanitizer sees; the runtime is rustup's. It knows neither fences nor `membarrier`, so what these
# order is reported: `ci/tsan.supp` names the rule for each. First a program with a race must be reported, and the same with a lock must not.
#
# Tests that count system calls or the bytes of a stack do not run, as it adds to both, nor does one that reads the message of std when a stack is used up.
set -euo pipefail
cd "$(dirname "$0")/.."

export BRIGADE_TARGETS="${BRIGADE_TARGETS:-$HOME/.cache/brigade-targets}"
ci/targets.sh newest
target=x86_64-unknown-linux-gnu
runtimes=("${RUSTUP_HOME:-$HOME/.rustup}"/toolchains/*/lib/rustlib/$target/lib/librustc-*_rt.tsan.a)
if [[ ! -f ${runtimes[-1]} ]]; then
    echo "skipped: ThreadSanitizer's runtime comes with rustup's toolchains (rustup toolchain install stable)"
    exit 0
fi
for channel in '' -stable -nightly; do
    cp "${runtimes[-1]}" "$BRIGADE_TARGETS/rust-newest/usr/lib/rustlib/$target/lib/librustc${channel}_rt.tsan.a"
done

CARGO_TARGET_DIR="$(realpath -m "${CARGO_TARGET_DIR:-target}")/tsan"
export CARGO_TARGET_DIR CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only
export RUSTC="$BRIGADE_TARGETS/rust-newest/rustc" RUSTDOC="$BRIGADE_TARGETS/rust-newest/rustdoc" RUSTC_BOOTSTRAP=1 RUSTFLAGS='-Zsanitizer=thread'
unset RUSTC_WORKSPACE_WRAPPER
# Addresses that newer kernels choose at random have no place in its map of memory.
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='setarch -R timeout -k 5 900'
# A report does not end a test, but its program ends with this code.
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 history_size=4 suppressions=$PWD/ci/tsan.supp ${TSAN_OPTIONS:-}"
flags=(--target "$target" -Zbuild-std=std,panic_abort,test)
skip=(--skip a_hop_of_a_ --skip is_copied_once_by_each_function --skip needs_more_stack_than_there_is)

race="$CARGO_TARGET_DIR/race"
mkdir -p "$race/src"
printf '[package]\nname = "race"\nedition = "2024"\n[workspace]\n' > "$race/Cargo.toml"
cat > "$race/src/main.rs" <<'RUST'
use std::sync::{Barrier, Mutex};
use std::{cell::UnsafeCell, env, thread};

struct Shared(UnsafeCell<u64>);
unsafe impl Sync for Shared {}
impl Shared {
    fn count(&self) {
        unsafe { *self.0.get() += 1 }
    }
}

fn main() {
    let (shared, lock, is_racy) = (Shared(0.into()), Mutex::new(()), env::args().len() > 1);
    // A thread that starts after the other's end is not seen to race: 24 of 60 runs were reported.
    let both_run = Barrier::new(2);
    let count = || {
        both_run.wait();
        for _ in 0..1000 {
            let _held = (!is_racy).then(|| lock.lock());
            shared.count();
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(count))));
}
RUST
run() { cargo run --quiet "${flags[@]}" --manifest-path "$race/Cargo.toml" -- "$@" 2>"$race/report"; }
code=0
run || code=$?
((code == 0)) || { cat "$race/report"; echo "a program without a race ends with $code" >&2; exit 1; }
run racy || code=$?
((code == 66)) || { cat "$race/report"; echo "a race is not reported: $code" >&2; exit 1; }
echo 'a race is reported, and the same counts under a lock are not'

groups=()
while (($#)) && [[ $1 != -- ]]; do groups+=("$1") && shift; done
if (($#)); then shift; fi
((${#groups[@]})) || groups=(core io brigade)
for group in "${groups[@]}"; do
    case $group in
        core) packages=(-p brigade-queue -p brigade-task -p brigade-sync -p brigade-burst --lib --tests) ;;
        io) packages=(-p brigade-io --features brigade-io/hyper --lib --tests) ;;
        brigade) packages=(-p brigade --all-features --lib --test it) ;;
        *) echo "ci/tsan.sh: no group is named $group" >&2; exit 2 ;;
    esac
    cargo test --locked --no-fail-fast "${flags[@]}" "${packages[@]}" -- "${skip[@]}" "$@"
done
