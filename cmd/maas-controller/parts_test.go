// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

func TestTheLogIsJSONAndFiltered(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		level string
		want  []string
	}{
		"errors only":                {"error", []string{"broken"}},
		"the default":                {"info", []string{"broken", "zero"}},
		"by verbosity":               {"2", []string{"broken", "zero", "two"}},
		"everything for a developer": {"debug", []string{"broken", "zero", "two", "four"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := DefaultConfig()
			c.LogLevel = tc.level
			var out bytes.Buffer
			log, err := newLogger(c, &out)
			if err != nil {
				t.Fatal(err)
			}
			log.Error(errors.New("cause"), "broken")
			log.Info("zero")
			log.V(2).Info("two")
			log.V(4).Info("four")
			var got []string
			for line := range strings.Lines(out.String()) {
				var entry struct{ Msg string }
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				got = append(got, entry.Msg)
			}
			if strings.Join(got, " ") != strings.Join(tc.want, " ") {
				t.Errorf("logged %v, want %v", got, tc.want)
			}
		})
	}
}

func TestTheLogCanBeText(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	c.LogFormat = "text"
	var out bytes.Buffer
	log, err := newLogger(c, &out)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("hello", "key", "value")
	if !strings.Contains(out.String(), "msg=hello key=value") {
		t.Errorf("logged %q", out.String())
	}
}

func TestReadyOnlyAfterTheCachesAreFilled(t *testing.T) {
	t.Parallel()
	filled := make(chan struct{})
	s := &syncer{wait: func(ctx context.Context) bool {
		select {
		case <-filled:
			return true
		case <-ctx.Done():
			return false
		}
	}}
	if s.NeedLeaderElection() {
		t.Error("a replica without the lease is never ready")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Start(stopped); err != nil || s.check(nil) == nil {
		t.Errorf("ready although the caches were never filled, err = %v", err)
	}
	close(filled)
	if err := s.Start(t.Context()); err != nil || s.check(nil) != nil {
		t.Errorf("not ready although the caches are filled: %v, %v", err, s.check(nil))
	}
}

func TestReadyOnlyOnceTheMetricsAreServed(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	c := DefaultConfig()
	c.MetricsSecure = false
	start := func(ctx context.Context, address string) (*listening, chan error) {
		t.Helper()
		c.MetricsBindAddress = address
		served, ended := &listening{}, make(chan error, 1)
		server, err := metricsserver.NewServer(metricsOptions(c, newTLSParameters(), served), &rest.Config{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if served.check(nil) == nil {
			t.Error("ready before the server is started")
		}
		go func() { ended <- server.Start(ctx) }()
		return served, ended
	}
	served, ended := start(t.Context(), taken.Addr().String())
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "address already in use") || served.check(nil) == nil {
		t.Errorf("the server ended with %v, readiness %v", err, served.check(nil))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served, ended = start(ctx, "127.0.0.1:0")
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for served.check(nil) != nil {
		select {
		case err := <-ended:
			t.Fatalf("the server ended with %v", err)
		case <-tick.C:
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestSlim(t *testing.T) {
	t.Parallel()
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	service := kserve.New(kserve.GroupKind.WithVersion("v1alpha1"))
	service.Object["spec"] = map[string]any{"template": map[string]any{}, "router": map[string]any{}}
	policy := kuadrant.New(kuadrant.AuthPolicy)
	for name, tc := range map[string]struct {
		object   client.Object
		wantKept bool
	}{
		"a model":                             {&v1alpha1.MaaSModelRef{}, false},
		"metadata only":                       {&metav1.PartialObjectMetadata{}, false},
		"a service of any version":            {service, false},
		"a policy that the apply engine owns": {policy, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.object.SetManagedFields(managed)
			got, err := newSlimmer().slim(tc.object)
			if err != nil {
				t.Fatal(err)
			}
			if kept := len(got.(client.Object).GetManagedFields()) > 0; kept != tc.wantKept {
				t.Errorf("managedFields kept = %v, want %v", kept, tc.wantKept)
			}
			if u, ok := got.(*unstructured.Unstructured); ok && u.GetKind() == kserve.GroupKind.Kind {
				if _, found, _ := unstructured.NestedMap(u.Object, "spec", "template"); found {
					t.Error("the pod template is kept")
				}
			}
		})
	}
}

func TestOnlyWhatOthersWroteIsKeptWithoutItsContent(t *testing.T) {
	t.Parallel()
	applied := metav1.ManagedFieldsEntry{Manager: v1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}
	for name, tc := range map[string]struct {
		labels   map[string]string
		managed  []metav1.ManagedFieldsEntry
		wantKept bool
	}{
		"ours":                       {map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}, nil, true},
		"ours that lost its label":   {nil, []metav1.ManagedFieldsEntry{applied}, true},
		"what a person has written":  {nil, []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply}}, false},
		"what says nothing about it": {map[string]string{"app": "x"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"host": "h"}}}
			rule.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "DestinationRule"})
			rule.SetLabels(tc.labels)
			rule.SetManagedFields(tc.managed)
			if _, err := newSlimmer().slim(rule); err != nil {
				t.Fatal(err)
			}
			if _, kept := rule.Object["spec"]; kept != tc.wantKept {
				t.Errorf("content kept = %v, want %v", kept, tc.wantKept)
			}
		})
	}
}

func TestPoliciesShareTheirTexts(t *testing.T) {
	t.Parallel()
	s := newSlimmer()
	text := func(of string) *byte {
		policy := kuadrant.New(kuadrant.AuthPolicy)
		policy.Object["spec"] = map[string]any{"rules": []any{map[string]any{"predicate": strings.Clone(of)}}}
		if _, err := s.slim(policy); err != nil {
			t.Fatal(err)
		}
		rules, _, err := unstructured.NestedSlice(policy.Object, "spec", "rules")
		if err != nil {
			t.Fatal(err)
		}
		predicate := rules[0].(map[string]any)["predicate"].(string)
		if predicate != of {
			t.Errorf("the predicate became %q, want %q", predicate, of)
		}
		return unsafe.StringData(predicate) //nolint:gosec // Compared, never followed.
	}
	first := text("request.path == '/a'")
	if again := text("request.path == '/a'"); again != first {
		t.Error("two equal texts are kept twice")
	}
	if other := text("request.path == '/b'"); other == first {
		t.Error("two different texts became one")
	}
}

func TestSlimmingAgainWritesToNothingThatOthersRead(t *testing.T) {
	t.Parallel()
	s := newSlimmer()
	made := func() *unstructured.Unstructured {
		policy := kuadrant.New(kuadrant.AuthPolicy)
		policy.SetLabels(map[string]string{"app": "x"})
		policy.Object["spec"] = map[string]any{"rules": []any{map[string]any{"predicate": "true"}}}
		policy.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: v1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:rules":{}}}`),
		}})
		if _, err := s.slim(policy); err != nil {
			t.Fatal(err)
		}
		return policy
	}
	handled, listed := made(), made()
	var group sync.WaitGroup
	group.Go(func() {
		_ = fmt.Sprint(handled.Object) // The race detector watches.
	})
	group.Go(func() {
		if _, err := s.slim(listed); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	if diff := cmp.Diff(handled.Object, listed.Object); diff != "" {
		t.Errorf("slimmed twice (-once +twice):\n%s", diff)
	}
}

func TestTheTableOfControllers(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range controllers() {
		if row.name == "" || row.setUp == nil || seen[row.name] {
			t.Errorf("row %q", row.name)
		}
		seen[row.name] = true
	}
	if last := controllers()[len(controllers())-1].name; last != "optional-apis" {
		t.Errorf("the last row is %s", last)
	}
}

func TestSecretsAreNeverCached(t *testing.T) {
	t.Parallel()
	options := clientOptions()
	if !options.Cache.Unstructured {
		t.Error("unstructured objects are read from the API server each time")
	}
	found := false
	for _, object := range options.Cache.DisableFor {
		found = found || strings.Contains(strings.ToLower(kindOf(t, object)), "secret")
	}
	if !found {
		t.Error("Secrets are kept in memory")
	}
}

func kindOf(t *testing.T, object client.Object) string {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	kinds, _, err := scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	return kinds[0].Kind
}
