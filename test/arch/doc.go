// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package arch guards the shape of the repository: which package may import
// which, what every source file and package must carry, and that the Makefile,
// the PROJECT file and the change notes keep their promises. Every check is a
// pure function over facts handed to it, so that its own tests can show it
// failing; only the tests of this package read the real tree. It must not hold
// checks that the linters configured in .golangci.yml make just as well, with
// one exception: import arrows are guarded twice, because a linter sees only
// direct imports.
package arch
