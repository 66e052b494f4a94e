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
