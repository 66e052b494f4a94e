// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/opendatahub-io/maas-operator/hack/gateway/filter"
)

func TestConfigurationThatComesAndGoes(t *testing.T) {
	t.Parallel()
	envoyFilter, limitador := generatedObjects(t)
	s := engineStage(t)
	passes := func(want string) {
		t.Helper()
		got := s.call(t, http.MethodPost, chat, http.Header{"X-Request-Id": {want}})
		if d := s.decision(t, want); got.status != http.StatusOK || d.Outcome != filter.OutcomeUnconfigured || d.Status != 0 {
			t.Fatalf("status %d (%s), %+v", got.status, got.text, d)
		}
	}
	passes("before")
	filters, limits := s.objects.Resource(filterResource).Namespace("openshift-ingress"), s.objects.Resource(limiterResource).Namespace("kuadrant-system")
	// Of another gateway, and of another namespace.
	other := envoyFilter.DeepCopy()
	other.SetName("kuadrant-other")
	create(t, filters, other)
	create(t, filters, envoyFilter)
	create(t, limits, limitador)
	s.until(t, "the configuration is there", func(now state) bool { return now.ActionSets == 4 && now.Limits == 4 })
	if got := s.call(t, http.MethodPost, chat, authorization("no")); got.status != http.StatusForbidden {
		t.Errorf("status %d with the configuration", got.status)
	}
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusOK {
		t.Errorf("status %d with the configuration", got.status)
	}

	changed := limitador.DeepCopy()
	changed.SetResourceVersion("2")
	list, _, err := unstructured.NestedSlice(changed.Object, "spec", "limits")
	if err != nil {
		t.Fatal(err)
	}
	list[3].(map[string]any)["max_value"] = int64(60)
	if err := unstructured.SetNestedSlice(changed.Object, list, "spec", "limits"); err != nil {
		t.Fatal(err)
	}
	if _, err := limits.Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, "the limit is changed", func(now state) bool { return now.Limitador == "2" })
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusTooManyRequests {
		t.Errorf("status %d with a limit of what has been used", got.status)
	}

	if err := limits.Delete(t.Context(), "limitador", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, "the limits are gone", func(now state) bool { return now.Limits == 0 })
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusOK {
		t.Errorf("status %d without limits", got.status)
	}
	if err := filters.Delete(t.Context(), envoyFilter.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, "the configuration is gone", func(now state) bool { return now.EnvoyFilter == "" })
	passes("after")
}

func create(t *testing.T, in dynamic.ResourceInterface, o *unstructured.Unstructured) {
	t.Helper()
	if _, err := in.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestConfigurationThatCannotBeExecuted(t *testing.T) {
	t.Parallel()
	change := func(t *testing.T, o *unstructured.Unstructured, edit func(map[string]any), list ...string) {
		t.Helper()
		all, _, err := unstructured.NestedSlice(o.Object, list...)
		if err != nil {
			t.Fatal(err)
		}
		edit(all[0].(map[string]any))
		if err := unstructured.SetNestedSlice(o.Object, all, list...); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		patch, limit func(map[string]any)
		want         string
	}{
		"an unknown function": {patch: func(p map[string]any) {
			text, _, _ := unstructured.NestedString(p, configurationPath...)
			_ = unstructured.SetNestedField(p, strings.ReplaceAll(text, "endsWith", "endswith"), configurationPath...)
		}, want: "endswith"},
		"no text":              {patch: func(p map[string]any) { unstructured.RemoveNestedField(p, configurationPath...) }, want: "no configuration"},
		"an unknown limit":     {limit: func(l map[string]any) { l["burst"] = "1" }, want: "burst"},
		"a limit that is none": {limit: func(l map[string]any) { l["conditions"] = []any{"auth.identity"} }, want: "undeclared reference"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			envoyFilter, limitador := generatedObjects(t)
			if tc.patch != nil {
				change(t, envoyFilter, tc.patch, "spec", "configPatches")
			} else {
				change(t, limitador, tc.limit, "spec", "limits")
			}
			s := engineStage(t, envoyFilter, limitador)
			got := s.call(t, http.MethodPost, chat, http.Header{"Authorization": {"Bearer alice/" + unlimited}, "X-Request-Id": {"r"}})
			if got.status != http.StatusInternalServerError || !strings.Contains(got.text, tc.want) || !strings.Contains(s.state(t).Error, tc.want) {
				t.Errorf("status %d (%s), state %+v", got.status, got.text, s.state(t))
			}
			if d := s.decision(t, "r"); d.Outcome != filter.OutcomeMisconfigured || d.Status != got.status || !strings.Contains(d.Error, tc.want) {
				t.Errorf("decision %+v", d)
			}
		})
	}
}
