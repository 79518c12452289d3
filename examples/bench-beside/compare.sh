#!/usr/bin/env bash
# Runs Rye's harness and the engines beside it in turns against the same server, and prints the medians as a table.
#
#   compare.sh [ROUNDS]      rounds of each program in each row (5)
#
#   RYE=DIR     the folder of the built `rye-bench-harness` and `rye-bench-server`; without it they are built from the workspace
#   RECORDS=DIR the folder for Rye's transcripts and ledger (/dev/shm if it exists: memory instead of a disk)
#
# Placement: `split` has the server on processor 1 and the program on processor 0, `one` has both on processor 0, and `free`
# leaves them to the system. Without `taskset` there is only the last.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

rounds="${1:-5}"
records="${RECORDS:-$([[ -d /dev/shm ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}")}"
# The numbers of tool calls that each run measures and makes before, for every length of conversations.
measured=1000 before=200

if [[ -z "${RYE:-}" ]]; then
    cargo build --quiet --profile dist --locked --manifest-path ../../Cargo.toml --package rye-bench-harness
    RYE="${CARGO_TARGET_DIR:-../../target}/dist"
fi
cargo build --quiet --release --locked
beside="${CARGO_TARGET_DIR:-target}/release"

# Prints the row of a run, followed by its line of JSON. A failed conversation ends the script.
run() {
    local placement="$1" turns="$2" program="$3" line
    shift 3
    line="$("$@" --url "${url}" --turns "${turns}" --reps "$((measured / turns))" --warmup "$((before / turns))")"
    printf '%s %s %s %s\n' "${turns}" "${placement}" "${program}" "${line}"
}

# Runs every program once in each round, so that other load on the machine affects all of them.
compare() {
    local placement="$1" turns="$2" server="$3" client="$4" url
    # Not quoted, because the pinning command is several words or none.
    coproc SERVER { exec ${server} "${RYE}/rye-bench-server" "${turns}"; }
    local pid="${SERVER_PID}"
    read -r url <&"${SERVER[0]}"
    for ((round = 0; round < rounds; round++)); do
        run "${placement}" "${turns}" rye ${client} "${RYE}/rye-bench-harness" --api openai --dir "${records}"
        run "${placement}" "${turns}" rig ${client} "${beside}/beside-rig"
        run "${placement}" "${turns}" loop ${client} "${beside}/beside-loop"
    done
    # The server ends with its input.
    exec {SERVER[1]}>&-
    wait "${pid}"
}

all() {
    for turns in 10 50; do
        if command -v taskset >/dev/null; then
            compare split "${turns}" 'taskset -c 1' 'taskset -c 0'
            compare one "${turns}" 'taskset -c 0' 'taskset -c 0'
        fi
        compare free "${turns}" '' ''
    done
}

all | python3 -c '
import json, statistics, sys
rows = {}
for line in sys.stdin:
    *row, figures = line.split(" ", 3)
    rows.setdefault(tuple(row), []).append(json.loads(figures))
print("turns  placed  program    wall/call     cpu/call  peak memory   first")
for (turns, placement, program), runs in rows.items():
    wall, cpu, peak, first = (
        statistics.median(run[name] or 0 for run in runs)
        for name in ("per_call_wall_us", "per_call_cpu_us", "rss_peak_kb", "first_s")
    )
    print(f"{turns:>5}  {placement:<6}  {program:<7} {wall:>9.1f} µs {cpu:>9.1f} µs {peak / 1024:>9.1f} MB {first * 1e3:>4.0f} ms")
'
