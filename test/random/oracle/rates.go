// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// rateSet is the distinct rates of an entry under their common name, without those
// that another one of an equally long window makes pointless.
type rateSet struct {
	name  string
	rates []string
}

const unlimitedName = "tokens-unlimited"

var windowPattern = regexp.MustCompile(`^[1-9][0-9]{0,3}[smh]$`)

// ratesOf reads an entry; false when it cannot be enforced.
func ratesOf(e *v1alpha1.ModelSubscription) (rateSet, bool) {
	if e.Unlimited {
		return rateSet{name: unlimitedName}, len(e.TokenRateLimits) == 0
	}
	var segments []string
	for _, r := range e.TokenRateLimits {
		if r.Limit < 1 || r.Limit > 1_000_000_000 || !windowPattern.MatchString(r.Window) || hours(r.Window) > 366*24 {
			return rateSet{}, false
		}
		segments = append(segments, fmt.Sprintf("%d-per-%s", r.Limit, r.Window))
	}
	slices.Sort(segments)
	segments = slices.Compact(segments)
	return rateSet{name: "tokens-" + strings.Join(segments, "-"), rates: strictest(segments)}, len(segments) > 0
}

// strictest leaves out each of the sorted rates beside which another one of an equally
// long window is smaller, or as small and comes first.
func strictest(segments []string) []string {
	var left []string
	for i, one := range segments {
		pointless := false
		for j, other := range segments {
			limit, window := parts(one)
			otherLimit, otherWindow := parts(other)
			pointless = pointless || window == otherWindow && (otherLimit < limit || otherLimit == limit && j < i)
		}
		if !pointless {
			left = append(left, one)
		}
	}
	return left
}

// parts are the limit and the window of a rate.
func parts(segment string) (limit int, window time.Duration) {
	amount, length, _ := strings.Cut(segment, "-per-")
	limit, _ = strconv.Atoi(amount)        // It was written from a number.
	window, _ = time.ParseDuration(length) // The pattern is part of its grammar.
	return limit, window
}

// hours is the length of a window in whole hours, for those written in hours.
func hours(window string) int {
	count, err := strconv.Atoi(strings.TrimSuffix(window, "h"))
	if err != nil {
		return 0
	}
	return count
}

// IDOf is the short id of a subscription on a model, both <namespace>/<name>.
func IDOf(subscription, model string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(subscription+"@"+model)))[:16]
}

// LimitOf is the name of the limit that an entry of a subscription has a part in;
// empty when it cannot be enforced.
func LimitOf(e *v1alpha1.ModelSubscription) string {
	set, _ := ratesOf(e)
	return set.name
}
