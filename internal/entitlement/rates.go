// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Bounds of a rate. Admission refuses what lies outside; stored objects of
// earlier releases may hold it.
const (
	// MaxLimit is the largest number of tokens per window.
	MaxLimit = 1_000_000_000
	// MaxWindowSeconds is the longest window: 366 days.
	MaxWindowSeconds = 366 * 24 * 3600
)

// UnlimitedName is the limit shared by all unlimited subscriptions of a model.
const UnlimitedName = "tokens-unlimited"

// RateSet is the canonical form of a subscription's rates on one model: two
// subscriptions with equal rate sets share a limit.
type RateSet struct {
	// Name is tokens-<limit>-per-<window>, one segment per rate, or
	// [UnlimitedName].
	Name string
	// Rates are distinct and sorted by segment; empty when unlimited.
	Rates []v1alpha1.TokenRateLimit
}

// Unlimited tells whether the set holds no rate.
func (s RateSet) Unlimited() bool { return s.Name == UnlimitedName }

// Enforced are the rates that decide, in the order of Rates: of those whose windows
// are equally long, however written, only the smallest. The rate limiter takes
// limits that differ in nothing but their size for one, and would hold requests
// against the first it was given (row B22).
func (s RateSet) Enforced() []v1alpha1.TokenRateLimit {
	smallest := make(map[int64]int, len(s.Rates))
	seconds := make([]int64, len(s.Rates))
	for i, rate := range s.Rates {
		length, err := WindowSeconds(rate.Window)
		if err != nil { // It was refused before; such a window is like no other.
			length = -int64(i) - 1
		}
		seconds[i] = length
		if least, seen := smallest[length]; !seen || rate.Limit < s.Rates[least].Limit {
			smallest[length] = i
		}
	}
	enforced := make([]v1alpha1.TokenRateLimit, 0, len(smallest))
	for i, rate := range s.Rates {
		if smallest[seconds[i]] == i {
			enforced = append(enforced, rate)
		}
	}
	return enforced
}

// Idle is a rate that never decides, because another one of an equally long window does.
type Idle struct{ Rate, Decides v1alpha1.TokenRateLimit }

// Idle are the rates that [RateSet.Enforced] leaves out, in the order of Rates.
func (s RateSet) Idle() []Idle {
	enforced := s.Enforced()
	var idle []Idle
	for _, rate := range s.Rates {
		if slices.Contains(enforced, rate) {
			continue
		}
		length, _ := WindowSeconds(rate.Window) // Those without a length are enforced.
		i := slices.IndexFunc(enforced, func(other v1alpha1.TokenRateLimit) bool {
			seconds, err := WindowSeconds(other.Window)
			return err == nil && seconds == length
		})
		idle = append(idle, Idle{Rate: rate, Decides: enforced[i]})
	}
	return idle
}

// RateSetOf validates a subscription's entry for a model and returns its rate
// set. Windows are compared as written: 1m and 60s are different rates. The
// error names the field and the bound.
func RateSetOf(entry *v1alpha1.ModelSubscription) (RateSet, error) {
	if err := validateEntry(entry); err != nil {
		return RateSet{}, err
	}
	if entry.Unlimited {
		return RateSet{Name: UnlimitedName}, nil
	}
	rates := make(map[string]v1alpha1.TokenRateLimit, len(entry.TokenRateLimits))
	for _, rate := range entry.TokenRateLimits {
		rates[segment(rate)] = rate
	}
	sorted := make([]v1alpha1.TokenRateLimit, 0, len(rates))
	for _, rate := range rates {
		sorted = append(sorted, rate)
	}
	slices.SortFunc(sorted, func(a, b v1alpha1.TokenRateLimit) int { return cmp.Compare(segment(a), segment(b)) })
	segments := make([]string, 0, len(sorted))
	for _, rate := range sorted {
		segments = append(segments, segment(rate))
	}
	return RateSet{Name: "tokens-" + strings.Join(segments, "-"), Rates: sorted}, nil
}

// validateEntry tells what [RateSetOf] refuses, without making a set.
func validateEntry(entry *v1alpha1.ModelSubscription) error {
	switch {
	case entry.Unlimited && len(entry.TokenRateLimits) > 0:
		return fmt.Errorf("unlimited and tokenRateLimits exclude each other: remove one of them")
	case !entry.Unlimited && len(entry.TokenRateLimits) == 0:
		return fmt.Errorf("tokenRateLimits is empty: give at least one rate, or set unlimited: true")
	}
	for i, rate := range entry.TokenRateLimits {
		if err := validateRate(rate); err != nil {
			return fmt.Errorf("tokenRateLimits[%d].%w", i, err)
		}
	}
	return nil
}

func segment(rate v1alpha1.TokenRateLimit) string {
	return strconv.FormatInt(rate.Limit, 10) + "-per-" + rate.Window
}

func validateRate(rate v1alpha1.TokenRateLimit) error {
	if rate.Limit < 1 || rate.Limit > MaxLimit {
		return fmt.Errorf("limit is %d: it must lie between 1 and %d", rate.Limit, MaxLimit)
	}
	seconds, err := WindowSeconds(rate.Window)
	if err != nil {
		return fmt.Errorf("window: %w", err)
	}
	if seconds > MaxWindowSeconds {
		return fmt.Errorf("window is %q: the longest is 366 days (8784h)", rate.Window)
	}
	return nil
}

// WindowSeconds is the length of a window such as 30s, 1m or 24h.
func WindowSeconds(window string) (int64, error) {
	if size := len(window); size >= 2 && size <= 1+maxWindowDigits && window[0] != '0' {
		count, err := strconv.ParseUint(window[:size-1], 10, 16)
		if seconds := unitSeconds(window[size-1]); err == nil && seconds > 0 {
			return int64(count) * seconds, nil
		}
	}
	return 0, fmt.Errorf("%.20q is no window: write 1 to 9999 followed by s, m or h, such as 1m", window)
}

// maxWindowDigits is the number of digits of the longest window.
const maxWindowDigits = 4

func unitSeconds(unit byte) int64 {
	switch unit {
	case 's':
		return 1
	case 'm':
		return 60
	case 'h':
		return 3600
	default:
		return 0
	}
}
