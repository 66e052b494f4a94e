// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usageproxy lets users of the cluster read their own usage records, and
// nobody else's, out of a log store that knows tenants but no users.
//
// It asks the API server whose a token is, rewrites every stream selector of a LogQL
// query so that it finds records of one namespace and one user only, and asks the
// log store with a token of its own. What it does not understand it refuses: it must
// never pass on a query, a parameter or a header as it came.
package usageproxy
