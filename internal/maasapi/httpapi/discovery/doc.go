// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package discovery tells callers what there is for them: the models they may use,
// the subscriptions they may choose from, and, to users of the cluster, the gateway
// of the tenant. It decodes and encodes only; what is shown to whom is decided by
// the packages catalog, subscription and kube.
package discovery
