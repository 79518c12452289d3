#!/usr/bin/env bash
# Checks the project, with findings as annotations of the lines.
set -euo pipefail

words=(check --format github --project "${RYE_PROJECT}")

# Nothing of the checkout decides whose signatures count: the user space is empty, and the document is the caller's.
home="${RUNNER_TEMP}/rye-home"
mkdir -p "${home}"
words+=(--user-space "${home}")
if [[ -n "${RYE_TRUST}" ]]; then
    # The document is signed, and the page for variables changes the ends of its lines.
    printf '%s\n' "$(tr -d '\r' <<<"${RYE_TRUST}")" >"${RUNNER_TEMP}/rye-trust.toml"
    words+=(--trust "${RUNNER_TEMP}/rye-trust.toml")
fi

case "${RYE_STRICT}" in
    true) words+=(--strict) ;;
    false) ;;
    *)
        echo "::error::the input \`strict\` is \`true\` or \`false\`, not \`${RYE_STRICT}\`"
        exit 2
        ;;
esac

case "${RYE_LOCKED}" in
    true) words+=(--locked) ;;
    false) ;;
    auto)
        if [[ -e "${RYE_PROJECT}/.ai/rye.lock" ]]; then
            words+=(--locked)
        else
            echo "::notice::the project has no \`.ai/rye.lock\`, so that changes since the review are not looked for; \`rye lock\` writes one"
        fi
        ;;
    *)
        echo "::error::the input \`locked\` is \`true\`, \`false\` or \`auto\`, not \`${RYE_LOCKED}\`"
        exit 2
        ;;
esac

rye "${words[@]}"
