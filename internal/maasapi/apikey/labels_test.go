// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

func manyLabels(n int) map[string]string {
	labels := map[string]string{}
	for i := range n {
		labels["key-"+strconv.Itoa(i)] = "v"
	}
	return labels
}

func TestCheckLabelsAccepts(t *testing.T) {
	t.Parallel()
	// E-41.
	tests := map[string]map[string]string{
		"none":                     nil,
		"an empty set":             {},
		"one":                      {"team": "search"},
		"a prefix":                 {"example.com/team": "search"},
		"a prefix without a dot":   {"a/b": "c"},
		"capitals and digits":      {"Team-7.x_y": "v"},
		"one letter":               {"a": "b"},
		"fifty":                    manyLabels(50),
		"the longest key":          {strings.Repeat("k", 128): "v"},
		"the longest value":        {"k": strings.Repeat("v", 1024)},
		"any other text":           {"k": " Ünïcödé 🚀 \u200f' \" ; DROP TABLE "},
		"a prefix that is no name": {"a..b/c": "v"},
	}
	for name, labels := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := apikey.CheckLabels(labels); err != nil {
				t.Errorf("CheckLabels: %v", err)
			}
		})
	}
}

func TestCheckLabelsRefuses(t *testing.T) {
	t.Parallel()
	// E-42.
	const characters = "contains invalid characters"
	tests := map[string]struct {
		labels map[string]string
		want   string
	}{
		"fifty-one":                   {manyLabels(51), "labels cannot exceed 50 key-value pairs"},
		"an empty key":                {map[string]string{"": "v"}, "label keys cannot be empty"},
		"a key that is too long":      {map[string]string{strings.Repeat("k", 129): "v"}, "exceeds 128 characters"},
		"by its bytes":                {map[string]string{strings.Repeat("é", 65): "v"}, "exceeds 128 characters"},
		"a space in a key":            {map[string]string{"a b": "v"}, characters},
		"punctuation":                 {map[string]string{"a!@#$": "v"}, characters},
		"two slashes":                 {map[string]string{"a/b/c": "v"}, characters},
		"an underscore in the prefix": {map[string]string{"a_b/c": "v"}, characters},
		"a hyphen at the start":       {map[string]string{"-a": "v"}, characters},
		"a hyphen at the end":         {map[string]string{"a-": "v"}, characters},
		"a dot at the start":          {map[string]string{".a": "v"}, characters},
		"nothing behind the prefix":   {map[string]string{"a/": "v"}, characters},
		"a line break after the key":  {map[string]string{"a\n": "v"}, characters},
		"another alphabet":            {map[string]string{"clé": "v"}, characters},
		"an empty value":              {map[string]string{"k": ""}, "label value for key 'k' cannot be empty"},
		"a value that is too long":    {map[string]string{"k": strings.Repeat("v", 1025)}, "label value for key 'k' exceeds 1024 characters"},
		"a NUL in a value":            {map[string]string{"k": "a\x00"}, "label value for key 'k' contains invalid control characters"},
		"a line break in a value":     {map[string]string{"k": "a\nb"}, "label value for key 'k' contains invalid control characters"},
		"a tab in a value":            {map[string]string{"k": "a\tb"}, "label value for key 'k' contains invalid control characters"},
		"bytes that are no UTF-8":     {map[string]string{"k": "\xff"}, "label value for key 'k' is no valid UTF-8 text"},
		"a DEL in a value":            {map[string]string{"k": "a\x7f"}, "label value for key 'k' contains invalid control characters"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := apikey.CheckLabels(test.labels)
			if kind, _, message := apikeytest.CodeOf(t, err); kind != apikey.KindInvalid || !strings.Contains(message, test.want) {
				t.Errorf("CheckLabels: %v; want %q", err, test.want)
			}
		})
	}
}

func TestCheckLabelsNamesTheFirstOfSeveralFaults(t *testing.T) {
	t.Parallel()
	for range 50 { // Maps have no order of their own.
		err := apikey.CheckLabels(map[string]string{"b": "", "c c": "v", "a": "v\x00", "d": ""})
		if want := "label value for key 'a' contains invalid control characters"; err == nil || err.Error() != want {
			t.Fatalf("CheckLabels: %v; want %q", err, want)
		}
	}
}

func TestCheckLabelsRepeatsNoLongKey(t *testing.T) {
	t.Parallel()
	err := apikey.CheckLabels(map[string]string{strings.Repeat("é", 1<<19): "v"})
	if _, _, message := apikeytest.CodeOf(t, err); len(message) > 200 || !utf8.ValidString(message) {
		t.Errorf("the message has %d bytes", len(message))
	}
}

func FuzzCheckLabels(f *testing.F) {
	f.Add("team", "search", "example.com/a", "b")
	f.Add("", "", "a b", "\x00")
	f.Add("a/b/c", "\xff", "-", "é")
	f.Fuzz(func(t *testing.T, key, value, otherKey, otherValue string) {
		labels := map[string]string{key: value, otherKey: otherValue}
		err := apikey.CheckLabels(labels)
		var refusal *apikey.Error
		switch {
		case err == nil:
			for k, v := range labels {
				if k == "" || v == "" || len(k) > 128 || len(v) > 1024 || strings.ContainsAny(k+v, "\x00\n\r\t") || strings.ContainsAny(k, " '\"") || !utf8.ValidString(v) {
					t.Errorf("the label %q=%q is accepted", k, v)
				}
			}
		case !errors.As(err, &refusal) || refusal.Kind != apikey.KindInvalid:
			t.Errorf("CheckLabels(%q): %v", labels, err)
		}
	})
}
