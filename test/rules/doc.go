// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules tests what Prometheus is told about the installation: each alert and each
// query of a dashboard runs in promtool on series that programs really expose, and a
// monitor reads a port that there is. It needs bin/tools/promtool and
// bin/tools/promselectors, which "make test-rules" builds.
package rules
