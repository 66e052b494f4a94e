# shellcheck shell=bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by scripts that put programs of this machine's Debian release below
# bin/NAME/: their packages, and those of the libraries that the machine lacks, are
# downloaded and unpacked there. Nothing is installed, and apt's own state is left
# alone. The scripts set
#
#   name       NAME
#   title      what users are told is downloaded
#   forget     an extended regular expression of package names that are unpacked
#              whether or not they are installed
#   programs   those that must answer to --version
#
# and define the functions "packages", which prints the packages to unpack, and
# "arrange DIR", which makes DIR/bin with the programs from what was unpacked into
# DIR. The file bin/NAME/libraries has the directories of libraries, relative to
# bin/NAME, one a line: a checkout may be moved.
#
# A second call with unchanged inputs does nothing. Two calls at once are safe:
# the second waits for the first and then finds the work done.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${root}/bin/${name}
work=${root}/bin/.build
state=${work}/${name}.apt
stamp=${work}/${name}.stamp
log=${work}/${name}.log
heartbeat=15 # seconds between two signs of life

say() { echo "${name}: $*" >&2; }

digest_of() { { sha256sum <"${BASH_SOURCE[0]}"; sha256sum <"$0"; cat /etc/os-release; } | sha256sum | cut -d' ' -f1; }

# libraries prints where the programs find their libraries, as the linker wants it.
libraries() { sed "s|^|${out}/|" "${out}/libraries" | paste -sd:; }

# works succeeds if the programs find all their libraries, those of the system included.
works() {
	local program
	[[ -f ${out}/libraries ]] || return 1
	for program in "${programs[@]}"; do
		LD_LIBRARY_PATH=$(libraries) "${out}/bin/${program}" --version >/dev/null 2>&1 || return 1
	done
}

current() { [[ -f ${stamp} && $(<"${stamp}") == "$1" ]] && works; }

# apt TOOL ARGUMENT... runs a tool of apt on a state of our own: its lists and its
# cache are below bin/, and to it none of the packages to forget is installed.
apt() {
	local tool=$1
	shift
	"${tool}" -o "Dir::State::lists=${state}/lists" -o "Dir::State::status=${state}/status" \
		-o "Dir::Cache=${state}/cache" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o APT::Sandbox::User=root -o Debug::NoLocking=true -o Acquire::Retries=3 \
		-o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Install-Recommends=false "$@"
}

# needed_for PACKAGE... prints the packages that an installation would add, without
# the C library, which must be the running one.
needed_for() {
	apt apt-get install --simulate "$@" | awk '$1 == "Inst" { print $2 }' | grep -vE '^(libc6|libc-bin)$'
}

fetch() {
	local names
	rm -rf "${state}"
	mkdir -p "${state}/lists/partial" "${state}/cache/archives/partial" "${state}/debs"
	awk -v forget="^Package: (${forget})" 'BEGIN { RS = ""; ORS = "\n\n" } $0 !~ forget' \
		/var/lib/dpkg/status >"${state}/status"
	apt apt-get update
	names=$(packages)
	echo "packages: ${names//$'\n'/ }"
	(
		cd "${state}/debs"
		mapfile -t list <<<"${names}"
		apt apt-get download "${list[@]}"
	)
}

unpack() {
	local deb tmp=${work}/new.${name}
	rm -rf "${tmp}"
	mkdir -p "${tmp}/bin"
	for deb in "${state}"/debs/*.deb; do
		dpkg-deb --extract "${deb}" "${tmp}"
	done
	rm -rf "${tmp}"/usr/share/{doc,man,locale,lintian} "${tmp}/etc" "${tmp}/var"
	find "${tmp}" \( -name '*.so' -o -name '*.so.*' \) -printf '%P\n' | sed 's|/[^/]*$||' | grep -v /postgresql/ | sort -u >"${tmp}/libraries" || true
	arrange "${tmp}"
	chmod -R go+rX "${tmp}"
	rm -rf "${out}"
	mv "${tmp}" "${out}"
	rm -rf "${state}"
}

fetch_and_unpack() {
	fetch
	unpack
}

# with_heartbeat runs a command with its output in the log, shows every few
# seconds what it does, and shows the end of the log on failure.
with_heartbeat() {
	local start=${SECONDS} next=${heartbeat} pid status=0
	(set -e; "$@") >"${log}" 2>&1 9>&- &
	pid=$!
	trap 'kill "${pid}" 2>/dev/null || true; wait "${pid}" 2>/dev/null || true; exit 130' INT TERM
	while kill -0 "${pid}" 2>/dev/null; do
		sleep 0.5
		if ((SECONDS - start >= next)); then
			next=$((next + heartbeat))
			say "$((SECONDS - start))s: $(tail -n 1 "${log}" | cut -c1-100)"
		fi
	done
	wait "${pid}" || status=$?
	trap - INT TERM
	if ((status != 0)); then
		tail -n 30 "${log}" >&2
		say "FAILED after $((SECONDS - start))s; the whole log is ${log}"
		return "${status}"
	fi
	say "done in $((SECONDS - start))s"
}

provide() {
	local digest
	digest=$(digest_of)
	if current "${digest}"; then
		return
	fi
	mkdir -p "${work}"
	exec 9>"${work}/${name}.lock"
	until flock -w "${heartbeat}" 9; do
		say "another process does this already; waiting for it"
	done
	if current "${digest}"; then
		return
	fi
	rm -f "${stamp}"
	say "downloading ${title} into bin/${name} (about half a minute)"
	with_heartbeat fetch_and_unpack
	if ! works; then
		say "the programs unpacked into ${out} do not run here:"
		LD_LIBRARY_PATH=$(libraries) ldd "${out}"/bin/* 2>&1 | grep 'not found' >&2
		return 1
	fi
	echo "${digest}" >"${stamp}"
}
