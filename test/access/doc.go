// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access asks the generated policies of a tenant's Gateway and of its
// maas-api who may pass, and what maas-api learns of those who do. The tests evaluate
// the rendered policies; they look at no expression.
package access
