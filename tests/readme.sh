#!/bin/sh
# SPDX-License-Identifier: ISC
# The example in README.md compiles without a warning.
set -eu
src=${srcdir:-.}
example=readme.$$.c
trap 'rm -f "$example"' EXIT
sed -n '/^```c$/,/^```$/p' "$src/README.md" | grep -v '^```' >"$example"
test -s "$example"
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$src/include" -fsyntax-only \
    "$example"
