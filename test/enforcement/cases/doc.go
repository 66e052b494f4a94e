// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cases are the callers of a tenant's gateway and what must become of their
// requests, as data: who asks for what, and the answer, what reaches the model, and
// what is known of the caller for limits and telemetry. It owns the models,
// subscriptions and credentials that the cases speak of. It must not look at generated
// policies: a case is judged by what happens to a request alone.
//
// Each case holds for both tenants, each with the other one beside it. Rows are those
// of the list of failures that other systems have met in the field.
package cases
