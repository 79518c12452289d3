#!/usr/bin/env bash
# Installs `rye` from its wheel, and puts it on the path of the following steps.
set -euo pipefail

requirement="rye-cli==${RYE_VERSION:-}"
if [[ -z "${RYE_VERSION:-}" ]]; then
    # The hooks of pre-commit install the same version.
    requirement="$(sed -n 's/^dependencies = \["\(rye-cli==[^"]*\)"\]$/\1/p' "${GITHUB_ACTION_PATH}/pyproject.toml")"
fi

folder="${RUNNER_TEMP}/rye-program"
python3 -m venv "${folder}"
programs="${folder}/bin"
if [[ "${RUNNER_OS:-}" == Windows ]]; then
    programs="${folder}/Scripts"
fi
"${programs}/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "${requirement}"
"${programs}/rye" --version
printf '%s\n' "${programs}" >>"${GITHUB_PATH}"
