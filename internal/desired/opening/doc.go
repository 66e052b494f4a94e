// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package opening decides which rules of a generated HTTPRoute may lead somewhere. A
// gateway serves a route from the moment it knows it, and Kuadrant has its policies
// enforced only some time later: until then a route is open to everybody. So a new rule
// comes without backends, which a gateway answers with 500, and gets them once it is
// guarded. A rule that leads somewhere is not closed again. The package is pure: it
// reads no cluster and no clock, and it writes no objects.
package opening
