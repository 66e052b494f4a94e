// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// LeaderElectionID is the name of the Lease of the operator's leader, and of its metric.
const LeaderElectionID = "maas-controller.models-as-a-service.opendatahub.io"
