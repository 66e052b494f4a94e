// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

type prober struct{}

type metrics struct{}
