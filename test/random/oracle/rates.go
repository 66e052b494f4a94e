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

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// rateSet is the distinct rates of an entry under their common name.
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
	return rateSet{name: "tokens-" + strings.Join(segments, "-"), rates: segments}, len(segments) > 0
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
