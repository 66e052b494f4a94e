// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access computes the policies of a tenant's Gateway and of the maas-api
// behind it: who may call the service itself, and that nobody gets through to
// anything that has no policy of its own. It is pure: facts come in as an
// [Input], requests for templates go out. It holds no client and applies nothing.
package access
