// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// An EnvoyFilter has the configuration as a text, a WasmPlugin as an object.
func TestSourcesAreThoseOfAConfiguration(t *testing.T) {
	t.Parallel()
	object := map[string]any{"sources": []any{"authpolicy.kuadrant.io:llm/maas-auth-a", "tokenratelimitpolicy.kuadrant.io:llm/maas-trlp-b", "authpolicy.kuadrant.io:llm/maas-auth-c"}}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := json.Marshal(map[string]any{"value": string(text)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"llm/maas-auth-a": true, "llm/maas-auth-c": true}
	for _, stored := range []string{string(text), string(inside)} {
		if diff := cmp.Diff(want, kuadrant.Sources(stored)); diff != "" {
			t.Errorf("Sources(%s) (-want +got):\n%s", stored, diff)
		}
	}
	if got := kuadrant.Sources("authpolicy.kuadrant.io:cut"); len(got) > 0 {
		t.Errorf("Sources() = %v of a text that is cut off", got)
	}
}

func TestActionsOfAPolicyAreCounted(t *testing.T) {
	t.Parallel()
	const text = `{"actions":[{"scope":"x","sources":["authpolicy.kuadrant.io:llm/a"]},{"scope":"y","sources":["authpolicy.kuadrant.io:llm/a","authpolicy.kuadrant.io:llm/ab"]}]}`
	inside, err := json.Marshal(map[string]any{"value": text})
	if err != nil {
		t.Fatal(err)
	}
	for _, stored := range []string{text, string(inside)} {
		for policy, want := range map[string]int{"llm/a": 2, "llm/ab": 1, "llm/b": 0, "lm/a": 0} {
			if got := kuadrant.Actions(stored, policy); got != want {
				t.Errorf("Actions(%s, %s) = %d, want %d", stored, policy, got, want)
			}
		}
	}
}

func TestAConfigurationThatNamesNoSources(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"actions":[{"scope":"x"}]}`:                                                      true,
		`{"actions":[{"scope":"x","sources":["authpolicy.kuadrant.io:llm/a"]}]}`:           false,
		`{"actions":[{"scope":"x","sources":["tokenratelimitpolicy.kuadrant.io:llm/a"]}]}`: false,
		`{"actions":[]}`: false,
	} {
		inside, err := json.Marshal(map[string]any{"value": text})
		if err != nil {
			t.Fatal(err)
		}
		for _, stored := range []string{text, string(inside)} {
			if got := kuadrant.Unsourced(stored); got != want {
				t.Errorf("Unsourced(%s) = %t, want %t", stored, got, want)
			}
		}
	}
}
