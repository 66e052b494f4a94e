#!/usr/bin/env bash
# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Puts the curl of this machine's Debian release below bin/curl/ if the machine has
# none, for the test that runs the lines of the README; see debian.sh.
#
#   bin/curl/bin/curl   runs it with the libraries beside it
set -euo pipefail

name=curl
title="Debian's curl"
forget='curl|libcurl4'
programs=(curl)

if command -v curl >/dev/null; then
	exit
fi

# shellcheck source=hack/debian.sh
source "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

packages() { needed_for curl | grep -E '^(curl|lib[^:]*)$'; }

arrange() {
	cat >"$1/bin/curl" <<-'TEXT'
		#!/bin/sh
		home=$(cd "$(dirname "$0")/.." && pwd)
		LD_LIBRARY_PATH=$(sed "s|^|${home}/|" "${home}/libraries" | paste -sd:) exec "${home}/usr/bin/curl" "$@"
	TEXT
	chmod +x "$1/bin/curl"
}

provide
