// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/test/rights"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestUsed(t *testing.T) {
	t.Parallel()
	got := rights.Used([]audit.Event{
		{APIGroup: "apps", Resource: "deployments", Subresource: "status", Verb: "patch", Namespace: "a", Name: "x", Code: 200},
		{Resource: "secrets", Verb: "patch", Namespace: "a", Name: "db", Code: 201},
		{Resource: "secrets", Verb: "patch", Namespace: "a", Name: "db", Code: 200},
		{Resource: "pods", Verb: "watch"},
		{URI: "/version", Verb: "get"},
		{APIGroup: "authorization.k8s.io", Resource: "selfsubjectaccessreviews", Verb: "create"},
	})
	want := []rights.Right{
		{Resource: "pods", Verb: "list"},
		{Resource: "pods", Verb: "watch"},
		{Resource: "secrets", Verb: "create", Name: "db", Namespace: "a"},
		{Resource: "secrets", Verb: "patch", Name: "db", Namespace: "a"},
		{Group: "apps", Resource: "deployments/status", Verb: "patch", Name: "x", Namespace: "a"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Used() (-want +got):\n%s", diff)
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	secrets := rights.Right{Resource: "secrets", Verb: "get"}
	named, pods := rights.Right{Resource: "secrets", Verb: "get", Name: "db"}, rights.Right{Resource: "pods", Verb: "get"}
	used := []rights.Right{{Resource: "secrets", Verb: "get", Name: "other", Namespace: "a"}}
	if diff := cmp.Diff([]rights.Right{named, pods}, rights.Idle([]rights.Right{secrets, named, pods}, used)); diff != "" {
		t.Errorf("Idle() (-want +got):\n%s", diff)
	}
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	all, named := rights.Right{Resource: "secrets", Verb: "get"}, rights.Right{Resource: "secrets", Verb: "get", Name: "db"}
	here, other := rights.Right{Resource: "pods", Verb: "get", Namespace: "a"}, rights.Right{Resource: "pods", Verb: "list"}
	if diff := cmp.Diff([]rights.Right{named}, rights.Repeated([]rights.Right{all, named, here, other})); diff != "" {
		t.Errorf("Repeated() (-want +got):\n%s", diff)
	}
}
