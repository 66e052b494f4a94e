// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A provider outside of the cluster must not learn what callers prove who they are by.
func TestCredentialsAtAProvider(t *testing.T) {
	t.Parallel()
	for _, keyHeader := range []bool{false, true} {
		in := guarded()
		in.External, in.AcceptKeyHeader = true, keyHeader
		policy := renderAuthPolicy(t, in)
		headers, found, err := unstructured.NestedMap(policy.Object, "spec", "rules", "response", "success", "headers")
		if err != nil || !found {
			t.Fatalf("headers: %t, %v", found, err)
		}
		for name, wanted := range map[string]bool{"authorization": true, "x-api-key": keyHeader} {
			if _, there := headers[name]; there != wanted {
				t.Errorf("keys in x-api-key: %t: %s is set = %t, want %t", keyHeader, name, there, wanted)
			}
			if !wanted {
				continue
			}
			if got := newAuthorino(t, policy).text(requests()["key in Authorization"], "response", "success", "headers", name, "plain", "expression"); got != "" {
				t.Errorf("%s = %v, want nothing in it", name, got)
			}
		}
	}
	headers, _, err := unstructured.NestedMap(renderAuthPolicy(t, guarded()).Object, "spec", "rules", "response", "success", "headers")
	if err != nil || headers["authorization"] != nil || headers["x-api-key"] != nil {
		t.Errorf("a model of the cluster gets other credentials than its caller sent: %v, %v", headers, err)
	}
}
