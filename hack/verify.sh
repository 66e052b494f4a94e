#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the tree is what its generators make of it: generating again
# changes nothing and adds nothing, manifests build, scripts parse.
#
# Usage: hack/verify.sh KUSTOMIZE
set -euo pipefail

kustomize=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "verify: $*"; }

# snapshot prints the id of a git tree of all files that are not ignored, made
# through an index of its own: what the user has staged stays as it is.
snapshot() {
	local index
	index=$(mktemp)
	rm -f "${index}"
	GIT_INDEX_FILE=${index} git add --all .
	GIT_INDEX_FILE=${index} git write-tree
	rm -f "${index}"
}

generated_files_are_current() {
	local before after
	before=$(snapshot)
	make generate manifests docs
	after=$(snapshot)
	if ! git diff --exit-code --stat "${before}" "${after}"; then
		say "generated files were not current; they are now: commit them"
		return 1
	fi
}

manifests_build() {
	local dir
	while read -r dir; do
		say "kustomize build ${dir}"
		"${kustomize}" build "${dir}" >/dev/null
	done < <(find config -name kustomization.yaml -printf '%h\n' | sort)
}

scripts_parse() {
	local script
	while read -r script; do
		bash -n "${script}"
	done < <(find hack .ci -type f \( -name '*.sh' -o -path .ci/run \))
}

for check in scripts_parse generated_files_are_current manifests_build; do
	say "${check//_/ }"
	"${check}"
done
say "everything is current"
