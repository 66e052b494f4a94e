#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs property tests, fuzz targets, random sequences on a control plane, crashes,
# chaos among tenants, revocations under load and many models behind one gateway much
# longer than the quick suites do and writes the events of "go test -json" to standard
# output, for testreport. TEST_LONG_FRACTION=10 runs a tenth of the counts.
#
# Usage: hack/test-long.sh [property] [fuzz] [random] [crash] [chaos] [coherence] [scale]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

fraction=${TEST_LONG_FRACTION:-1}
checks=$((20000 / fraction))          # of every property
fuzz_ms=$((60 * 1000 / fraction))     # for every fuzz target
sequences=$((500 / fraction))         # of random changes
bursts=$(((9 + fraction) / fraction)) # in which the operator is killed
courses=$((200 / fraction))           # of changes to tenants, with kills
revocations=$((1000 / fraction))      # in each situation

say() { echo "test-long: $*" >&2; }

property() {
	# Only binaries that link rapid know its flags.
	local binaries packages
	binaries=$(go list -mod=readonly -test -f '{{.ImportPath}} {{join .Deps " "}}' ./...)
	mapfile -t packages < <(grep -E '^[^ ]+\.test .*pgregory\.net/rapid' <<<"${binaries}" |
		cut -d' ' -f1 | sed 's/\.test$//' | sort -u)
	if ((${#packages[@]} == 0)); then
		say "no property tests"
		return
	fi
	say "${checks} checks of every property in ${packages[*]}"
	go test -mod=readonly -json -count=1 -timeout 60m "${packages[@]}" -rapid.checks="${checks}"
}

# fuzz spends at most a second on making an input smaller: by default that takes
# up to a minute for each, which is all there is. A failure of one target does not
# keep the others from running.
fuzz() {
	local file target targets status=0
	targets=$(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort)
	while IFS=: read -r file _ target; do
		target=${target#func }
		say "${target} in $(dirname "${file}") for ${fuzz_ms} ms"
		go test -mod=readonly -json -timeout 60m -run '^$' -fuzz "^${target}\$" -fuzztime "${fuzz_ms}ms" -fuzzminimizetime 1s "$(dirname "${file}")" || status=$?
	done <<<"${targets}"
	return "${status}"
}

# The quick suites run the first seeds of these; here come those after them.
random() {
	say "${sequences} random sequences of changes"
	go test -mod=readonly -json -count=1 -timeout 120m ./test/random -random.first=11 -random.sequences="${sequences}"
}

crash() {
	local seed
	for ((seed = 2; seed < 2 + bursts; seed++)); do
		say "a burst with crashes, seed ${seed}"
		go test -mod=readonly -json -count=1 -timeout 20m ./test/crash -crash.seed="${seed}"
	done
}

chaos() {
	say "${courses} sequences of changes to tenants, with kills"
	go test -mod=readonly -json -count=1 -timeout 120m ./test/chaos -chaos.first=3 -chaos.sequences="${courses}"
}

coherence() {
	say "${revocations} revocations under load in each situation"
	go test -mod=readonly -json -count=1 -timeout 60m ./test/coherence -coherence.revocations="${revocations}"
}

# Authorino holds about 10 MiB for each path of a model: 5 GiB in the first run, 9 in
# the second.
scale() {
	local run runs=("1 10,50,200,500" "3 10,50,200,300")
	if ((fraction > 1)); then
		say "no scale: \"make test-engines\" runs it with 10 and 50 models"
		return
	fi
	for run in "${runs[@]}"; do
		say "${run#* } models of ${run% *} paths behind one gateway"
		go test -mod=readonly -json -count=1 -timeout 120m ./test/enforcement/scale -scale.paths="${run% *}" -scale.models="${run#* }"
	done
}

for part in "$@"; do
	case ${part} in
	property | fuzz | random | crash | chaos | coherence | scale) "${part}" ;;
	*)
		say "unknown part ${part}"
		exit 2
		;;
	esac
done
