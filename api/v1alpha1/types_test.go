// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// objects returns an empty object of every kind.
func objects(t *testing.T) map[string]runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	all := map[string]runtime.Object{}
	for _, kind := range []string{
		KindMaaSModelRef, KindMaaSAuthPolicy, KindMaaSSubscription, KindExternalModel,
		KindAITenant, KindMaasTenantConfig, KindTenant, KindConfig,
	} {
		object, err := scheme.New(GroupVersion.WithKind(kind))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scheme.New(GroupVersion.WithKind(kind + "List")); err != nil {
			t.Error(err)
		}
		all[kind] = object
	}
	return all
}

// An object stored without a spec must not get an empty one, which the API server
// would refuse, when a program writes the object back.
func TestEmptySpecAndStatusAreNotWritten(t *testing.T) {
	t.Parallel()
	for kind, object := range objects(t) {
		content, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if string(content) != "{}" {
			t.Errorf("%s as JSON: want {}, got %s", kind, content)
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{}, fields); diff != "" {
			t.Errorf("%s as unstructured (-want +got):\n%s", kind, diff)
		}
	}
}

func TestEveryStatusHasGenerationAndConditions(t *testing.T) {
	t.Parallel()
	for kind, object := range objects(t) {
		status := reflect.ValueOf(object).Elem().FieldByName("Status")
		for _, field := range []string{"ObservedGeneration", "Conditions"} {
			if !status.FieldByName(field).IsValid() {
				t.Errorf("the status of %s has no %s", kind, field)
			}
		}
	}
}

// Programs must survive what a later or earlier release stored.
func TestUnknownFieldsAndReasonsAreTolerated(t *testing.T) {
	t.Parallel()
	stored := `{"spec":{"owner":{},"modelRefs":[{"name":"a","namespace":"b","tokenRateLimits":[]}],"future":1},
		"status":{"phase":"Future","modelRefStatuses":[{"name":"a","namespace":"b","ready":true,"reason":"Future","more":{}}]}}`
	var got MaaSSubscription
	if err := json.Unmarshal([]byte(stored), &got); err != nil {
		t.Fatal(err)
	}
	want := MaaSSubscription{
		Spec: MaaSSubscriptionSpec{ModelRefs: []ModelSubscription{{Name: "a", Namespace: "b", TokenRateLimits: []TokenRateLimit{}}}},
		Status: MaaSSubscriptionStatus{
			Phase:            "Future",
			ModelRefStatuses: []ModelRefStatus{{ResourceRefStatus{Name: "a", Namespace: "b", Ready: true, Reason: "Future"}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}
