// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

const day = 24 * time.Hour

func TestParseExpiresIn(t *testing.T) {
	t.Parallel()
	// E-35, E-36.
	tests := map[string]struct {
		raw       string
		want      time.Duration
		wantGiven bool
	}{
		"a left out member is not given":         {"", 0, false},
		"nor is null":                            {"null", 0, false},
		"a number is seconds":                    {"3600", time.Hour, true},
		"of which there may be parts":            {"0.5", 500 * time.Millisecond, true},
		"or powers of ten":                       {"1e3", 1000 * time.Second, true},
		"zero is given":                          {"0", 0, true},
		"so is a negative number":                {"-1", -time.Second, true},
		"so is nothing as a text":                {`""`, 0, true},
		"a text is a duration":                   {`"2h30m"`, 150 * time.Minute, true},
		"with parts":                             {`"1.5h"`, 90 * time.Minute, true},
		"in seconds":                             {`"60s"`, time.Minute, true},
		"in smaller units":                       {`"1ms2us3ns"`, time.Millisecond + 2*time.Microsecond + 3, true},
		"or a negative one":                      {`"-1h"`, -time.Hour, true},
		"or a number of days":                    {`"30d"`, 30 * day, true},
		"with parts of days":                     {`"1.5d"`, 36 * time.Hour, true},
		"or powers of ten of days":               {`"1e1d"`, 10 * day, true},
		"or a negative number of days":           {`"-1d"`, -day, true},
		"escaped letters are letters":            {`"30\u0064"`, 30 * day, true},
		"what is below a nanosecond is nothing":  {"1e-12", 0, true},
		"white space around the value is no sin": {" 60 ", time.Minute, true},
		"the most days that fit":                 {`"106751d"`, 106751 * day, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, given, err := apikey.ParseExpiresIn(json.RawMessage(test.raw))
			if err != nil || got != test.want || given != test.wantGiven {
				t.Errorf("ParseExpiresIn(%s) = %v, %v, %v; want %v, %v", test.raw, got, given, err, test.want, test.wantGiven)
			}
		})
	}
}

func TestParseExpiresInRefuses(t *testing.T) {
	t.Parallel()
	// E-35, E-36, E-37.
	tests := map[string]string{
		"a truth value":                "true",
		"an object":                    "{}",
		"a list":                       "[1]",
		"days before hours":            `"1d12h"`,
		"hours before days":            `"12h1d"`,
		"white space before":           `" 30d"`,
		"white space after":            `"30d "`,
		"white space alone":            `" "`,
		"a number as a text":           `"3600"`,
		"a unit alone":                 `"d"`,
		"capitals":                     `"30D"`,
		"no number of days":            `"NaNd"`,
		"infinitely many days":         `"Infd"`,
		"in full":                      `"+infinityd"`,
		"hexadecimal days":             `"0x1p4d"`,
		"digits with underscores":      `"1_0d"`,
		"a comma":                      `"1,5d"`,
		"two points":                   `"1.5.5d"`,
		"more seconds than fit":        "1e300",
		"more seconds than are finite": "1e400",
		"as few":                       "-1e300",
		"the first number of seconds that does not fit": "9223372036.854775808",
		"more days than fit":                            `"106752d"`,
		"more hours than fit":                           `"2562048h"`,
		"a NUL":                                         `"30\u0000d"`,
		"a text without end":                            `"` + strings.Repeat("1", 1000) + `d"`,
		"a number without end":                          strings.Repeat("1", 1000),
	}
	for name, raw := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := apikey.ParseExpiresIn(json.RawMessage(raw))
			if kind, _, message := apikeytest.CodeOf(t, err); got != 0 || kind != apikey.KindInvalid || !strings.HasPrefix(message, "invalid duration: ") {
				t.Errorf("ParseExpiresIn = %v, %v", got, err)
			}
		})
	}
}

func FuzzParseExpiresIn(f *testing.F) {
	for _, seed := range []string{`"30d"`, `"1.5h"`, "3600", "0.5", "null", `"NaNd"`, "1e300", `"1e1d"`, `""`, "-1", "{}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		d, given, err := apikey.ParseExpiresIn(json.RawMessage(raw))
		var refusal *apikey.Error
		if err != nil && (!errors.As(err, &refusal) || refusal.Kind != apikey.KindInvalid || d != 0 || strings.Contains(err.Error(), "\x00")) {
			t.Errorf("ParseExpiresIn(%q) = %v, %v, %v", raw, d, given, err)
		}
		if !given && (d != 0 || err != nil) {
			t.Errorf("ParseExpiresIn(%q) = %v, %v, %v", raw, d, given, err)
		}
	})
}

// drawExpiresIn draws values near the bounds, and far from sense.
func drawExpiresIn(t *rapid.T) json.RawMessage {
	number := rapid.OneOf(
		rapid.Float64(), rapid.Float64Range(-1, 100), rapid.SampledFrom([]float64{0, 1, 30, 3600, 30 * 86400, math.MaxInt64, 1e-12}),
	).Draw(t, "number")
	raw, err := json.Marshal(number)
	if err != nil {
		t.Fatalf("Marshal: %v", err)
	}
	switch rapid.SampledFrom([]string{"seconds", "days", "hours", "text"}).Draw(t, "form") {
	case "seconds":
		return raw
	case "days":
		return json.RawMessage(`"` + string(raw) + `d"`)
	case "hours":
		return json.RawMessage(`"` + string(raw) + `h"`)
	default:
		text, err := json.Marshal(rapid.String().Draw(t, "text"))
		if err != nil {
			t.Fatalf("Marshal: %v", err)
		}
		return text
	}
}

func TestLifeOfNewKeysIsWithinItsBounds(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		r := apikey.CreateRequest{Name: "k", ExpiresIn: drawExpiresIn(t), Ephemeral: rapid.Bool().Draw(t, "ephemeral")}
		longest := 30 * day
		if r.Ephemeral {
			longest = time.Hour
		}
		created, err := w.Create(t.Context(), apikeytest.Member("alice"), r)
		if err != nil {
			if kind, _, _ := apikeytest.CodeOf(t, err); kind != apikey.KindInvalid {
				t.Fatalf("Create with %s: %v", r.ExpiresIn, err)
			}
			return
		}
		if life := created.Key.ExpiresAt.Sub(created.Key.CreatedAt); life <= 0 || life > longest {
			t.Fatalf("a key made with %s lives %v", r.ExpiresIn, life)
		}
	})
}

func TestLifeOfNewKeys(t *testing.T) {
	t.Parallel()
	// E-32, E-33.
	const exceeds = ": expiration exceeds maximum allowed"
	tests := map[string]struct {
		raw         string
		ephemeral   bool
		want        time.Duration
		wantMessage string
	}{
		"a week":                            {raw: `"7d"`, want: 7 * day},
		"as long as is allowed":             {raw: `"30d"`, want: 30 * day},
		"so long without a wish":            {want: 30 * day},
		"so long for null":                  {raw: "null", want: 30 * day},
		"longer":                            {raw: `"60d"`, wantMessage: "requested expiration (1440h0m0s) exceeds maximum allowed (30 days)" + exceeds},
		"longer by a second":                {raw: "2592001", wantMessage: "requested expiration (720h0m1s) exceeds maximum allowed (30 days)" + exceeds},
		"no time at all":                    {raw: "0", wantMessage: "expiration must be positive"},
		"nothing":                           {raw: `""`, wantMessage: "expiration must be positive"},
		"a negative time":                   {raw: `"-1h"`, wantMessage: "expiration must be positive"},
		"less than the store can keep":      {raw: `"999ns"`, wantMessage: "expiration must be positive"},
		"the least that it can keep":        {raw: `"1us"`, want: time.Microsecond},
		"ephemeral: an hour":                {raw: `"1h"`, ephemeral: true, want: time.Hour},
		"ephemeral: half of it":             {raw: `"30m"`, ephemeral: true, want: 30 * time.Minute},
		"ephemeral: an hour without a wish": {ephemeral: true, want: time.Hour},
		"ephemeral: two hours":              {raw: `"2h"`, ephemeral: true, wantMessage: "ephemeral key expiration (2h0m0s) cannot exceed 1h0m0s" + exceeds},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t)
			got, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{
				Name: "k", ExpiresIn: json.RawMessage(test.raw), Ephemeral: test.ephemeral,
			})
			if test.wantMessage != "" {
				if kind, code, message := apikeytest.CodeOf(t, err); kind != apikey.KindInvalid || code != "" || message != test.wantMessage {
					t.Errorf("Create: %v, %q, %q; want %q", kind, code, message, test.wantMessage)
				}
				return
			}
			if life := got.Key.ExpiresAt.Sub(got.Key.CreatedAt); err != nil || life != test.want {
				t.Errorf("the key lives %v, %v; want %v", life, err, test.want)
			}
		})
	}
}
