#!/bin/sh
# Starts a Restate server, two workers behind haproxy, and a provider whose answers are scripted. All of it listens on loopback,
# lives in one temporary folder, and ends with this script.
#
# usage: engines/restate/dev.sh [1|3]     the number of the server's nodes
#
# `cargo xtask e2e restate` installs the server; RESTATE_SERVER names another one. haproxy comes with the system.
set -eu

nodes=${1:-1}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
case $nodes in 1 | 3) ;; *) echo "error: \`$nodes\` nodes; write 1 or 3" >&2; exit 2 ;; esac
server=${RESTATE_SERVER:-$(ls "$root"/target/xtask/restate/node_modules/@restatedev/restate-server-*/bin/restate-server 2>/dev/null || true)}
[ -x "$server" ] || { echo "error: no Restate server; run \`cargo xtask e2e restate\`, or set RESTATE_SERVER" >&2; exit 1; }
command -v openssl >/dev/null || { echo "error: no \`openssl\` on the path; install it" >&2; exit 1; }
command -v haproxy >/dev/null || { echo "error: no \`haproxy\` on the path; install it" >&2; exit 1; }

echo "building"
(cd "$root" && cargo build --quiet --bin rye)
(cd "$here" && CARGO_TARGET_DIR="$root/target" cargo build --quiet --locked --bin rye-worker --example provider)
bin=$root/target/debug
rye=$bin/rye

folder=$(mktemp -d)
started=
trap 'kill $started 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
start() { # NAME COMMAND...: starts the command with its output in a file
  name=$1
  shift
  "$@" >"$folder/$name.log" 2>&1 &
  started="$started $!"
}
wait_for() { # ADDRESS: waits until it answers
  tries=0
  until curl --noproxy '*' --silent --fail --output /dev/null "$1"; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { echo "error: \`$1\` does not answer; the output is below" >&2; tail -n 20 "$folder"/*.log >&2; exit 1; }
    sleep 0.1
  done
}

start provider "$bin/examples/provider"
until [ -s "$folder/provider.log" ]; do sleep 0.1; done

echo "making the operator's key and the project"
user=$folder/user
providers=$user/.ai/tools/rye/agent/providers
mkdir -p "$providers"
cat >"$providers/scripted.yaml" <<PROVIDER
protocol: openai_chat
base_url: http://127.0.0.1:$(cat "$folder/provider.log")
tiers: { general: scripted-1, fast: scripted-1 }
stream: false
models:
  scripted-1: { context_window: 1000000, max_output: 1000, prices: { input: "3", output: "15" } }
PROVIDER
cp -r "$here/tests/project" "$folder/project"
in_project() { "$rye" "$@" --project "$folder/project" --user-space "$user" >/dev/null; }
in_project keys generate --owner operator
in_project sign "$user/.ai/tools"
(cd "$folder/project" && in_project sign .ai)
for worker in one two; do cp -r "$folder/project" "$folder/$worker"; done

addresses='"http://127.0.0.1:5122"'
[ "$nodes" = 1 ] || addresses="$addresses, \"http://127.0.0.1:5123\", \"http://127.0.0.1:5124\""
# The server signs its requests with this key, and the workers answer no other server.
openssl genpkey -algorithm ed25519 -out "$folder/identity.pem"
for node in $(seq "$nodes"); do
  at=$((node - 1))
  cat >"$folder/node$node.toml" <<NODE
request-identity-private-key-pem-file = "$folder/identity.pem"
cluster-name = "rye"
node-name = "node$node"
auto-provision = $([ "$node" = 1 ] && echo true || echo false)
default-replication = $([ "$nodes" = 1 ] && echo 1 || echo 2)
default-num-partitions = 4
rocksdb-total-memory-size = "256 MiB"
disable-telemetry = true
listen-mode = "tcp"
bind-address = "127.0.0.1:$((5122 + at))"
advertised-address = "http://127.0.0.1:$((5122 + at))/"
[metadata-client]
addresses = [$addresses]
[ingress]
bind-address = "127.0.0.1:$((8080 + at))"
[admin]
bind-address = "127.0.0.1:$((9070 + at))"
NODE
  start "node$node" env DO_NOT_TRACK=1 "$server" --config-file "$folder/node$node.toml" --base-dir "$folder/data$node" --no-logo
done
for node in $(seq "$nodes"); do
  wait_for "http://127.0.0.1:$((8079 + node))/restate/health"
  wait_for "http://127.0.0.1:$((9069 + node))/health"
done

identity=$(sed -n 's/.*kid: "\(publickey[^"]*\)".*/\1/p' "$folder/node1.log" | head -n 1)
[ -n "$identity" ] || { echo "error: the server names no public key" >&2; exit 1; }

port=9081
for worker in one two; do
  start "worker-$worker" "$bin/rye-worker" --listen "127.0.0.1:$port" --project "$folder/$worker" --user-space "$user" --identity-key "$identity"
  until [ -s "$folder/worker-$worker.log" ]; do sleep 0.1; done
  port=$((port + 1))
done
start haproxy haproxy -f "$here/haproxy.cfg"
wait_for_deployment() {
  tries=0
  until curl --noproxy '*' --silent --fail --output /dev/null http://127.0.0.1:9070/deployments --json '{"uri": "http://127.0.0.1:9080/", "force": true}'; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "error: the server does not reach the workers" >&2; tail -n 20 "$folder"/*.log >&2; exit 1; }
    sleep 0.2
  done
}
wait_for_deployment

cat <<READY
$nodes server node(s), two workers. Start a thread, and approve the call that waits:

  $rye run work/count --provider scripted --input name=asks-1 --engine http://127.0.0.1:8080 --project $folder/project --user-space $user
  $rye approve --last --engine http://127.0.0.1:8080 --project $folder/project --user-space $user

Logs are in $folder. Ctrl-C ends everything.
READY
wait
