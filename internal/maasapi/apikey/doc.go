// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apikey owns API keys: their format, the rules about what a key may be
// called and how long it may live, and every flow that makes, shows or ends one.
//
// It knows nothing of HTTP, SQL or Kubernetes: keys are kept by a [Store],
// callers are judged by [Subscriptions] and [Admins], and what was done is told
// to an [Auditor]. The text of a key leaves it once, from [Service.Create].
package apikey
