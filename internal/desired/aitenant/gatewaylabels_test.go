// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
)

func gatewayKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "gateways", Name: name}
}

// infra is the namespace of maas-api with labels and with the annotation as it is
// stored.
func infra(owners string, labels ...string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "infra", Labels: map[string]string{"other": "kept"}}}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		ns.Labels[key] = value
	}
	if owners != "" {
		ns.Annotations = map[string]string{v1alpha1.AnnotationGatewaySelectorLabels: owners}
	}
	return ns
}

// E-73 to E-82, W-35.
func TestLabelForGateway(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before *corev1.Namespace
		wanted map[string]string
		want   *corev1.Namespace // Nil: refused.
		// wantText are what the message of a refusal contains.
		wantText []string
	}{
		"nothing is asked for":                      {before: infra(""), want: infra("")},
		"a label is asked for":                      {before: infra(""), wanted: map[string]string{"zone": "a"}, want: infra(`{"zone":["gateways/b"]}`, "zone=a")},
		"an administrator has set it":               {before: infra("", "zone=a"), wanted: map[string]string{"zone": "a"}, want: infra("", "zone=a")},
		"an administrator has set another value":    {before: infra("", "zone=z"), wanted: map[string]string{"zone": "a"}, wantText: []string{"gateways/b", "zone=a", "by hand"}},
		"it is there already":                       {before: infra(`{"zone":["gateways/b"]}`, "zone=a"), wanted: map[string]string{"zone": "a"}, want: infra(`{"zone":["gateways/b"]}`, "zone=a")},
		"somebody took it off":                      {before: infra(`{"zone":["gateways/b"]}`), wanted: map[string]string{"zone": "a"}, want: infra(`{"zone":["gateways/b"]}`, "zone=a")},
		"another Gateway has it too":                {before: infra(`{"zone":["gateways/a"]}`, "zone=a"), wanted: map[string]string{"zone": "a"}, want: infra(`{"zone":["gateways/a","gateways/b"]}`, "zone=a")},
		"another Gateway needs another value":       {before: infra(`{"zone":["gateways/a"]}`, "zone=z"), wanted: map[string]string{"zone": "a"}, wantText: []string{"gateways/a", "gateways/b"}},
		"the only owner changes the value":          {before: infra(`{"zone":["gateways/b"]}`, "zone=z"), wanted: map[string]string{"zone": "a"}, want: infra(`{"zone":["gateways/b"]}`, "zone=a")},
		"one of two owners changes the value":       {before: infra(`{"zone":["gateways/a","gateways/b"]}`, "zone=z"), wanted: map[string]string{"zone": "a"}, wantText: []string{"gateways/a", "gateways/b"}},
		"a label is no longer asked for":            {before: infra(`{"zone":["gateways/b"]}`, "zone=a"), want: infra("")},
		"one of two owners no longer asks":          {before: infra(`{"zone":["gateways/a","gateways/b"]}`, "zone=a"), want: infra(`{"zone":["gateways/a"]}`, "zone=a")},
		"an earlier release wrote bare names":       {before: infra(`{"zone":["b"]}`, "zone=z"), wanted: map[string]string{"zone": "a"}, want: infra(`{"zone":["gateways/b"]}`, "zone=a")},
		"the annotation cannot be read":             {before: infra(`zone`, "zone=a"), wanted: map[string]string{"zone": "a"}, wantText: []string{v1alpha1.AnnotationGatewaySelectorLabels, "infra"}},
		"a label that Kubernetes is configured by":  {before: infra(""), wanted: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}, wantText: []string{"pod-security.kubernetes.io/enforce", "by hand"}},
		"the name of the namespace":                 {before: infra("", "kubernetes.io/metadata.name=infra"), wanted: map[string]string{"kubernetes.io/metadata.name": "infra"}, want: infra("", "kubernetes.io/metadata.name=infra")},
		"a refusal leaves everything as it was":     {before: infra(`{"old":["gateways/b"]}`, "old=o", "zone=z"), wanted: map[string]string{"new": "n", "zone": "a"}, wantText: []string{"zone=a"}},
		"a label is given up while another is kept": {before: infra(`{"old":["gateways/b"],"zone":["gateways/b"]}`, "old=o", "zone=a"), wanted: map[string]string{"zone": "a"}, want: infra(`{"zone":["gateways/b"]}`, "zone=a")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tt.before.DeepCopy()
			err := aitenant.LabelForGateway(got, gatewayKey("b"), tt.wanted)
			want := tt.want
			if want == nil {
				want = tt.before
				user, ok := apperr.AsUser(err)
				if !ok || user.Reason != string(v1alpha1.ReasonInfraNamespaceLabelFailed) {
					t.Fatalf("LabelForGateway() = %v, want a refusal", err)
				}
				for _, text := range tt.wantText {
					if !strings.Contains(user.Message, text) {
						t.Errorf("message %q lacks %q", user.Message, text)
					}
				}
			} else if err != nil {
				t.Fatalf("LabelForGateway() = %v", err)
			}
			if diff := cmp.Diff(want.ObjectMeta, got.ObjectMeta, emptyIsNone()); diff != "" {
				t.Errorf("namespace (-want +got):\n%s", diff)
			}
		})
	}
}

func emptyIsNone() cmp.Option {
	return cmp.FilterValues(func(a, b map[string]string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}

// E-79.
func TestUnlabelForGateway(t *testing.T) {
	t.Parallel()
	ns := infra(`{"shared":["gateways/a","gateways/b"],"own":["a"]}`, "shared=s", "own=o")
	if err := aitenant.UnlabelForGateway(ns, gatewayKey("a")); err != nil {
		t.Fatalf("UnlabelForGateway() = %v", err)
	}
	if diff := cmp.Diff(infra(`{"shared":["gateways/b"]}`, "shared=s").ObjectMeta, ns.ObjectMeta); diff != "" {
		t.Errorf("namespace (-want +got):\n%s", diff)
	}
	unreadable := infra("{", "own=o")
	if _, ok := apperr.AsUser(aitenant.UnlabelForGateway(unreadable, gatewayKey("a"))); !ok || unreadable.Labels["own"] != "o" {
		t.Error("an annotation that cannot be read has to be left to people")
	}
}

// Whatever Gateways ask for, in whatever order: labels of others stay, and when all
// Gateways are released nothing is left of theirs.
func TestLabelsOfGatewaysLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := infra("", "zone=a")
		ns := before.DeepCopy()
		label := rapid.SampledFrom([]string{"zone", "team", "tier"})
		value := rapid.SampledFrom([]string{"a", "b"})
		gateways := []string{"a", "b", "c"}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			gateway := gatewayKey(rapid.SampledFrom(gateways).Draw(t, "gateway"))
			wanted := rapid.MapOfN(label, value, 0, 3).Draw(t, "wanted")
			held := maps.Clone(ns.Labels)
			if err := aitenant.LabelForGateway(ns, gateway, wanted); err != nil {
				if !maps.Equal(held, ns.Labels) {
					t.Fatalf("a refusal changed the labels from %v to %v", held, ns.Labels)
				}
				continue
			}
			for key, want := range wanted {
				if ns.Labels[key] != want {
					t.Fatalf("label %s is %q, want %q", key, ns.Labels[key], want)
				}
			}
			if ns.Labels["zone"] != "a" || ns.Labels["other"] != "kept" {
				t.Fatalf("labels of others were changed: %v", ns.Labels)
			}
		}
		for _, gateway := range gateways {
			if err := aitenant.UnlabelForGateway(ns, gatewayKey(gateway)); err != nil {
				t.Fatalf("UnlabelForGateway() = %v", err)
			}
		}
		if diff := cmp.Diff(before.ObjectMeta, ns.ObjectMeta, emptyIsNone()); diff != "" {
			t.Fatalf("what is left (-before +after):\n%s", diff)
		}
	})
}

func TestSelectorLabels(t *testing.T) {
	t.Parallel()
	listener := func(from gwapiv1.FromNamespaces, labels map[string]string) gwapiv1.Listener {
		return gwapiv1.Listener{AllowedRoutes: &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{
			From: &from, Selector: &metav1.LabelSelector{
				MatchLabels:      labels,
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "any", Operator: metav1.LabelSelectorOpExists}},
			},
		}}}
	}
	selecting := func(labels map[string]string) gwapiv1.Listener {
		return listener(gwapiv1.NamespacesFromSelector, labels)
	}
	tests := map[string]struct {
		listeners []gwapiv1.Listener
		want      map[string]string // Nil: refused.
	}{
		"no listeners":                          {want: map[string]string{}},
		"no restriction":                        {listeners: []gwapiv1.Listener{{}, {AllowedRoutes: &gwapiv1.AllowedRoutes{}}, {AllowedRoutes: &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{}}}}, want: map[string]string{}},
		"a selector that does not count":        {listeners: []gwapiv1.Listener{listener(gwapiv1.NamespacesFromAll, map[string]string{"zone": "a"})}, want: map[string]string{}},
		"the labels of all listeners":           {listeners: []gwapiv1.Listener{selecting(map[string]string{"zone": "a"}), selecting(map[string]string{"zone": "a", "team": "b"})}, want: map[string]string{"zone": "a", "team": "b"}},
		"listeners that contradict one another": {listeners: []gwapiv1.Listener{selecting(map[string]string{"zone": "a"}), selecting(map[string]string{"zone": "b"})}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := aitenant.SelectorLabels(&gwapiv1.Gateway{Spec: gwapiv1.GatewaySpec{Listeners: tt.listeners}})
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("SelectorLabels() = %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}
