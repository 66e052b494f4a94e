// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/contract"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

const tenant = v1alpha1.DefaultAITenantName

// noon is when the tests take place.
func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

func granite() types.NamespacedName { return builder.Key("llm", "granite") }

// Keys of the world; each belongs to a record of the same name.
const (
	goldKey    = "sk-oai-gold_1"
	oldKey     = "sk-oai-old_1"
	loneKey    = "sk-oai-lone_1"
	foreignKey = "sk-oai-foreign_1"
	goneKey    = "sk-oai-gone_1"
	brokenKey  = "sk-oai-broken_1"
	revokedKey = "sk-oai-revoked_1"
	expiredKey = "sk-oai-expired_1"
	unboundKey = "sk-oai-unbound_1"
	faultyKey  = "sk-oai-faulty_1"
	unknownKey = "sk-oai-unknown_1"
)

// records are the keys that exist, by their text.
func records() map[string]apikey.Record {
	key := func(username, sub string, groups ...string) apikey.Record {
		return apikey.Record{
			ID: "0c9e4ac3-2b6f-4a7e-9d52-6f1f0f6f2b11", Username: username, Name: "laptop", Subscription: sub, Groups: groups,
			Status: apikey.StatusActive, ExpiresAt: noon().Add(time.Hour),
		}
	}
	revoked, expired := key("anne", "gold", "engineers"), key("anne", "gold", "engineers")
	revoked.Status, expired.ExpiresAt = apikey.StatusRevoked, noon()
	unending := key("anne", "old", "engineers")
	unending.ExpiresAt = time.Time{}
	return map[string]apikey.Record{
		goldKey: key("anne", "gold", "engineers"), oldKey: unending, loneKey: key("lone", "own"), foreignKey: key("anne", "strange", "engineers"),
		goneKey: key("anne", "removed", "engineers"), brokenKey: key("anne", "broken", "engineers"),
		revokedKey: revoked, expiredKey: expired, unboundKey: key("anne", "", "engineers"),
	}
}

// keys is an index of keys that knows the records.
type keys map[apikey.Digest]apikey.Record

func (k keys) Get(_ context.Context, digest apikey.Digest) (*apikey.Record, error) {
	if faulty, err := apikey.Parse(faultyKey); err != nil || digest == faulty {
		return nil, context.DeadlineExceeded
	}
	record, found := k[digest]
	if !found {
		return nil, apikey.ErrNotFound
	}
	return &record, nil
}

func (keys) Now() time.Time { return noon() }

// snapshots is a snapshot, or none.
type snapshots struct{ snapshot *subscription.Snapshot }

func (s snapshots) Snapshot() *subscription.Snapshot { return s.snapshot }

// objects are the custom resources of the world: a model, who may call it, and
// subscriptions of every kind.
type objects struct {
	models        []*v1alpha1.MaaSModelRef
	policies      []*v1alpha1.MaaSAuthPolicy
	subscriptions []*v1alpha1.MaaSSubscription
}

func newObjects() objects {
	var o objects
	for _, name := range []string{"granite", "other"} {
		o.models = append(o.models, builder.ModelRef("llm", name).Backend(v1alpha1.BackendLLMInferenceService, name).
			Status(v1alpha1.MaaSModelRefStatus{Phase: v1alpha1.ModelPhaseReady, ResolvedModelAlias: "publishers/llm/models/" + name}).Obj())
	}
	o.policies = append(o.policies,
		builder.AuthPolicy(tenant, "engineers", granite(), builder.Key("llm", "other")).Subjects([]string{"engineers"}, []string{"lone"}).Obj())
	add := func(b *builder.SubscriptionBuilder, phase v1alpha1.Phase) *v1alpha1.MaaSSubscription {
		o.subscriptions = append(o.subscriptions, b.Phase(phase).Obj())
		return o.subscriptions[len(o.subscriptions)-1]
	}
	engineers := []string{"engineers"}
	add(builder.Subscription(tenant, "gold").Limit(granite(), 100, "1m").Owners(engineers, nil).Priority(5), v1alpha1.PhaseActive)
	add(builder.Subscription(tenant, "old").Limit(granite(), 100, "1m").Owners(engineers, nil), v1alpha1.PhaseActive).
		Status.RateLimitIdentity = v1alpha1.RateLimitIdentityLegacy
	add(builder.Subscription(tenant, "own").Unlimited(granite()).Owners(nil, []string{"lone"}), v1alpha1.PhaseActive)
	add(builder.Subscription(tenant, "strange").Limit(granite(), 1, "1m").Owners([]string{"strangers"}, []string{"mallory"}), v1alpha1.PhaseActive)
	add(builder.Subscription(tenant, "broken").Limit(granite(), 2, "1m").Owners(engineers, nil), v1alpha1.PhaseFailed)
	add(builder.Subscription(tenant, "elsewhere").Limit(builder.Key("llm", "other"), 1, "1m").Owners(engineers, nil), v1alpha1.PhaseActive)
	return o
}

func (o objects) snapshot() *subscription.Snapshot {
	return subscription.NewSnapshot(tenant, entitlement.Facts{
		Models: tenanted(o.models), AuthPolicies: tenanted(o.policies), Subscriptions: tenanted(o.subscriptions),
	}, noon())
}

func tenanted[T any](all []T) []entitlement.Tenanted[T] {
	out := make([]entitlement.Tenanted[T], 0, len(all))
	for _, object := range all {
		out = append(out, entitlement.Tenanted[T]{Object: object, Tenant: tenant})
	}
	return out
}

// callbackHandler serves both callbacks as maas-api does, under the checker.
func callbackHandler(t *testing.T, checker *contract.Checker, read snapshots) http.Handler {
	t.Helper()
	validate, selection := callbackRoutes(t, read)
	handler, err := httpapi.New(httpapi.Options{
		Routes: slices.Concat(validate, selection), Audiences: []httpapi.Audience{httpapi.Internal},
		Log: slog.New(slog.DiscardHandler), Clock: clocktesting.NewFakePassiveClock(noon()),
		Metrics: metricsOf(t), NewID: func() string { return "request-1" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return checker.Handler(handler, func(err error) { t.Error(err) })
}

// asks is a callback of the policy: what it gets for a body from a handler. An
// answer other than 200 is none for Authorino.
func asks(t *testing.T, handler http.Handler, path string) func(body map[string]any) any {
	t.Helper()
	return func(body map[string]any) any {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return post(t, handler, path, string(text))
	}
}

func post(t *testing.T, handler http.Handler, path, body string) any {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	if recorder.Code != http.StatusOK {
		return nil
	}
	var reply any
	if err := json.Unmarshal(recorder.Body.Bytes(), &reply); err != nil {
		t.Fatalf("%s answers no JSON: %v", path, err)
	}
	return reply
}

const validatePath = "/internal/v1/api-keys/validate"

// policies are what the operator would apply for the model, rendered.
func policies(t *testing.T, o objects) (rules map[string]any, limits []enforced.Limit) {
	t.Helper()
	in := model.Input{
		Model: granite(), Route: "granite", Tenant: tenancy.Context{Name: tenant}, AcceptKeyHeader: true,
		Settings: model.Settings{
			InfraNamespace: "infra", Audience: "https://kubernetes.default.svc", MetadataCacheTTL: 60, AuthorizationCacheTTL: 60,
		},
	}
	for _, policy := range o.policies {
		in.AuthPolicies = append(in.AuthPolicies, model.AuthPolicy{Object: policy, Tenant: tenant})
	}
	for _, sub := range o.subscriptions {
		if sub.Spec.ModelRefs[0].Name == granite().Name {
			in.Subscriptions = append(in.Subscriptions, model.Subscription{Object: sub, Tenant: tenant})
		}
	}
	out, err := model.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.RenderAll(out.Requests())
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range rendered {
		switch object.GetKind() {
		case "AuthPolicy":
			rules, _, err = unstructured.NestedMap(object.Object, "spec", "rules")
		case "TokenRateLimitPolicy":
			limits = limitsOf(t, object)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if rules == nil || limits == nil {
		t.Fatalf("rules = %v, limits = %v, want both policies", rules, limits)
	}
	return rules, limits
}

func limitsOf(t *testing.T, policy *unstructured.Unstructured) []enforced.Limit {
	t.Helper()
	var limits []enforced.Limit
	for _, limit := range kuadrant.Limits(policy) {
		counters, _, err := unstructured.NestedSlice(policy.Object, "spec", "limits", limit.Name, "counters")
		if err != nil {
			t.Fatal(err)
		}
		read := enforced.Limit{Name: limit.Name, Predicate: limit.Predicate}
		for _, counter := range counters {
			read.Counters = append(read.Counters, counter.(map[string]any)["expression"].(string))
		}
		limits = append(limits, read)
	}
	return limits
}
