#!/usr/bin/env bash
# After a change of a hot path, on a machine that does nothing else: builds the commit before it and what is here, lets whole processes of both run
# rows of the laboratory in turn, brigade's targets alone, and fails if one is worse: the 95 % interval of its speed-up lies below 1 / 1.03. A row is one
# of `brigade-lab all --dry-run`, named by its workload and as many of its options as are needed. Two builds of the laboratory, and a minute a row:
#   ci/perf.sh [OPTION...] ROW...      such as: ci/perf.sh wake 'fork-join --program fib'
#   ci/perf.sh [OPTION...] --all       some 35 minutes; with --part 2/5 the second fifth of the rows
#       --base COMMIT    the old version: HEAD if files differ from it, and else the commit before
#       --hogs N         beside N computing threads of another process
#       --pairs N        pairs of processes: 20
# What has been measured of two programs is kept in target/perf, so the same command again goes on after an interruption.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    [[ -z ${1-} ]] || printf '%s\n' "$1" >&2
    sed -n 's/^#   //p' "$0" >&2
    exit 2
}
number() { [[ $1 =~ ^[1-9][0-9]*$ ]] || usage "not a number above 0: $1"; }

base='' hogs=0 pairs=20 all='' part=1/1 wanted=()
while (($#)); do
    case $1 in
        --base | --hogs | --pairs | --part)
            (($# > 1)) || usage "$1 needs a value"
            declare "${1#--}=$2"
            shift
            ;;
        --all) all=1 ;;
        -*) usage "no option is named $1" ;;
        *) wanted+=("$1") ;;
    esac
    shift
done
number "$pairs"
[[ $hogs == 0 ]] || number "$hogs"
[[ $part =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] || usage "not a part: $part"
ours=${BASH_REMATCH[1]} parts=${BASH_REMATCH[2]}
((ours <= parts)) || usage "not a part: $part"
# Either all rows or some.
if [[ -n $all ]]; then ((${#wanted[@]} == 0)) || usage; else ((${#wanted[@]})) || usage; fi
if [[ -z $base ]]; then
    base=HEAD
    if git diff --quiet HEAD; then base=HEAD^; fi
fi
base=$(git rev-parse --verify "$base^{commit}")

target=$PWD/target/perf
said=$(mktemp)
trap 'git worktree remove --force "$target/tree" 2>/dev/null || true; rm -f "$said"' EXIT

# Both with the same target folder, so that the dependencies are built once. The programs lie where no later build replaces them.
build() { (cd "$1" && CARGO_TARGET_DIR=$target cargo build --release --locked --quiet -p brigade-lab --bin brigade-lab); }
mkdir -p "$target/programs"
build .
new=$(sha256sum "$target/release/brigade-lab")
new=${new:0:12}
cp "$target/release/brigade-lab" "$target/programs/$new"
rows=()
while IFS= read -r line; do
    targets=$(grep -oE 'brigade[a-z0-9-]*' <<<"${line#*: }" | paste -sd ,) || continue
    rows+=("${line%%: *} --target $targets")
done < <("$target/programs/$new" all --dry-run)

chosen=()
for row in "${wanted[@]}"; do
    before=${#chosen[@]}
    for line in "${rows[@]}"; do
        # Its options in their order, others in between.
        [[ ! "$line " =~ ^${row// --/ (.* )?--}\  ]] || chosen+=("$line")
    done
    ((${#chosen[@]} > before)) || { printf '%s\n' "${rows[@]%% --target *}" >&2 && usage "no row is named \`$row\`; these are all"; }
done
if [[ -n $all ]]; then
    for ((index = ours - 1; index < ${#rows[@]}; index += parts)); do chosen+=("${rows[index]}"); done
fi

old=${base:0:12}-$(rustc --version | cut -d ' ' -f 2)
if [[ ! -e $target/programs/$old ]]; then
    git worktree prune
    git worktree add --quiet --detach --force "$target/tree" "$base"
    build "$target/tree"
    cp "$target/release/brigade-lab" "$target/programs/$old"
fi
echo "old: $(git log -1 --format='%h %s' "$base"); new: what is here; $pairs pairs, $hogs hogs"

worse=()
for row in "${chosen[@]}"; do
    files=$target/results/$old-$new-$hogs/${row//[^a-z0-9-]/_}
    mkdir -p "$files"
    read -ra words <<<"$row"
    words+=(--hogs "$hogs" --quiet --force)
    # As many rounds as take some 1.5 s, the one that warms up besides.
    if [[ ! -e $files/rounds ]]; then
        begun=${EPOCHREALTIME/./}
        "$target/programs/$new" "${words[@]}" --rounds 1 --json "$files/running.json"
        rounds=$((3000000 / (${EPOCHREALTIME/./} - begun)))
        echo $((rounds < 3 ? 3 : rounds > 100 ? 100 : rounds)) >"$files/rounds"
    fi
    rounds=$(<"$files/rounds")
    compared=()
    for ((pair = 1; pair <= pairs; pair++)); do
        # The first of two has the colder machine: they change places.
        if ((pair % 2)); then sides=(old new); else sides=(new old); fi
        for side in "${sides[@]}"; do
            file=$files/$side-$pair.json
            if [[ ! -e $file ]]; then
                "$target/programs/${!side}" "${words[@]}" --rounds "$rounds" --json "$files/running.json"
                mv "$files/running.json" "$file"
            fi
        done
        compared+=("$files/old-$pair.json" "$files/new-$pair.json")
    done
    code=0
    "$target/programs/$new" compare --processes --fail-above 3% "${compared[@]}" 2>"$said" | sed '/^$/d' || code=$?
    case $code in
        0) ;;
        1) worse+=("$(<"$said")") ;;
        *) cat "$said" >&2 && exit "$code" ;;
    esac
done
if ((${#worse[@]})); then
    printf 'worse: %s\n' "${worse[@]}" >&2
    exit 1
fi
