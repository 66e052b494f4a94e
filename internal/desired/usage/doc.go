// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage decides what usage logging consists of, and computes its values: the
// records that a tenant's Gateway makes of requests to models, the collector that takes
// them, and the proxy and dashboards through which people read them. It is pure.
//
// Who a record is about is taken from what the gateway's own filter knows of a caller,
// never from a header: a client could write one of those.
package usage
