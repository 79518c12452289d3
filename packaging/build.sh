#!/usr/bin/env bash
# Builds what is published for one target into a folder: the wheel, an archive, and on Linux the Debian package.
# All of them hold the same program, of the profile `dist`.
#
# Usage: packaging/build.sh TARGET FOLDER
#
# It needs the programs of `packaging/requirements.txt`, and for Linux `cargo-deb`. A program for Linux needs no newer C library than
# that of `manylinux2014` (glibc 2.17), whatever the machine has that builds it, because zig links it.
set -euo pipefail

target="$1"
mkdir -p "$2"
out="$(cd "$2" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

built="${CARGO_TARGET_DIR:-${PWD}/target}"
version="$(sed -n 's/^version = "\(.*\)"$/\1/p' crates/rye-cli/Cargo.toml)"
name="rye-${version}-${target}"

words=(build --target "${target}" --out "${out}")
case "${target}" in
    *-linux-*) words+=(--zig --compatibility manylinux2014) ;;
esac
(cd packaging/pypi && maturin "${words[@]}")

program="${built}/${target}/dist/rye"
if [[ "${target}" == *-windows-* ]]; then
    program+=.exe
fi

# Manual pages and completions, written by the program.
staging="${built}/packaging"
rm -rf "${staging}"
folder="${staging}/${name}"
mkdir -p "${folder}/completions"
"${program}" man "${folder}/man" >/dev/null
for shell in bash elvish fish powershell zsh; do
    "${program}" completions "${shell}" >"${folder}/completions/rye.${shell}"
done
cp "${program}" "${folder}/"
cp README.md LICENSE-APACHE LICENSE-MIT crates/rye-cli/CHANGELOG.md "${folder}/"

format=gztar
if [[ "${target}" == *-windows-* ]]; then
    format=zip
fi
python3 -c 'import shutil, sys; shutil.make_archive(*sys.argv[1:])' "${out}/${name}" "${format}" "${staging}" "${name}"

if [[ "${target}" == *-linux-* ]]; then
    # `package.metadata.deb` names these folders.
    ln -sfn "${name}" "${staging}/rye"
    cargo deb --package rye-cli --profile dist --target "${target}" --no-build --no-strip --output "${out}/"
fi
ls -l "${out}"
