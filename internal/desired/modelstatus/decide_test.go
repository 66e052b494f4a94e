// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelstatus_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
	"github.com/opendatahub-io/maas-operator/internal/desired/modelstatus"
)

var gateway = types.NamespacedName{Namespace: "openshift-ingress", Name: "maas-default-gateway"}

func served() endpoint.Route {
	return endpoint.Route{
		Object:     &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "granite-route"}},
		Attached:   true,
		Gateway:    gateway,
		Acceptance: endpoint.Acceptance{State: metav1.ConditionTrue},
	}
}

// facts is a model that lacks nothing.
func facts(mutate ...func(*modelstatus.Facts)) modelstatus.Facts {
	f := modelstatus.Facts{
		Generation: 3,
		Namespace:  "llm",
		Tenant:     modelstatus.Tenant{Gateway: gateway},
		Backend:    modelstatus.Backend{Kind: v1alpha1.BackendLLMInferenceService, Name: "granite", State: modelstatus.BackendReady},
		Route:      served(),
		URLs:       endpoint.URLs{Endpoint: "https://maas.example.com/llm/granite", Base: "https://maas.example.com"},
		Governance: modelstatus.Governance{Granted: true, Subscribed: true},
		Identity:   modelstatus.Identity{Alias: "publishers/llm/models/granite"},
	}
	for _, m := range mutate {
		m(&f)
	}
	return f
}

func backend(state modelstatus.BackendState) func(*modelstatus.Facts) {
	return func(f *modelstatus.Facts) { f.Backend.State = state }
}

func external(f *modelstatus.Facts) { f.Backend.Kind = v1alpha1.BackendExternalModel }

func complains(f *modelstatus.Facts) {
	f.Backend.Reason, f.Backend.Message = "WaitingForGateway", "no gateway"
}

func noRoute(f *modelstatus.Facts) { f.Route, f.URLs = endpoint.Route{}, endpoint.URLs{} }

func refused(f *modelstatus.Facts) {
	f.Route.Acceptance = endpoint.Acceptance{State: metav1.ConditionFalse, Reason: "BackendNotFound", Message: "service x not found"}
}

func foreign(f *modelstatus.Facts) {
	f.Route.Attached, f.Route.Gateway = false, types.NamespacedName{Namespace: "x", Name: "other"}
}

func noTenant(f *modelstatus.Facts) {
	f.Tenant = modelstatus.Tenant{Reason: string(v1alpha1.ReasonTenantNotReady), Problem: "AITenant red does not exist."}
}

// brief is phase, Ready's reason, RuntimeReady's status and the two URLs.
func brief(v modelstatus.Verdict) string {
	ready := meta.FindStatusCondition(v.Conditions, "Ready")
	runtime := "-"
	if c := meta.FindStatusCondition(v.Conditions, "RuntimeReady"); c != nil {
		runtime = string(c.Status) + " " + c.Reason
	}
	return fmt.Sprintf("%s | %s %s | %s | %s %s", v.Phase, ready.Status, ready.Reason, runtime, v.Endpoint, v.BaseURL)
}

// Rows 9.1.2–9.1.6, 9.1.14, 9.1.20 and, as decided, 9.1.21 and 9.1.24.
func TestPhase(t *testing.T) {
	t.Parallel()
	const urls = "https://maas.example.com/llm/granite https://maas.example.com"
	for name, tc := range map[string]struct {
		facts        modelstatus.Facts
		want         string
		wantMessages []string
	}{
		"a ready backend behind an accepted route": {facts(), "Ready | True Reconciled | True RuntimeHealthy | " + urls, nil},
		"governance has no say": {
			facts(func(f *modelstatus.Facts) { f.Governance = modelstatus.Governance{} }), "Ready | True Reconciled | True RuntimeHealthy | " + urls, nil,
		},
		"a shared name has no say": {
			facts(func(f *modelstatus.Facts) { f.Identity.Siblings = []string{"b"} }), "Ready | True Reconciled | True RuntimeHealthy | " + urls, nil,
		},
		"the override replaces the endpoint only": {
			facts(func(f *modelstatus.Facts) { f.Override = "https://o.example.com" }),
			"Ready | True Reconciled | True RuntimeHealthy | https://o.example.com https://maas.example.com", nil,
		},
		"the override publishes no model that is not ready": {
			facts(backend(modelstatus.BackendNotReady), func(f *modelstatus.Facts) { f.Override = "https://o.example.com" }),
			"Unhealthy | False BackendNotReady | False RuntimeHealthFailure |  ", nil,
		},
		"no spec": {facts(func(f *modelstatus.Facts) { f.SpecMissing = true }), "Invalid | False InvalidSpec | - |  ", []string{"spec is required"}},
		"an unknown kind of backend": {
			facts(backend(modelstatus.BackendUnsupported)), "Failed | False Unsupported | False RuntimeHealthFailure |  ", []string{"LLMInferenceService"},
		},
		"the kind is not installed": {
			facts(backend(modelstatus.BackendNotInstalled), noRoute), "Failed | False DependencyMissing | False RuntimeHealthFailure |  ", []string{"LLMInferenceService"},
		},
		"no backend": {
			facts(backend(modelstatus.BackendMissing)), "Failed | False BackendNotFound | False RuntimeHealthFailure |  ", []string{"granite", "llm"},
		},
		"no backend in either group of ExternalModel": {
			facts(backend(modelstatus.BackendMissing), external), "Failed | False BackendNotFound | False RuntimeHealthFailure |  ", []string{"inference.opendatahub.io", "maas.opendatahub.io"},
		},
		"an ExternalModel without a route": {facts(noRoute, external), "Pending | False RouteNotFound | True RuntimeHealthy |  ", []string{"ExternalModel granite"}},
		"neither backend nor route": {
			facts(backend(modelstatus.BackendMissing), noRoute), "Failed | False BackendNotFound | False RuntimeHealthFailure |  ", nil,
		},
		"no route": {facts(noRoute), "Pending | False RouteNotFound | True RuntimeHealthy |  ", []string{"granite"}},
		"no route, and the backend says why": {
			facts(noRoute, backend(modelstatus.BackendNotReady), complains), "Pending | False RouteNotFound | False RuntimeHealthFailure |  ", []string{"WaitingForGateway: no gateway"},
		},
		"the route is another gateway's": {
			facts(foreign), "Failed | False RouteNotAccepted | True RuntimeHealthy |  ", []string{"llm/granite-route", gateway.String(), "x/other"},
		},
		"the gateway refuses the route": {
			facts(refused), "Pending | False RouteNotAccepted | True RuntimeHealthy |  ", []string{"BackendNotFound: service x not found", gateway.String()},
		},
		"the gateway has not answered": {
			facts(func(f *modelstatus.Facts) { f.Route.Acceptance.State = metav1.ConditionUnknown }), "Pending | False RouteNotAccepted | True RuntimeHealthy |  ", []string{gateway.String()},
		},
		"neither route nor backend are ready": {
			facts(refused, backend(modelstatus.BackendNotReady)), "Pending | False RouteNotAccepted | False RuntimeHealthFailure |  ", nil,
		},
		"the backend is not ready": {
			facts(backend(modelstatus.BackendNotReady), complains), "Unhealthy | False BackendNotReady | False RuntimeHealthFailure |  ", []string{"WaitingForGateway: no gateway"},
		},
		"the backend complains but can answer": {facts(complains), "Ready | True Reconciled | True RuntimeHealthy | " + urls, nil},
		"nowhere to send clients": {
			facts(func(f *modelstatus.Facts) { f.URLs = endpoint.URLs{} }), "Pending | False EndpointUnknown | True RuntimeHealthy |  ", []string{"hostname", "endpointOverride"},
		},
		"nowhere to send clients but the override": {
			facts(func(f *modelstatus.Facts) { f.URLs, f.Override = endpoint.URLs{}, "https://o.example.com" }),
			"Ready | True Reconciled | True RuntimeHealthy | https://o.example.com ", nil,
		},
		"the tenant is not known": {facts(noTenant), "Failed | False TenantNotReady | True RuntimeHealthy |  ", []string{"AITenant red"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := modelstatus.Decide(tc.facts)
			if diff := cmp.Diff(tc.want, brief(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			message := meta.FindStatusCondition(got.Conditions, "Ready").Message
			for _, want := range tc.wantMessages {
				if !strings.Contains(message, want) {
					t.Errorf("message %q does not say %q", message, want)
				}
			}
		})
	}
}

func TestRuntimeShowsBothWords(t *testing.T) {
	t.Parallel()
	c := meta.FindStatusCondition(modelstatus.Decide(facts(complains)).Conditions, "RuntimeReady")
	if c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "WaitingForGateway: no gateway") {
		t.Errorf("got %s %q", c.Status, c.Message)
	}
}

// Rows 9.1.21–9.1.24 as decided, and W-32.
func TestGovernance(t *testing.T) {
	t.Parallel()
	previous := func(status metav1.ConditionStatus, reason v1alpha1.ConditionReason) func(*modelstatus.Facts) {
		return func(f *modelstatus.Facts) {
			f.Previous = []metav1.Condition{{Type: "GovernanceAttached", Status: status, Reason: string(reason)}}
		}
	}
	halves := func(granted, subscribed bool) func(*modelstatus.Facts) {
		return func(f *modelstatus.Facts) {
			f.Governance = modelstatus.Governance{Granted: granted, Subscribed: subscribed}
		}
	}
	paired := previous(metav1.ConditionTrue, v1alpha1.ReasonGovernancePaired)
	for name, tc := range map[string]struct {
		facts                    modelstatus.Facts
		wantStatus               metav1.ConditionStatus
		wantReason               v1alpha1.ConditionReason
		wantPolicy, wantSubscrip bool
	}{
		"both halves":                  {facts(), "True", v1alpha1.ReasonGovernancePaired, false, false},
		"nothing yet":                  {facts(halves(false, false)), "False", v1alpha1.ReasonNoPairingFound, true, true},
		"only a subscription":          {facts(halves(false, true)), "False", v1alpha1.ReasonNoPairingFound, true, false},
		"only an auth policy":          {facts(halves(true, false)), "False", v1alpha1.ReasonNoPairingFound, false, true},
		"a half is gone":               {facts(halves(true, false), paired), "False", v1alpha1.ReasonGovernanceGap, false, true},
		"both halves are gone":         {facts(halves(false, false), paired), "False", v1alpha1.ReasonGovernanceGap, true, true},
		"a gap is not forgotten":       {facts(halves(true, false), previous(metav1.ConditionFalse, v1alpha1.ReasonGovernanceGap)), "False", v1alpha1.ReasonGovernanceGap, false, true},
		"never a pair, never a gap":    {facts(halves(true, false), previous(metav1.ConditionFalse, v1alpha1.ReasonNoPairingFound)), "False", v1alpha1.ReasonNoPairingFound, false, true},
		"a closed gap is a pair":       {facts(previous(metav1.ConditionFalse, v1alpha1.ReasonGovernanceGap)), "True", v1alpha1.ReasonGovernancePaired, false, false},
		"of which tenant is not known": {facts(noTenant), "Unknown", v1alpha1.ReasonTenantNotReady, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := meta.FindStatusCondition(modelstatus.Decide(tc.facts).Conditions, "GovernanceAttached")
			if c.Status != tc.wantStatus || c.Reason != string(tc.wantReason) {
				t.Errorf("got %s %s", c.Status, c.Reason)
			}
			if got := strings.Contains(c.Message, "MaaSAuthPolicy"); got != tc.wantPolicy {
				t.Errorf("message %q names the auth policy: %v", c.Message, got)
			}
			if got := strings.Contains(c.Message, "MaaSSubscription"); got != tc.wantSubscrip {
				t.Errorf("message %q names the subscription: %v", c.Message, got)
			}
		})
	}
}

// Rows 9.1.29 and 9.1.30.
func TestIdentity(t *testing.T) {
	t.Parallel()
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("model-%02d", i)
	}
	for name, tc := range map[string]struct {
		identity     modelstatus.Identity
		wantStatus   metav1.ConditionStatus
		wantReason   v1alpha1.ConditionReason
		wantMessages []string
	}{
		"not known":            {modelstatus.Identity{}, "Unknown", v1alpha1.ReasonAliasNotResolved, []string{"LLMInferenceService granite", "status.endpoint", "status.addresses[].models"}},
		"alone":                {modelstatus.Identity{Alias: "a"}, "True", v1alpha1.ReasonUniqueIdentity, nil},
		"shared, names sorted": {modelstatus.Identity{Alias: "a", Siblings: []string{"z", "b"}}, "False", v1alpha1.ReasonModelNameConflict, []string{`"a"`, "2 other", "llm", "b, z"}},
		"shared by many":       {modelstatus.Identity{Alias: "a", Siblings: many}, "False", v1alpha1.ReasonModelNameConflict, []string{"40 other", "model-09 and 30 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := meta.FindStatusCondition(modelstatus.Decide(facts(func(f *modelstatus.Facts) { f.Identity = tc.identity })).Conditions, "ModelIdentityUnique")
			if c.Status != tc.wantStatus || c.Reason != string(tc.wantReason) {
				t.Errorf("got %s %s", c.Status, c.Reason)
			}
			for _, want := range tc.wantMessages {
				if !strings.Contains(c.Message, want) {
					t.Errorf("message %q does not say %q", c.Message, want)
				}
			}
		})
	}
}

// W-25.
func TestAlias(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		published, last string
		sameSpec        bool
		want            string
	}{
		"what the backend publishes":         {"b", "a", true, "b"},
		"the last known one while it is not": {"", "a", true, "a"},
		"not that of an earlier backend":     {"", "a", false, ""},
		"what another backend publishes":     {"b", "a", false, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := modelstatus.Alias(tc.published, tc.last, tc.sameSpec); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPromises holds for any facts: URLs only with Ready, four conditions for the
// generation, and Ready True exactly in phase Ready.
func TestPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := facts(
			backend(rapid.SampledFrom([]modelstatus.BackendState{
				modelstatus.BackendUnsupported, modelstatus.BackendNotInstalled, modelstatus.BackendMissing, modelstatus.BackendNotReady, modelstatus.BackendReady,
			}).Draw(rt, "backend")),
			func(f *modelstatus.Facts) {
				f.Route.Acceptance.State = rapid.SampledFrom([]metav1.ConditionStatus{"True", "False", "Unknown"}).Draw(rt, "accepted")
			})
		for name, change := range map[string]func(*modelstatus.Facts){"no route": noRoute, "foreign": foreign, "no tenant": noTenant, "complains": complains} {
			if rapid.Bool().Draw(rt, name) && (name != "foreign" || f.Route.Object != nil) {
				change(&f)
			}
		}
		v := modelstatus.Decide(f)
		ready := meta.IsStatusConditionTrue(v.Conditions, "Ready")
		if ready != (v.Phase == v1alpha1.ModelPhaseReady) || ready != (v.Endpoint != "") {
			rt.Fatalf("phase %s, Ready %v, endpoint %q", v.Phase, ready, v.Endpoint)
		}
		var types []v1alpha1.ConditionType
		for _, c := range v.Conditions {
			types = append(types, v1alpha1.ConditionType(c.Type))
		}
		if diff := cmp.Diff(modelstatus.Conditions(), types); diff != "" {
			rt.Fatalf("conditions (-want +got):\n%s", diff)
		}
		for _, c := range v.Conditions {
			if c.ObservedGeneration != f.Generation || c.Reason == "" || (c.Status != metav1.ConditionTrue && c.Message == "") {
				rt.Fatalf("condition %+v", c)
			}
		}
		if diff := cmp.Diff(v, modelstatus.Decide(f)); diff != "" {
			rt.Fatalf("equal facts, other words:\n%s", diff)
		}
	})
}
