#!/usr/bin/env bash
# Runs three processes of the service, at the ports 8081 to 8083, and a NATS server between them, with a store that goes with it. Ends with Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")"

cargo build --release --locked --bin thumbnails
store="$(mktemp -d)"
trap 'kill $(jobs -p) 2> /dev/null; wait; rm -rf "$store"' EXIT
# For images of `max_body`.
echo 'max_payload: 9MB' > "$store/nats.conf"
nats-server -c "$store/nats.conf" -a 127.0.0.1 -p 4222 -js -sd "$store/jetstream" &
until (echo > /dev/tcp/127.0.0.1/4222) 2> /dev/null; do
    kill -0 $!
    sleep 0.1
done
for port in 8081 8082 8083; do
    "${CARGO_TARGET_DIR:-target}/release/thumbnails" --listen "127.0.0.1:$port" --queue nats://127.0.0.1:4222 &
done
wait
