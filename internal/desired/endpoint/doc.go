// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package endpoint chooses, for one model, the HTTPRoute that serves it and the
// URLs under which clients reach it through the tenant's Gateway. It is pure: no
// client, no clock, and no result that depends on the order in which the cluster
// happened to list routes, parents, conditions or addresses.
//
// Two URLs matter. The endpoint is the path URL: requests to it reach this model
// and no other. The base URL is shared by all models of a gateway that tells them
// apart by the "model" field of the body; a model may have none.
//
// A URL is published only when its host is one the model's route has on the
// tenant's own Gateway. A host of another gateway would carry the caller's
// credentials past this tenant's policies.
package endpoint
