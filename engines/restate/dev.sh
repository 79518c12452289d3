#!/bin/sh
# Starts a Restate server, two workers behind haproxy, and a provider whose answers are scripted. All of it listens on loopback,
# lives in one temporary folder, and ends with this script.
#
# usage: engines/restate/dev.sh [1|3]     the number of the server's nodes; three of them have haproxy before their ingresses
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
start() { # NAME COMMAND...: starts the command, with its standard output in NAME.out and its errors in NAME.log
  name=$1
  shift
  "$@" >"$folder/$name.out" 2>"$folder/$name.log" &
  echo $! >"$folder/$name.pid"
  started="$started $!"
}
fail() { # MESSAGE: ends the script, with the last lines of all programs
  echo "error: $1; the last lines of all programs are below" >&2
  tail -n 20 "$folder"/*.out "$folder"/*.log >&2
  exit 1
}
wait_until() { # MESSAGE COMMAND...: waits until the command succeeds, for 30 seconds at most
  message=$1
  shift
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || fail "$message"
    sleep 0.1
  done
}
answers() { curl --noproxy '*' --silent --fail --output /dev/null "$@"; }
wait_for() { wait_until "\`$1\` does not answer" answers "$1"; }

start provider "$bin/examples/provider"
wait_until "the provider names no port" [ -s "$folder/provider.out" ]

echo "making the operator's key and the project"
user=$folder/user
providers=$user/.ai/tools/rye/agent/providers
mkdir -p "$providers"
cat >"$providers/scripted.yaml" <<PROVIDER
protocol: openai_chat
base_url: http://127.0.0.1:$(cat "$folder/provider.out")
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
[worker.invoker]
request-identity-private-key-pem-file = "$folder/identity.pem"
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

identity=$(sed -n 's/.*kid: "\(publickey[^"]*\)".*/\1/p' "$folder/node1.out" "$folder/node1.log" | head -n 1)
[ -n "$identity" ] || fail "the server names no public key"

# Workers and commands use this address, which also names the engine in signed requests.
ingress=http://127.0.0.1:8080
if [ "$nodes" = 3 ]; then
  ingress=http://127.0.0.1:8090
  start haproxy-ingress haproxy -f "$here/haproxy-ingress.cfg"
  wait_for "$ingress/restate/health"
fi

port=9081
for worker in one two; do
  start "worker-$worker" "$bin/rye-worker" --listen "127.0.0.1:$port" --project "$folder/$worker" --user-space "$user" --identity-key "$identity" --ingress "$ingress"
  wait_until "worker $worker names no address" [ -s "$folder/worker-$worker.out" ]
  port=$((port + 1))
done
start haproxy haproxy -f "$here/haproxy.cfg"
wait_until "the server does not reach the workers" \
  answers http://127.0.0.1:9070/deployments --json '{"uri": "http://127.0.0.1:9080/", "force": true}'

cat <<READY
$nodes server node(s), two workers. Start a thread, and approve the call that waits:

  $rye run work/count --provider scripted --input name=asks-1 --engine $ingress --project $folder/project --user-space $user
  $rye approve --last --engine $ingress --project $folder/project --user-space $user

Logs are in $folder. Ctrl-C ends everything.
READY
[ "$nodes" = 1 ] || echo "Any one of the nodes may be killed, such as the first: kill -9 $(cat "$folder/node1.pid")"
wait
