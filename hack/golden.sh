#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Rewrites golden files: runs the tests of every package that knows the flag
# -update with that flag. Look at "git diff" before you commit the result.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# defining TEST... prints the packages that define the flag in a file for which
# the test of find(1) holds.
defining() {
	find . -name '*.go' "$@" -print0 |
		(xargs -0 grep -lE 'flag\.Bool(Var)?\(.*"update"' || true) |
		xargs -r -n1 dirname | sort -u | sed "s|^\.|$(go list -m)|"
}

# users PACKAGE... prints the packages whose tests link one of the packages.
users() {
	local binaries pattern
	(($# > 0)) || return 0
	pattern=$(printf '%s|' "$@")
	binaries=$(go list -mod=readonly -test -f '{{.ImportPath}} {{join .Deps " "}}' ./...)
	(grep -E "^[^ ]+\.test .* (${pattern%|})( |$)" <<<"${binaries}" || true) | cut -d' ' -f1 | sed 's/\.test$//'
}

# A flag in a test file is known to that package only, one in a helper to every
# test that imports the helper.
mapfile -t helpers < <(defining ! -name '*_test.go')
mapfile -t packages < <({
	defining -name '*_test.go'
	users "${helpers[@]}"
} | sort -u)
if ((${#packages[@]} == 0)); then
	echo "golden: no test knows the flag -update" >&2
	exit 1
fi
go test -mod=readonly -count=1 "${packages[@]}" -update
