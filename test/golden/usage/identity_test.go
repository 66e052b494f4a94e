// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/golden"
)

// policy is what is read of an AuthPolicy.
type policy struct {
	Kind string `json:"kind"`
	Spec struct {
		Rules struct {
			Response struct {
				Success struct {
					Filters map[string]struct {
						JSON struct {
							Properties map[string]any `json:"properties"`
						} `json:"json"`
					} `json:"filters"`
				} `json:"success"`
			} `json:"response"`
		} `json:"rules"`
	} `json:"spec"`
}

// documents reads the documents of a file.
func documents[T any](t *testing.T, file string) []T {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var object T
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		all = append(all, object)
	}
	return all
}

// identities are what the policies of models make known about a caller, as members of
// auth.identity.
func identities(t *testing.T) []map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../model/testdata/*/out.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []map[string]bool
	for _, file := range files {
		for _, p := range documents[policy](t, file) {
			if p.Kind == "AuthPolicy" {
				found = append(found, members(p.Spec.Rules.Response.Success.Filters["identity"].JSON.Properties))
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("the golden files of models have no AuthPolicy")
	}
	return found
}

// answer are the members of maas-api's answer about a subscription, which is a part of
// the identity.
func answer(t *testing.T) map[string]bool {
	t.Helper()
	type description struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	for _, api := range documents[description](t, "../../../internal/maasapi/openapi/openapi-internal.yaml") {
		for _, schema := range api.Components.Schemas {
			if got := members(schema.Properties); got["subscriptionKey"] {
				return got
			}
		}
	}
	t.Fatal("the description of the callbacks has no answer with subscriptionKey")
	return nil
}

func members(object map[string]any) map[string]bool {
	names := map[string]bool{}
	for name := range object {
		names[name] = true
	}
	return names
}

var property = regexp.MustCompile(`^%FILTER_STATE\(wasm\.kuadrant\.auth\.identity\.([A-Za-z_]+)(?:\.([A-Za-z_]+))?:PLAIN\)%$`)

// TestEveryAttributeOfACallerIsKnown compares what EnvoyFilters read with what the policies
// of models write: a name that is not there would be recorded as nothing.
func TestEveryAttributeOfACallerIsKnown(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	for _, name := range golden.Cases(t, "testdata") {
		for file := range build(t, name) {
			for _, object := range documents[map[string]any](t, filepath.Join("testdata", name, file)) {
				for _, value := range texts(object) {
					if strings.Contains(value, "FILTER_STATE") {
						read[value] = true
					}
				}
			}
		}
	}
	if len(read) != 7 {
		t.Errorf("%d attributes of callers are read, want seven: %v", len(read), read)
	}
	subscription := answer(t)
	for value := range read {
		parts := property.FindStringSubmatch(value)
		if parts == nil {
			t.Errorf("%q is nothing that Kuadrant's filter keeps", value)
			continue
		}
		for _, identity := range identities(t) {
			if !identity[parts[1]] {
				t.Errorf("%s is read, and a policy makes only %v known", value, identity)
			}
		}
		if parts[2] != "" && (parts[1] != "subscription_info" || !subscription[parts[2]]) {
			t.Errorf("%s is read, and maas-api answers with %v only", value, subscription)
		}
	}
}
