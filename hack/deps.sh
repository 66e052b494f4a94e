#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Downloads the modules and programs that any target needs, so that later calls
# work without a network. Of Go only packages that are really built count:
# downloading whole module graphs would fetch many times as much.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

find . -name go.mod -not -path './bin/*' -printf '%h\n' | sort | while read -r dir; do
	echo "deps: modules of ${dir}" >&2
	cd "${dir}"
	if [[ -n $(find . -name '*.go' -print -quit) ]]; then
		go list -mod=readonly -deps -test ./... >/dev/null
	fi
	if grep -q '^tool ' go.mod; then
		go list -mod=readonly -deps tool >/dev/null
	fi
	cd - >/dev/null
done
hack/build.sh crds
hack/postgres.sh
hack/curl.sh
