#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Rewrites golden files: runs the tests of every package that knows the flag
# -update with that flag. Look at "git diff" before you commit the result.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

module=$(go list -m)
# The packages that define the flag, in a test file or in a helper of tests.
mapfile -t defining < <(grep -rlE --include='*.go' 'flag\.Bool(Var)?\(.*"update"' . | xargs -r -n1 dirname | sort -u |
	sed "s|^\.|${module}|")
if ((${#defining[@]} == 0)); then
	echo "golden: no test defines the flag -update" >&2
	exit 1
fi
pattern=$(printf '%s|' "${defining[@]}")
mapfile -t packages < <(go list -mod=readonly -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... |
	grep -E "^[^ ]+\.test .*(^| )(${pattern%|})([ []|$)" | cut -d' ' -f1 | sed 's/\.test$//' | sort -u)
go test -mod=readonly -count=1 "${packages[@]}" -update
