// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutation takes one rule at a time out of generated policies. It owns what
// counts as a rule of a policy, and how it is taken out; it must not know what any of
// them is for, nor what becomes of requests without it.
package mutation
