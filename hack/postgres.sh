#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Puts the PostgreSQL server and PgBouncer of this machine's Debian release below
# bin/postgres/, for tests and for "make run"; see debian.sh.
#
#   bin/postgres/bin/        postgres, initdb, psql, pg_dump, pgbouncer and others
#   bin/postgres/libraries   the directories of their libraries
set -euo pipefail

name=postgres
title="Debian's PostgreSQL and PgBouncer"
forget='postgresql|pgbouncer'
programs=(postgres initdb pgbouncer psql)

# shellcheck source=hack/debian.sh
source "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

# packages prints server, clients, pooler and missing libraries. The compiler that
# the server may load is left out, it runs without.
packages() {
	local release
	release=$(apt apt-cache depends postgresql | awk '$1 == "Depends:" && $2 ~ /^postgresql-[0-9]+$/ { print $2; exit }')
	if [[ -z ${release} ]]; then
		echo "this system's packages name no PostgreSQL server" >&2
		return 1
	fi
	needed_for "${release}" pgbouncer |
		grep -E '^(postgresql-[0-9]+|postgresql-client-[0-9]+|pgbouncer|lib[^:]*)$' |
		grep -vE '^(libllvm.*|libperl.*|lib.*-perl|lib.*-dev)$'
}

arrange() {
	local program
	rm -rf "$1"/usr/lib/postgresql/*/lib/bitcode "${work}/postgres.template" # Of what other programs made.
	for program in "$1"/usr/lib/postgresql/*/bin/* "$1"/usr/sbin/pgbouncer; do
		ln -sfn "..${program#"$1"}" "$1/bin/${program##*/}"
	done
}

provide
