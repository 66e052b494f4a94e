#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the quick suites of the main module, or of the packages named, and those
# of the modules below hack/ that have quick tests; or the suites that need the
# programs of others, see below; or those of usage logs, with what collects them.
# Writes the events of "go test -json" to standard output, for testreport.
#
# With RERUN=N, packages whose tests failed run once more, one at a time and with
# nothing beside them, when there are at most N in all; testreport names those that
# pass then as flaky. What does not compile is not run again.
#
# Usage: hack/test.sh [-race] PACKAGE... | hack/test.sh engines | hack/test.sh enforcement | hack/test.sh usage
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

status=0
rerun=${RERUN:-0}
events=$(mktemp)
trap 'rm -f "${events}"' EXIT

# failed prints the packages that failed, one to a line.
failed() { sed -nE '/"Test":/!s/^\{.*"Action":"fail","Package":"([^"]+)".*/\1/p' "${events}"; }

# packages N runs the tests of packages, N at a time: most of them start a control
# plane. Suites keep no state between runs, but their servers read files that go's
# test cache does not know of: -count=1.
packages() {
	local code=0 again flags=()
	for arg in "${@:2}"; do
		[[ ${arg} != -* ]] || flags+=("${arg}")
	done
	go test -mod=readonly -json -count=1 -p "$1" -timeout "${timeout}" "${@:2}" | tee "${events}" || code=$?
	mapfile -t again < <(failed)
	if ((code != 0 && ${#again[@]} > 0 && ${#again[@]} <= rerun)) && ! grep -q '"FailedBuild":' "${events}"; then
		rerun=$((rerun - ${#again[@]})) code=0
		go test -mod=readonly -json -count=1 -p 1 -timeout "${timeout}" "${flags[@]}" "${again[@]}" || code=$?
	fi
	((code == 0)) || status=${code}
}

# modules DIRECTORY... runs all tests of modules of their own, with the flags of
# hack/build.sh, so that what they have in common compiles only once; vet would look at
# all that they build.
modules() {
	local module
	for module in "$@"; do
		(cd "${module}" && CGO_ENABLED=0 go test -mod=readonly -json -trimpath -buildvcs=false -vet=off -count=1 -timeout "${timeout}" ./...) || status=$?
	done
}

# For a package. To miss each rule of the generated policies takes 20 minutes on two
# cores to themselves, and much longer on busy ones.
timeout=20m
if [[ $* == enforcement ]]; then
	timeout=90m
fi

# Suites with the real engines of the gateway, which carry out policies.
enforcement='/test/(engines|enforcement(/.+)?)$'

# What runs with "engines", and not with "./...": suites that need programs of others
# (those engines, the development stack with its model simulator, maas-api in several
# replicas with what befalls their database, tenants with everything that runs for
# them), and the longest of those that judge our programs from outside.
engines="${enforcement}"'|/test/(cmd/devstack/e2e|simulator|coherence|tenancy|workload|chaos|crash|random|e2e/life|acceptance(/service|/tenants|/optional)?)$'

# Not with "engines", because test-long.sh runs them with more counts; and what takes
# rules out of policies one by one, which "enforcement" does.
elsewhere='/test/(chaos|crash|random|enforcement/mutation)$'

if [[ $* == engines || $* == enforcement ]]; then
	mapfile -t chosen < <(go list -mod=readonly ./... | grep -E "${!1}" | if [[ $* == engines ]]; then grep -vE "${elsewhere}"; else cat; fi)
	packages 1 "${chosen[@]}" # They measure, and ask for free ports again and again.
	# The collector takes minutes to build the first time.
	[[ $* == enforcement ]] || modules hack/engines/otelcol
elif [[ $* == usage ]]; then
	packages 2 ./internal/maasapi/usageproxy/... ./internal/desired/usage/... ./test/golden/usage/...
	modules hack/envoy hack/engines/otelcol
elif [[ ${*: -1} == ./... ]]; then
	# The race detector makes a program many times slower. It has nothing to find
	# in the suites that run the operator as a process of its own, nor in the pure
	# packages, which start no goroutine.
	mapfile -t all < <(go list -mod=readonly ./... | grep -vE "${engines}")
	mapfile -t plain < <(printf '%s\n' "${all[@]}" | grep -E '/(test|internal/desired|internal/entitlement|internal/celtext)(/|$)')
	mapfile -t raced < <(printf '%s\n' "${all[@]}" | grep -vE '/(test|internal/desired|internal/entitlement|internal/celtext)(/|$)')
	packages 3 "${@:1:$#-1}" "${raced[@]}" # They wait for much of their time.
	packages 3 "${plain[@]}"
else
	packages 2 "$@"
fi

[[ ${*: -1} != ./... ]] || modules hack hack/crds hack/envoy
exit "${status}"
