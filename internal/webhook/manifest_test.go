// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"
)

// shipped reads what config/webhook registers.
func shipped(t *testing.T) admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	text, err := os.ReadFile("../../config/webhook/webhooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// registration is what may not change between releases.
type registration struct {
	Path       string
	Resource   string
	Operations []admissionregistrationv1.OperationType
}

func TestTheNamesOfTheContract(t *testing.T) {
	t.Parallel()
	c := shipped(t)
	if c.Name != "maas-validating-webhook-configuration" || c.Annotations["service.beta.openshift.io/inject-cabundle"] != "true" {
		t.Errorf("configuration %s with annotations %v", c.Name, c.Annotations)
	}
	create, update := admissionregistrationv1.Create, admissionregistrationv1.Update
	want := map[string]registration{
		"vmaassubscription.kb.io": {SubscriptionPath, "maassubscriptions", []admissionregistrationv1.OperationType{create}},
		"vmaasauthpolicy.kb.io":   {AuthPolicyPath, "maasauthpolicies", []admissionregistrationv1.OperationType{create}},
		"vmaasmodelref.kb.io":     {ModelRefPath, "maasmodelrefs", []admissionregistrationv1.OperationType{create, update}},
		"vaitenant.kb.io":         {AITenantPath, "aitenants", []admissionregistrationv1.OperationType{create, update}},
	}
	got := map[string]registration{}
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		if len(w.Rules) != 1 || len(w.Rules[0].Resources) != 1 || w.ClientConfig.Service == nil {
			t.Fatalf("%s: rules %v", w.Name, w.Rules)
		}
		got[w.Name] = registration{*w.ClientConfig.Service.Path, w.Rules[0].Resources[0], w.Rules[0].Operations}
		if s := w.ClientConfig.Service; s.Name != "maas-controller-webhook-service" || s.Namespace != "opendatahub" {
			t.Errorf("%s: Service %s/%s", w.Name, s.Namespace, s.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheAPIServerWaitsForOurAnswerAndFailsClosed(t *testing.T) {
	t.Parallel()
	c := shipped(t)
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		if patience := time.Duration(*w.TimeoutSeconds) * time.Second; patience <= answerTimeout || patience > 10*time.Second {
			t.Errorf("%s: the API server waits %s for an answer that takes up to %s", w.Name, patience, answerTimeout)
		}
		if *w.FailurePolicy != admissionregistrationv1.Fail || *w.SideEffects != admissionregistrationv1.SideEffectClassNone ||
			*w.MatchPolicy != admissionregistrationv1.Equivalent {
			t.Errorf("%s: %s, %s, %s", w.Name, *w.FailurePolicy, *w.SideEffects, *w.MatchPolicy)
		}
	}
	if cacheTimeout >= answerTimeout {
		t.Errorf("the wait for the cache, %s, leaves no time to ask the API server", cacheTimeout)
	}
}

func TestEveryRegisteredPathIsServed(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	Register(webhook.NewServer(webhook.Options{WebhookMux: mux}), both(t))
	c := shipped(t)
	for i := range c.Webhooks {
		path := *c.Webhooks[i].ClientConfig.Service.Path
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if _, pattern := mux.Handler(req); pattern != path {
			t.Errorf("nothing serves %s", path)
		}
	}
}
