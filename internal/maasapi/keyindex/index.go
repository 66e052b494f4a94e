// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

// Index is a coherent view of the keys of one tenant. Its methods may be called
// at the same time.
type Index struct{}
