#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Puts the PostgreSQL server and PgBouncer of this machine's Debian release below
# bin/postgres/, for tests and for "make run": their packages, and those of the
# libraries that the machine lacks, are downloaded and unpacked there. Nothing is
# installed, and apt's own state is left alone.
#
#   bin/postgres/bin/        postgres, initdb, psql, pg_dump, pgbouncer and others
#   bin/postgres/libraries   the directories of their libraries, one a line
#
# A second call with unchanged inputs does nothing. Two calls at once are safe:
# the second waits for the first and then finds the work done.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${root}/bin
out=${bin}/postgres
work=${bin}/.build
state=${work}/postgres.apt
stamp=${work}/postgres.stamp
log=${work}/postgres.log
heartbeat=15 # seconds between two signs of life

say() { echo "postgres: $*" >&2; }

digest_of() { { sha256sum <"${BASH_SOURCE[0]}"; cat /etc/os-release; } | sha256sum | cut -d' ' -f1; }

# works succeeds if the programs find all their libraries, those of the system included.
works() {
	local program libraries
	[[ -f ${out}/libraries ]] || return 1
	libraries=$(paste -sd: "${out}/libraries")
	for program in postgres initdb pgbouncer psql; do
		LD_LIBRARY_PATH=${libraries} "${out}/bin/${program}" --version >/dev/null 2>&1 || return 1
	done
}

current() { [[ -f ${stamp} && $(<"${stamp}") == "$1" ]] && works; }

# apt TOOL ARGUMENT... runs a tool of apt on a state of our own: its lists and its
# cache are below bin/, and to it no package of PostgreSQL is installed.
apt() {
	local tool=$1
	shift
	"${tool}" -o "Dir::State::lists=${state}/lists" -o "Dir::State::status=${state}/status" \
		-o "Dir::Cache=${state}/cache" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o APT::Sandbox::User=root -o Debug::NoLocking=true -o Acquire::Retries=3 \
		-o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Install-Recommends=false "$@"
}

prepare_state() {
	rm -rf "${state}"
	mkdir -p "${state}/lists/partial" "${state}/cache/archives/partial"
	awk 'BEGIN { RS = ""; ORS = "\n\n" } !/^Package: (postgresql|pgbouncer)/' \
		/var/lib/dpkg/status >"${state}/status"
}

# packages prints the packages to unpack: server, clients, pooler and missing
# libraries. The compiler that the server may load is left out, it runs without;
# and the C library, which must be the running one.
packages() {
	local release
	release=$(apt apt-cache depends postgresql | awk '$1 == "Depends:" && $2 ~ /^postgresql-[0-9]+$/ { print $2; exit }')
	if [[ -z ${release} ]]; then
		echo "this system's packages name no PostgreSQL server" >&2
		return 1
	fi
	apt apt-get install --simulate "${release}" pgbouncer |
		awk '$1 == "Inst" { print $2 }' |
		grep -E '^(postgresql-[0-9]+|postgresql-client-[0-9]+|pgbouncer|lib[^:]*)$' |
		grep -vE '^(libllvm.*|libperl.*|lib.*-perl|lib.*-dev|libc6|libc-bin)$'
}

fetch() {
	local names
	prepare_state
	apt apt-get update
	names=$(packages)
	echo "packages: ${names//$'\n'/ }"
	mkdir -p "${state}/debs"
	(
		cd "${state}/debs"
		mapfile -t list <<<"${names}"
		apt apt-get download "${list[@]}"
	)
}

unpack() {
	local deb dir program tmp=${work}/new.postgres
	rm -rf "${tmp}"
	mkdir -p "${tmp}/bin"
	for deb in "${state}"/debs/*.deb; do
		dpkg-deb --extract "${deb}" "${tmp}"
	done
	rm -rf "${tmp}/usr/share/doc" "${tmp}/usr/share/man" "${tmp}/usr/share/locale" \
		"${tmp}/usr/share/lintian" "${tmp}"/usr/lib/postgresql/*/lib/bitcode "${tmp}/etc" "${tmp}/var"
	for program in "${tmp}"/usr/lib/postgresql/*/bin/* "${tmp}"/usr/sbin/pgbouncer; do
		ln -sfn "..${program#"${tmp}"}" "${tmp}/bin/${program##*/}"
	done
	chmod -R go+rX "${tmp}"
	rm -rf "${out}"
	find "${tmp}" \( -name '*.so' -o -name '*.so.*' \) -printf '%h\n' | grep -v /postgresql/ | sort -u |
		while read -r dir; do echo "${out}${dir#"${tmp}"}"; done >"${tmp}/libraries"
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

main() {
	local digest
	digest=$(digest_of)
	if current "${digest}"; then
		return
	fi
	mkdir -p "${work}"
	exec 9>"${work}/postgres.lock"
	until flock -w "${heartbeat}" 9; do
		say "another process does this already; waiting for it"
	done
	if current "${digest}"; then
		return
	fi
	rm -f "${stamp}"
	say "downloading Debian's PostgreSQL and PgBouncer into bin/postgres (about half a minute)"
	with_heartbeat fetch_and_unpack
	if ! works; then
		say "the programs unpacked into ${out} do not run here:"
		LD_LIBRARY_PATH=$(paste -sd: "${out}/libraries") ldd "${out}/bin/postgres" "${out}/bin/pgbouncer" 2>&1 | grep 'not found' >&2
		return 1
	fi
	echo "${digest}" >"${stamp}"
}

main
