// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// EphemeralMaximum is the longest life of an ephemeral key, and the one it has
	// unless a shorter one is asked for.
	EphemeralMaximum = time.Hour
	// MaxExpirationDays is the largest maximum that can be configured, about 292
	// years: what a duration can hold.
	MaxExpirationDays = int(math.MaxInt64 / int64(day))

	day = 24 * time.Hour
	// shortest is the least that the store can tell apart: a key with less to live
	// would be expired when it is made.
	shortest = time.Microsecond

	// maxExpiresIn bounds the text of expiresIn, in bytes.
	maxExpiresIn = 64
)

// Texts about expiresIn that the contract fixes.
const (
	notPositive     = "expiration must be positive"
	exceedsMaximum  = "expiration exceeds maximum allowed"
	invalidDuration = `invalid duration: expiresIn must be a text like "90m", "12h" or "30d", or a number of seconds`
)

// ParseExpiresIn reads the member expiresIn of a request: a number of seconds,
// or a text that is either a duration as Go writes it ("2h30m") or a decimal
// number of days ("1.5d"). Without the member, or with null, given is false.
//
// The duration is not checked against any bound: it may be zero or negative.
// What does not fit a duration is refused as invalid.
func ParseExpiresIn(raw json.RawMessage) (d time.Duration, given bool, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return 0, false, nil
	}
	if len(raw) > maxExpiresIn {
		return 0, true, invalid(invalidDuration)
	}
	if raw[0] != '"' {
		d, err = decimal(string(raw), time.Second)
		return d, true, err
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return 0, true, invalid(invalidDuration)
	}
	if text == "" {
		return 0, true, nil
	}
	if days, found := strings.CutSuffix(text, "d"); found {
		d, err = decimal(days, day)
		return d, true, err
	}
	if d, err = time.ParseDuration(text); err != nil {
		return 0, true, invalid(invalidDuration)
	}
	return d, true, nil
}

// decimal reads a decimal number of units. Other notations of numbers, and what
// is none, are refused.
func decimal(text string, unit time.Duration) (time.Duration, error) {
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, invalid(invalidDuration)
	}
	number, err := strconv.ParseFloat(text, 64)
	// The largest int64 is no float64: the bound is the next one, which is too large.
	if nanoseconds := math.Round(number * float64(unit)); err == nil && math.Abs(nanoseconds) < math.MaxInt64 {
		return time.Duration(nanoseconds), nil
	}
	return 0, invalid(invalidDuration)
}

// Limits are the bounds of the life of a key.
type Limits struct {
	// MaxExpirationDays bounds keys that are not ephemeral. They live so long
	// unless less is asked for.
	MaxExpirationDays int
	// EphemeralMaximum is [EphemeralMaximum].
	EphemeralMaximum time.Duration
}

// lifetime returns how long a new key lives, and whether that was asked for.
func (l Limits) lifetime(expiresIn json.RawMessage, ephemeral bool) (d time.Duration, given bool, err error) {
	longest := l.maximum(ephemeral)
	d, given, err = ParseExpiresIn(expiresIn)
	switch {
	case err != nil:
		return 0, given, err
	case !given:
		return longest, false, nil
	case d < shortest:
		return 0, true, invalid(notPositive)
	case d <= longest:
		return d, true, nil
	case ephemeral:
		return 0, true, invalid(fmt.Sprintf("ephemeral key expiration (%v) cannot exceed %v: %s", d, longest, exceedsMaximum))
	default:
		return 0, true, invalid(fmt.Sprintf("requested expiration (%v) exceeds maximum allowed (%d days): %s", d, l.MaxExpirationDays, exceedsMaximum))
	}
}

func (l Limits) maximum(ephemeral bool) time.Duration {
	if ephemeral {
		return l.EphemeralMaximum
	}
	return time.Duration(l.MaxExpirationDays) * day
}
