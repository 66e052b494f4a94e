// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func TestParseName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 253)
	for text, want := range map[string]types.NamespacedName{
		"gold":         {Name: "gold"},
		"red/gold":     {Namespace: "red", Name: "gold"},
		"a.b-c.9":      {Name: "a.b-c.9"},
		long:           {Name: long},
		"red/" + long:  {Namespace: "red", Name: long},
		"1/2":          {Namespace: "1", Name: "2"},
		"a--b/c.d--e2": {Namespace: "a--b", Name: "c.d--e2"},
	} {
		if got, err := entitlement.ParseName(text); err != nil || got != want {
			t.Errorf("ParseName(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "/", "a/", "/a", "a/b/c", "Gold", " gold", "gold ", "go ld", "-a", "a-", "a.-b", "a-.b", "a..b", ".a", "a.",
		"a.b/c", "é", "a\x00", "a\n", long + "a", strings.Repeat("a", 64) + "/b",
	} {
		if got, err := entitlement.ParseName(text); codeOf(err) != entitlement.CodeBadRequest {
			t.Errorf("ParseName(%q) = %v, %v, want %s", text, got, err, entitlement.CodeBadRequest)
		}
	}
}

// FuzzParseName compares with what the API server admits as names.
func FuzzParseName(f *testing.F) {
	for _, seed := range []string{"", "gold", "red/gold", "a/b/c", "a-.b", "a.b", "a.b/c", "/", "-", "é", strings.Repeat("a.", 127) + "a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		namespace, name, qualified := strings.Cut(text, "/")
		valid := len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
		if !qualified {
			valid = len(validation.IsDNS1123Subdomain(text)) == 0
		}
		key, err := entitlement.ParseName(text)
		if valid != (err == nil) {
			t.Fatalf("ParseName(%q) error = %v, but a valid name: %t", text, err, valid)
		}
		if err != nil {
			return
		}
		if back := strings.TrimPrefix(key.String(), "/"); back != text {
			t.Errorf("ParseName(%q) is %q when written again", text, back)
		}
	})
}
