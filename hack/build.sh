#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds what the tests and the development stack run, from Go modules pinned by
# hack/go.sum, hack/crds/go.sum and hack/engines/*/go.sum:
#
#   bin/controlplane        etcd, kube-apiserver, kube-controller-manager,
#                           kube-scheduler and kubectl in one program, with a
#                           link of each name beside it
#   bin/kwok                simulated nodes; bin/kwok-stages.yaml is its behaviour
#   bin/crds/<set>/*.yaml   CRDs of the products the operator works with
#   bin/gateway-standin     a stand-in for the gateway in front of maas-api and models
#   bin/llm-d-inference-sim a model server that answers the OpenAI API without a model
#   bin/kuadrant-operator   the operator that carries out AuthPolicies and limits
#   bin/kuadrant-telemetry  its extension that carries out TelemetryPolicies, with a
#                           link below bin/kuadrant-extensions where it looks for one
#   bin/authorino           the service that gateways ask whether a request may pass
#   bin/oidc-provider       a provider of OIDC tokens
#   bin/nsrun               runs a program in a network namespace of its own
#
# A second call with unchanged inputs does nothing. Two calls at once are safe:
# the second waits for the first and then finds the work done.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${root}/bin
work=${bin}/.build
heartbeat=15 # seconds between two signs of life

usage() {
	cat <<-'TEXT'
		Usage: hack/build.sh [all|controlplane|crds|gateway|sim|engines|kuadrant|telemetry|authorino|oidc|nsrun]

		  controlplane   Kubernetes, etcd, kubectl and KWOK into bin/
		                 (the first time about 10 minutes on 2 idle cores)
		  crds           third-party CRDs into bin/crds/ (the first time about a minute)
		  gateway        the stand-in for a gateway into bin/ (seconds after controlplane)
		  sim            the model simulator into bin/
		                 (the first time about 3 minutes on 2 idle cores)
		  kuadrant       the operator of Kuadrant into bin/
		                 (the first time about 4 minutes on 2 idle cores)
		  telemetry      its extension for TelemetryPolicies into bin/ (a minute after kuadrant)
		  authorino      the authorization service of Kuadrant into bin/
		                 (the first time about 3 minutes on 2 idle cores)
		  oidc           the provider of OIDC tokens into bin/
		  nsrun          runs a program in a network namespace of its own, into bin/
		  engines        kuadrant, telemetry, authorino, oidc and nsrun
		  all            controlplane and crds (default)
	TEXT
}

say() { echo "build: $*" >&2; }

elapsed() { printf '%dm%02ds' $((($1) / 60)) $((($1) % 60)); }

# digest_of PATH... prints one digest of the named files below hack/, of this
# script and of the compiler.
digest_of() {
	(
		cd "${root}/hack"
		{
			go version
			go env GOOS GOARCH
			find build.sh "$@" -type f ! -name '*_test.go' -print0 | sort -z | xargs -0 sha256sum
		} | sha256sum | cut -d' ' -f1
	)
}

# current STAMP DIGEST FILE... succeeds if STAMP holds DIGEST and all files exist.
current() {
	local stamp=$1 digest=$2 file
	shift 2
	[[ -f ${stamp} && $(<"${stamp}") == "${digest}" ]] || return 1
	for file in "$@"; do
		[[ -e ${file} ]] || return 1
	done
}

# lock NAME takes the lock of that name for the rest of this shell.
lock() {
	local start=${SECONDS}
	mkdir -p "${work}"
	exec 9>"${work}/$1.lock"
	if flock -n 9; then
		return
	fi
	say "another process builds this already; waiting for it"
	until flock -w "${heartbeat}" 9; do
		say "still waiting after $(elapsed $((SECONDS - start)))"
	done
}

# fresh_dir NAME prints a new empty directory in which to prepare the output of
# NAME; what an interrupted call left there goes.
fresh_dir() {
	rm -rf "${work}/new.$1"
	mkdir -p "${work}/new.$1"
	echo "${work}/new.$1"
}

# with_heartbeat LABEL LOG COMMAND... runs the command with its output in LOG,
# tells every few seconds how far it is, and shows the end of LOG on failure.
with_heartbeat() {
	local label=$1 log=$2 start=${SECONDS} next=${heartbeat} pid status=0
	shift 2
	"$@" >"${log}" 2>&1 9>&- &
	pid=$!
	trap 'kill "${pid}" 2>/dev/null || true; wait "${pid}" 2>/dev/null || true; exit 130' INT TERM
	while kill -0 "${pid}" 2>/dev/null; do
		sleep 0.5
		if ((SECONDS - start >= next)); then
			next=$((next + heartbeat))
			say "${label}: $(elapsed $((SECONDS - start))), $(progress "${log}")"
		fi
	done
	wait "${pid}" || status=$?
	trap - INT TERM
	if ((status != 0)); then
		grep -v '^go: downloading ' "${log}" | tail -n 30 >&2 || true
		say "${label} FAILED after $(elapsed $((SECONDS - start))); the whole log is ${log}"
		return "${status}"
	fi
	say "${label}: done in $(elapsed $((SECONDS - start)))"
}

# progress LOG says in a few words what "go build -v" has done so far.
progress() {
	local modules packages
	modules=$(grep -c '^go: downloading ' "$1" || true)
	packages=$(grep -vc '^go: ' "$1" || true)
	if ((packages > 0)); then
		echo "${packages} packages compiled, now after $(grep -v '^go: ' "$1" | tail -n 1)"
	elif ((modules > 0)); then
		echo "${modules} modules downloaded"
	else
		echo "working"
	fi
}

# version_of MODULE prints the version hack/go.mod requires.
version_of() { awk -v m="$1" '$1 == m { print $2; exit }' "${root}/hack/go.mod"; }

# kubernetes_ldflags prints the linker flags that make the servers and clients
# report their true version instead of v0.0.0.
kubernetes_ldflags() {
	local version=$1 major minor package
	major=${version#v} major=${major%%.*}
	minor=${version#v*.} minor=${minor%%.*}
	printf -- '-s -w'
	for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		printf -- ' -X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s' \
			"${package}" "${version}" "${package}" "${major}" "${package}" "${minor}"
		printf -- ' -X %s.gitTreeState=clean -X %s.gitCommit=module -X %s.buildDate=1970-01-01T00:00:00Z' \
			"${package}" "${package}" "${package}"
	done
}

# go_build OUTPUT PACKAGE LDFLAGS builds one program of the module hack.
go_build() {
	cd "${root}/hack"
	CGO_ENABLED=0 go build -v -mod=readonly -buildvcs=false -trimpath -ldflags "$3" -o "$1" "$2"
}

# kwok_stages prints the behaviour of simulated nodes and pods: nodes become
# and stay ready, pods start at once, those of Jobs complete, deleted ones go.
kwok_stages() {
	local dir stage
	dir=$(cd "${root}/hack" && go list -mod=readonly -m -f '{{.Dir}}' sigs.k8s.io/kwok)
	for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease \
		pod/fast/pod-ready pod/fast/pod-complete pod/fast/pod-delete; do
		echo '---'
		cat "${dir}/kustomize/stage/${stage}.yaml"
		echo
	done
}

build_controlplane() {
	local stamp=${work}/controlplane.stamp digest tmp version personality
	local outputs=("${bin}/controlplane" "${bin}/kwok" "${bin}/kwok-stages.yaml" "${bin}/kubectl")
	digest=$(digest_of go.mod go.sum controlplane)
	if current "${stamp}" "${digest}" "${outputs[@]}"; then
		return
	fi
	lock controlplane
	if current "${stamp}" "${digest}" "${outputs[@]}"; then
		return
	fi
	rm -f "${stamp}"
	tmp=$(fresh_dir controlplane)
	version=$(version_of k8s.io/kubernetes)
	say "building the control plane: Kubernetes ${version}, etcd $(version_of go.etcd.io/etcd/server/v3), KWOK $(version_of sigs.k8s.io/kwok)"
	say "this takes about 10 minutes the first time on 2 idle cores, seconds once the Go build cache has it"
	with_heartbeat "Kubernetes and etcd" "${work}/controlplane.log" \
		go_build "${tmp}/controlplane" ./controlplane "$(kubernetes_ldflags "${version}")"
	with_heartbeat "KWOK" "${work}/kwok.log" \
		go_build "${tmp}/kwok" sigs.k8s.io/kwok/cmd/kwok '-s -w'
	kwok_stages >"${tmp}/kwok-stages.yaml"
	mv -f "${tmp}/controlplane" "${tmp}/kwok" "${tmp}/kwok-stages.yaml" "${bin}/"
	rmdir "${tmp}"
	for personality in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl; do
		ln -sfn controlplane "${bin}/${personality}"
	done
	echo "${digest}" >"${stamp}"
}

fetch_crds() {
	cd "${root}/hack/crds"
	go run -mod=readonly -buildvcs=false . "$1"
}

build_crds() {
	local stamp=${work}/crds.stamp digest tmp
	digest=$(digest_of crds)
	if current "${stamp}" "${digest}" "${bin}/crds"; then
		return
	fi
	lock crds
	if current "${stamp}" "${digest}" "${bin}/crds"; then
		return
	fi
	rm -f "${stamp}"
	tmp=$(fresh_dir crds)
	say "fetching third-party CRDs (about a minute the first time)"
	with_heartbeat "CRDs" "${work}/crds.log" fetch_crds "${tmp}"
	rm -rf "${bin}/crds"
	mv "${tmp}" "${bin}/crds"
	echo "${digest}" >"${stamp}"
}

# hack_build PACKAGE OUTPUT builds a program of the module hack.
hack_build() { go_build "$2" "$1" '-s -w'; }

# engine_build NAME PACKAGE OUTPUT builds a program of the module hack/engines/NAME,
# with no more than the processor time that others leave over.
engine_build() {
	cd "${root}/hack/engines/$1"
	CGO_ENABLED=0 nice -n 10 go build -v -mod=readonly -buildvcs=false -trimpath -ldflags '-s -w' -o "$3" "$2"
}

# build_program TARGET PROGRAM LABEL INPUTS COMMAND... builds bin/PROGRAM by COMMAND,
# which gets the path to write to as its last argument, unless the program is current
# for INPUTS, the files and directories below hack/ that it is built from. LABEL is
# what a reader is told, with the time it takes in brackets where it takes any.
build_program() {
	local target=$1 name=$2 label=$3 stamp=${work}/$1.stamp digest tmp
	local -a inputs
	read -ra inputs <<<"$4"
	shift 4
	digest=$(digest_of "${inputs[@]}")
	if current "${stamp}" "${digest}" "${bin}/${name}"; then
		return
	fi
	lock "${target}"
	if current "${stamp}" "${digest}" "${bin}/${name}"; then
		return
	fi
	rm -f "${stamp}"
	tmp=$(fresh_dir "${target}")
	say "building the ${label}"
	with_heartbeat "${label%% (*}" "${work}/${target}.log" "$@" "${tmp}/${name}"
	mv -f "${tmp}/${name}" "${bin}/"
	rmdir "${tmp}"
	echo "${digest}" >"${stamp}"
}

build_gateway() {
	build_program gateway gateway-standin "stand-in for a gateway" \
		"go.mod go.sum gateway loopback" hack_build ./gateway
}

build_nsrun() {
	build_program nsrun nsrun "program that runs others in a network namespace" \
		"go.mod go.sum nsrun loopback" hack_build ./nsrun
}

build_sim() {
	build_program sim llm-d-inference-sim \
		"model simulator (about 3 minutes the first time on 2 idle cores)" \
		engines/sim engine_build sim .
}

build_kuadrant() {
	build_program kuadrant kuadrant-operator \
		"operator of Kuadrant (about 4 minutes the first time on 2 idle cores)" \
		engines/kuadrant engine_build kuadrant github.com/kuadrant/kuadrant-operator/cmd
}

# Kuadrant's operator runs <extensions>/<name>/<name>.
build_telemetry() {
	build_program telemetry kuadrant-telemetry \
		"extension of Kuadrant for telemetry (about a minute after kuadrant)" \
		engines/kuadrant engine_build kuadrant github.com/kuadrant/kuadrant-operator/cmd/extensions/telemetry-policy
	mkdir -p "${bin}/kuadrant-extensions/telemetry-policy"
	ln -sfn ../../kuadrant-telemetry "${bin}/kuadrant-extensions/telemetry-policy/telemetry-policy"
}

build_authorino() {
	build_program authorino authorino \
		"authorization service Authorino (about 3 minutes the first time on 2 idle cores)" \
		engines/authorino engine_build authorino github.com/kuadrant/authorino
}

build_oidc() {
	build_program oidc oidc-provider "provider of OIDC tokens" \
		engines/oidc engine_build oidc .
}

case ${1:-all} in
controlplane) build_controlplane ;;
gateway) build_gateway ;;
sim) build_sim ;;
kuadrant) build_kuadrant ;;
telemetry) build_telemetry ;;
authorino) build_authorino ;;
oidc) build_oidc ;;
nsrun) build_nsrun ;;
engines)
	# One after the other: each of them alone keeps every core busy.
	(build_kuadrant)
	(build_telemetry)
	(build_authorino)
	(build_oidc)
	(build_nsrun)
	;;
crds) build_crds ;;
all)
	# In subshells, so that each lock is held no longer than its own work.
	(build_crds)
	(build_controlplane)
	;;
-h | --help | help) usage ;;
*)
	usage >&2
	exit 2
	;;
esac
