// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"slices"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Mint picks the subscription that a new key is bound to, or refuses with a
// [Refusal]: the one with the requested name, or else the first of the caller's
// by [Rank.Compare]. Either must be Active, Degraded or Pending and not about to
// go; those that are not are passed over, unless there is no other to report on.
// Who calls with an API key gets keys of the same subscription only.
func (x *Index) Mint(c Caller, requested string) (*v1alpha1.MaaSSubscription, error) {
	if c.username == "" {
		return nil, Refusal{Code: CodeBadRequest, Message: noUsername}
	}
	if c.key {
		return x.mintAgain(c, requested)
	}
	if requested != "" {
		return bindable(x.named(c, requested))
	}
	if best := x.first(c, true); best != nil {
		return best.object, nil
	}
	if unfit := x.first(c, false); unfit != nil {
		return nil, unfit.unbindable
	}
	return nil, Refusal{Code: CodeNotFound, Message: noSubscription}
}

func (x *Index) mintAgain(c Caller, requested string) (*v1alpha1.MaaSSubscription, error) {
	bound, err := x.named(c, c.subscription)
	if err == nil && requested != "" {
		var other *subscription
		if other, err = x.named(c, requested); err == nil && other != bound {
			err = Refusal{Code: CodeAccessDenied, Message: notYours}
		}
	}
	return bindable(bound, err)
}

func bindable(s *subscription, err error) (*v1alpha1.MaaSSubscription, error) {
	if err != nil {
		return nil, err
	}
	if s.unbindable != nil {
		return nil, s.unbindable
	}
	return s.object, nil
}

// first returns the first of the caller's subscriptions by rank that is, or is
// not, good for a key.
func (x *Index) first(c Caller, good bool) *subscription {
	var best *subscription
	for i := range c.subjects() {
		list := x.owners.of(c, i)
		at := slices.IndexFunc(list, func(number int32) bool { return (x.subscriptions[number].unbindable == nil) == good })
		if at >= 0 && (best == nil || list[at] < best.number) {
			best = x.subscriptions[list[at]]
		}
	}
	return best
}
