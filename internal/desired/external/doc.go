// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package external decides what is made for an ExternalModel of this operator's own API
// group: which hosts may be led to, how the provider is reached, which of several models
// of one host carries what they share, which objects exist, and what the status says. It
// is pure: it reads no cluster, no Secret and no clock.
//
// # What models share
//
// A gateway has one idea of a host. Two ServiceEntries for it, or two DestinationRules,
// contradict each other, and which of them counts is not for their owners to choose. So
// each host has one of both, with what all its models need: the oldest model that stays
// holds them, in its own namespace. A model that leaves a host keeps them until the next
// one has its own: for a moment there are two of the same content, never none.
package external
