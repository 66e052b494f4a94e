// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
)

func TestNamesOfExternalModelsFitAService(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"gpt":                   "^maas-gpt$",
		"4o":                    "^maas-4o$",
		strings.Repeat("m", 58): "^maas-m{58}$",
		strings.Repeat("m", 59): "^maas-m{49}-[0-9a-f]{8}$",
		"gpt-4.1":               "^maas-gpt-4-1-[0-9a-f]{8}$",
	} {
		got := endpoint.ExternalRouteName(name)
		if problems := validation.IsDNS1035Label(got); len(problems) > 0 || !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("ExternalRouteName(%q) = %q, want %s; %v", name, got, want, problems)
		}
	}
}

func TestShortenedNamesDiffer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("m", 63)
	if got := endpoint.Shortened(long, 63); got != long {
		t.Errorf("Shortened() of what fits = %q", got)
	}
	one, other := endpoint.Shortened(long+"a", 63), endpoint.Shortened(long+"b", 63)
	if one == other || len(one) > 63 || len(other) > 63 {
		t.Errorf("Shortened() = %q and %q", one, other)
	}
}
