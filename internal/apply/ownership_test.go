// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// liveObject parses an object of a test case.
func liveObject(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: object(t, text)}
}

func newTestApplier() *Applier { return New(nil, Options{}) }

func TestOptedOut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		annotations string
		want        bool
	}{
		"absent":           {"{}", false},
		"false":            {`{"opendatahub.io/managed":"false"}`, true},
		"true":             {`{"opendatahub.io/managed":"true"}`, false},
		"upper case":       {`{"opendatahub.io/managed":"FALSE"}`, false},
		"another spelling": {`{"opendatahub.io/managed":"0"}`, false},
		"empty":            {`{"opendatahub.io/managed":""}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := liveObject(t, `{"metadata":{"annotations":`+tc.annotations+`}}`)
			if got := optedOut(live); got != tc.want {
				t.Errorf("optedOut = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestOurs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		metadata string
		want     bool
	}{
		"our label":                       {`{"labels":{"app.kubernetes.io/managed-by":"maas-controller"}}`, true},
		"nothing":                         {`{}`, false},
		"the label of an earlier release": {`{"labels":{"app.kubernetes.io/managed-by":"maas-external-model-reconciler"}}`, true},
		"another's label":                 {`{"labels":{"app.kubernetes.io/managed-by":"Helm"}}`, false},
		"no label but our apply entry":    {`{"managedFields":[{"manager":"maas-controller","operation":"Apply","fieldsV1":{}}]}`, true},
		"an Update under our name":        {`{"managedFields":[{"manager":"maas-controller","operation":"Update","fieldsV1":{}}]}`, false},
		"our entry for a sub-resource":    {`{"managedFields":[{"manager":"maas-controller","operation":"Apply","subresource":"status"}]}`, false},
		"an apply entry of someone else":  {`{"managedFields":[{"manager":"kubectl","operation":"Apply","fieldsV1":{}}]}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := newTestApplier().ours(liveObject(t, `{"metadata":`+tc.metadata+`}`)); got != tc.want {
				t.Errorf("ours = %t, want %t", got, tc.want)
			}
		})
	}
}

const ownSpec = `{"manager":"maas-controller","operation":"Apply","fieldsV1":{"f:spec":{"f:a":{}}}}`

func TestShared(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entries string
		want    bool
	}{
		"only our apply entry":              {ownSpec, false},
		"another Update manager":            {ownSpec + `,{"manager":"kubectl-edit","operation":"Update","fieldsV1":{"f:spec":{"f:b":{}}}}`, true},
		"another Apply manager":             {ownSpec + `,{"manager":"argo","operation":"Apply","fieldsV1":{"f:spec":{}}}`, true},
		"an Update manager with our name":   {ownSpec + `,{"manager":"maas-controller","operation":"Update","fieldsV1":{"f:spec":{"f:a":{}}}}`, true},
		"another manager of metadata":       {ownSpec + `,{"manager":"kubectl-label","operation":"Update","fieldsV1":{"f:metadata":{}}}`, false},
		"another manager of the status":     {ownSpec + `,{"manager":"kuadrant","operation":"Update","subresource":"status","fieldsV1":{"f:spec":{}}}`, false},
		"another field that merely matches": {ownSpec + `,{"manager":"x","operation":"Update","fieldsV1":{"f:specification":{}}}`, false},
		"no entries":                        {"", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := liveObject(t, `{"metadata":{"managedFields":[`+tc.entries+`]}}`)
			if got := newTestApplier().shared(live, []string{"spec"}); got != tc.want {
				t.Errorf("shared = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entries, want string
	}{
		"an entry that owned only protected fields disappears": {
			entries: ownSpec + `,{"manager":"kubectl-edit","operation":"Update","fieldsV1":{"f:spec":{"f:b":{}}}}`,
			want:    ownSpec,
		},
		"what an entry owns elsewhere stays": {
			entries: ownSpec + `,{"manager":"argo","operation":"Apply","fieldsV1":{"f:metadata":{"f:labels":{"f:x":{}}},"f:spec":{"f:b":{}}}}`,
			want:    ownSpec + `,{"manager":"argo","operation":"Apply","fieldsV1":{"f:metadata":{"f:labels":{"f:x":{}}}}}`,
		},
		"entries of sub-resources stay": {
			entries: `{"manager":"k","operation":"Update","subresource":"status","fieldsV1":{"f:status":{}}},` + ownSpec,
			want:    `{"manager":"k","operation":"Update","subresource":"status","fieldsV1":{"f:status":{}}},` + ownSpec,
		},
		"an Update entry with our name is not our apply entry": {
			entries: ownSpec + `,{"manager":"maas-controller","operation":"Update","fieldsV1":{"f:spec":{"f:a":{}}}}`,
			want:    ownSpec,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := liveObject(t, `{"metadata":{"managedFields":[`+tc.entries+`]}}`)
			newTestApplier().claim(live, []string{"spec"})
			want := object(t, `{"metadata":{"managedFields":[`+tc.want+`]}}`)
			if diff := cmp.Diff(want, live.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInherit(t *testing.T) {
	t.Parallel()
	const status = `{"manager":"manager","operation":"Update","subresource":"status","fieldsV1":{"f:status":{"f:x":{}}}}`
	tests := map[string]struct {
		entries, want string // want is empty when nothing is inherited
	}{
		"a former manager's fields join ours": {
			entries: `{"manager":"maas-controller","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:spec":{"f:a":{}}}},` +
				`{"manager":"manager","operation":"Update","apiVersion":"v1","fieldsV1":{"f:spec":{".":{},"f:b":{}},"f:data":{}}}`,
			want: `{"manager":"maas-controller","operation":"Apply","apiVersion":"v1",
				"fieldsV1":{"f:spec":{".":{},"f:a":{},"f:b":{}},"f:data":{}}}`,
		},
		"our entry is made when there is none": {
			entries: `{"manager":"maas-controller","operation":"Update","apiVersion":"v1","fieldsV1":{"f:spec":{"f:b":{}}}}`,
			want: `{"manager":"maas-controller","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
				"fieldsV1":{"f:spec":{"f:b":{}}}}`,
		},
		"metadata and status stay with the former manager": {
			entries: `{"manager":"manager","operation":"Update","apiVersion":"v1","time":"t",
				"fieldsV1":{"f:spec":{"f:b":{}},"f:metadata":{"f:labels":{}},"f:status":{}}},` + status,
			want: status + `,{"manager":"maas-controller","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
				"fieldsV1":{"f:spec":{"f:b":{}}}},
				{"manager":"manager","operation":"Update","apiVersion":"v1","time":"t","fieldsV1":{"f:metadata":{"f:labels":{}},"f:status":{}}}`,
		},
		"an entry of another API version stays": {
			entries: `{"manager":"manager","operation":"Update","apiVersion":"v1beta1","fieldsV1":{"f:spec":{"f:b":{}}}}`,
			want: `{"manager":"maas-controller","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}},
				{"manager":"manager","operation":"Update","apiVersion":"v1beta1","fieldsV1":{"f:spec":{"f:b":{}}}}`,
		},
		"other managers are no predecessors": {
			entries: `{"manager":"kubectl-edit","operation":"Update","apiVersion":"v1","fieldsV1":{"f:spec":{"f:b":{}}}},
				{"manager":"manager","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:spec":{"f:b":{}}}},` + status,
		},
		"a former manager that owns only metadata has nothing to leave": {
			entries: `{"manager":"manager","operation":"Update","apiVersion":"v1","fieldsV1":{"f:metadata":{"f:labels":{}}}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := New(nil, Options{FormerManagers: []string{"manager"}})
			live := liveObject(t, `{"apiVersion":"v1","metadata":{"managedFields":[`+tc.entries+`]}}`)
			if got := a.inherit(live, a.isFormer); got != (tc.want != "") {
				t.Fatalf("inherit = %t", got)
			}
			want := tc.want
			if want == "" {
				want = tc.entries
			}
			if diff := cmp.Diff(object(t, `{"apiVersion":"v1","metadata":{"managedFields":[`+want+`]}}`), live.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProtectedFields(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		object string
		want   []string
	}{
		"AuthPolicy":               {`{"apiVersion":"kuadrant.io/v1","kind":"AuthPolicy"}`, []string{"spec"}},
		"TokenRateLimitPolicy":     {`{"apiVersion":"kuadrant.io/v1alpha1","kind":"TokenRateLimitPolicy"}`, []string{"spec"}},
		"HTTPRoute in any version": {`{"apiVersion":"gateway.networking.k8s.io/v1beta1","kind":"HTTPRoute"}`, []string{"spec"}},
		"NetworkPolicy":            {`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy"}`, []string{"spec"}},
		"Role":                     {`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role"}`, []string{"rules"}},
		"ClusterRole":              {`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole"}`, []string{"aggregationRule", "rules"}},
		"aggregated ClusterRole":   {`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","aggregationRule":{}}`, []string{"aggregationRule"}},
		"RoleBinding":              {`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding"}`, []string{"roleRef", "subjects"}},
		"ClusterRoleBinding":       {`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding"}`, []string{"roleRef", "subjects"}},
		"Deployment":               {`{"apiVersion":"apps/v1","kind":"Deployment"}`, nil},
		"Role of another group":    {`{"apiVersion":"example.com/v1","kind":"Role"}`, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, protectedFields(liveObject(t, tc.object))); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyExtra(t *testing.T) {
	t.Parallel()
	extra, changed := Difference{Reason: Extra}, Difference{Reason: Changed}
	tests := map[string]struct {
		comparison comparison
		want       bool
	}{
		"nothing differs":                 {comparison{}, false},
		"additions in a protected field":  {comparison{protected: []Difference{extra, extra}}, true},
		"a change in a protected field":   {comparison{protected: []Difference{extra, changed}}, false},
		"additions and a metadata change": {comparison{protected: []Difference{extra}, owned: []Difference{extra}}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.comparison.onlyExtra(); got != tc.want {
				t.Errorf("onlyExtra = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestConflictErrorNamesTheRemedy(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  ConflictError
		want []string
	}{
		"unmarked": {
			ConflictError{
				GVK: schema.GroupVersionKind{Kind: "AuthPolicy"}, Key: types.NamespacedName{Namespace: "llm", Name: "maas-auth-x"},
				Label: v1alpha1.LabelManagedBy, Value: v1alpha1.ManagedByValue,
			},
			[]string{"AuthPolicy llm/maas-auth-x", "not managed by maas-controller", "delete or rename", "app.kubernetes.io/managed-by=maas-controller"},
		},
		"managed by somebody else, cluster-scoped": {
			ConflictError{
				GVK: schema.GroupVersionKind{Kind: "ClusterRole"}, Key: types.NamespacedName{Name: "r"},
				Label: v1alpha1.LabelManagedBy, Value: v1alpha1.ManagedByValue, Found: "Helm",
			},
			[]string{"ClusterRole r already", `managed by "Helm"`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			message := tc.err.Error()
			for _, part := range tc.want {
				if !strings.Contains(message, part) {
					t.Errorf("message %q lacks %q", message, part)
				}
			}
			if _, ok := errors.AsType[*ConflictError](fmt.Errorf("wrapped: %w", &tc.err)); !ok {
				t.Error("errors.AsType does not find the error")
			}
		})
	}
}
