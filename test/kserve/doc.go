// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kserve checks the sample LLMInferenceService, and how the operator
// reads one, against the CRDs of KServe on a real API server: the pinned
// release, and every newer CRD that lies in ../shared/crds beside the checkout.
package kserve
