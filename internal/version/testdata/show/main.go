// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command show prints what the linker stamped into it. Only the test of
// package version builds it; it must not grow flags or a use of its own.
package main

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/internal/version"
)

func main() {
	fmt.Print(version.Get().String())
}
