// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package payload decides what processes the payload of the requests of a tenant's
// Gateway, and computes its objects. It is pure.
//
// There are two processors. The first reads the model's name from the body, before it is
// known who calls; without it the gateway goes on. The second works for callers that may
// pass, and without it nothing does: so the gateway is told of both only once the second
// runs. Requests for maas-api are no business of either.
//
// The processors write no objects: routes to external models are made by the operator
// alone, whatever the number of tenants. They are granted no Secret: see
// docs/tenants/payload-processing.md.
package payload
