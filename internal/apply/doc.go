// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply makes objects in the cluster equal to the objects this operator wants, and nothing more.
//
// It owns: server-side apply under one field owner, the comparison that turns an unchanged object into no request at
// all, exclusive ownership of the sub-trees that protect (policies, routes, RBAC), the opt-out annotation, refusal to
// take over what belongs to others, deletion with preconditions, and inventories with pruning.
//
// It must not decide what is wanted, render anything, write a status, or know any kind of this project's API.
//
// # How a call proceeds
//
// The live object comes from the cache. Every request that follows carries the resourceVersion of the copy that was
// judged, so that a stale copy ends in a conflict instead of a wrong write; on a conflict the object is read from the
// API server and judged once more, including its opt-out annotation. Creation is conditional in the same way: it never
// merges into an object that the cache did not know.
//
// Differences are found without a schema. For the sub-trees of [protectedFields] the whole tree is compared. Elsewhere
// our own entry in metadata.managedFields says which fields are ours and how lists are keyed; fields of others stay.
// A difference that only restates what the server makes of the desired object (defaults, canonical quantities, webhooks)
// is found by one dry run and remembered per object.
//
// The cache must therefore keep metadata.managedFields of the kinds applied here.
package apply
