#!/usr/bin/env bash
# Runs every test of the workspace, doc examples included, and then its example programs.
#
# The packages of the workspace enable all features of brigade and brigade-io among them, so this runs what features enable too; and those
# of the package executors but `ws-no-park`, which keeps threads busy.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --locked "$@"
ci/examples.sh
