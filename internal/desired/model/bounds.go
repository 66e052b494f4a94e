// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// Bounds that alerts warn of in time.
const (
	// MaxPredicate is the most characters of a limit's predicate.
	MaxPredicate = maxPredicate
	// MaxSubjects is the most distinct users and groups that an AuthPolicy holds.
	MaxSubjects = maxSubjects
)
