// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

// rich has every optional member.
func rich() *v1alpha1.MaaSSubscription {
	s := sub("gold", "granite")
	s.Annotations = map[string]string{v1alpha1.AnnotationDisplayName: `Gold "plus"`, v1alpha1.AnnotationDescription: "the\nbest"}
	s.Spec.Priority = 7
	s.Spec.TokenMetadata = &v1alpha1.TokenMetadata{OrganizationID: "acme", CostCenter: "cc-42", Labels: map[string]string{"team": "blue"}}
	s.Spec.ModelRefs[0].BillingRate = &v1alpha1.BillingRate{PerToken: "0.0000025"}
	s.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.ConditionReady), Status: metav1.ConditionTrue}}
	return s
}

func TestTheReplyOfASelection(t *testing.T) {
	t.Parallel()
	const key = "models-as-a-service/gold@llm/granite"
	plain := `{"name":"gold","namespace":"models-as-a-service","modelRefs":[{"name":"granite","model_name":"publishers/llm/models/granite","source":"internal",` +
		`"token_rate_limits":[{"limit":100,"window":"1m"},{"limit":5000,"window":"24h"}]}],"phase":"Active","ready":false,"rateLimitIdentity":"short"`
	resolved := `,"resolvedModel":"llm/granite","subscriptionKey":"` + key + `","subscriptionId":"` + entitlement.ShortID(key) + `","accessAllowed":`
	legacy := sub("gold", "granite")
	legacy.Status.RateLimitIdentity = v1alpha1.RateLimitIdentityLegacy
	pending := sub("gold", "granite")
	pending.Status.Phase = v1alpha1.PhasePending
	unlimited := sub("gold", "granite")
	unlimited.Spec.ModelRefs[0].TokenRateLimits, unlimited.Spec.ModelRefs[0].Unlimited = nil, true
	external := model("granite")
	external.Spec.ModelRef.Kind = v1alpha1.BackendExternalModel
	external.Status.ResolvedModelAlias = "granite"
	external.Annotations = map[string]string{v1alpha1.AnnotationDisplayName: "Granite", v1alpha1.AnnotationDescription: "rock"}
	odd := model("granite")
	odd.Spec.ModelRef.Kind = "Odd"
	odd.Status.ResolvedModelAlias = ""

	for name, test := range map[string]struct {
		snapshot *subscription.Snapshot
		request  entitlement.Request
		want     string
	}{
		"has key and id for the model by its path": {snapshot(model("granite"), sub("gold", "granite"), grant("granite")), entitlement.Request{Model: "llm/granite"}, plain + resolved + `true}`},
		"has them for an alias with slashes":       {snapshot(model("granite"), sub("gold", "granite"), grant("granite")), entitlement.Request{Model: "publishers/llm/models/granite"}, plain + resolved + `true}`},
		"has them for a bare name":                 {snapshot(model("granite"), sub("gold", "granite"), grant("granite")), entitlement.Request{Model: "granite"}, plain + resolved + `true}`},
		"says when no auth policy allows the model, without an error": {
			snapshot(model("granite"), sub("gold", "granite")), entitlement.Request{Model: "llm/granite"}, plain + resolved + `false}`,
		},
		"has no key without a model": {snapshot(model("granite"), sub("gold", "granite")), entitlement.Request{}, plain + `,"accessAllowed":true}`},
		"names the legacy identity": {
			snapshot(model("granite"), legacy),
			entitlement.Request{},
			`{"name":"gold","namespace":"models-as-a-service","modelRefs":[{"name":"granite","model_name":"publishers/llm/models/granite","source":"internal",` +
				`"token_rate_limits":[{"limit":100,"window":"1m"},{"limit":5000,"window":"24h"}]}],"phase":"Active","ready":false,"rateLimitIdentity":"legacy","accessAllowed":true}`,
		},
		"has every member": {
			snapshot(external, rich(), grant("granite")),
			entitlement.Request{Model: "granite", Subscription: "gold"},
			`{"name":"gold","namespace":"models-as-a-service","displayName":"Gold \"plus\"","description":"the\nbest","priority":7,` +
				`"modelRefs":[{"name":"granite","model_name":"granite","display_name":"Granite","description":"rock","source":"external",` +
				`"token_rate_limits":[{"limit":100,"window":"1m"},{"limit":5000,"window":"24h"}],"billing_rate":{"per_token":"0.0000025"}}],` +
				`"organizationId":"acme","costCenter":"cc-42","labels":{"team":"blue"},"phase":"Active","ready":true,"rateLimitIdentity":"short"` + resolved + `true}`,
		},
		"leaves the source of an unknown kind out, and says what is unlimited": {
			snapshot(odd, unlimited),
			entitlement.Request{},
			`{"name":"gold","namespace":"models-as-a-service","modelRefs":[{"name":"granite","unlimited":true}],"phase":"Active","ready":false,"rateLimitIdentity":"short","accessAllowed":true}`,
		},
		"lists a model that does not exist by its name alone": {
			snapshot(unlimited),
			entitlement.Request{},
			`{"name":"gold","namespace":"models-as-a-service","modelRefs":[{"name":"granite","unlimited":true}],"phase":"Active","ready":false,"rateLimitIdentity":"short","accessAllowed":true}`,
		},
		"may be Pending when only the subscription is asked for": {
			snapshot(pending),
			entitlement.Request{},
			`{"name":"gold","namespace":"models-as-a-service","modelRefs":[{"name":"granite","token_rate_limits":[{"limit":100,"window":"1m"},{"limit":5000,"window":"24h"}]}],` +
				`"phase":"Pending","ready":false,"rateLimitIdentity":"short","accessAllowed":true}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.snapshot.AppendSelectReply(nil, alice(t), test.request)
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("AppendSelectReply() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheReplyOfARefusal(t *testing.T) {
	t.Parallel()
	failed := sub("gold", "granite")
	failed.Status.Phase = v1alpha1.PhaseFailed
	leaving := sub("gold", "granite")
	leaving.DeletionTimestamp = &metav1.Time{Time: epoch}
	foreign := sub("theirs", "granite")
	foreign.Spec.Owner.Groups[0].Name = "others"
	both := snapshot(model("granite"), sub("gold", "granite"), sub("silver", "granite"), foreign, grant("granite"))

	for name, test := range map[string]struct {
		snapshot    *subscription.Snapshot
		request     entitlement.Request
		code, phase string
	}{
		"nothing owned":                          {snapshot(model("granite")), entitlement.Request{Model: "llm/granite"}, "not_found", ""},
		"several owned, whatever their priority": {both, entitlement.Request{Model: "llm/granite"}, "multiple_subscriptions", ""},
		"one of somebody else":                   {both, entitlement.Request{Subscription: "theirs"}, "access_denied", ""},
		"one of somebody else by its full name":  {both, entitlement.Request{Subscription: home + "/theirs"}, "access_denied", ""},
		"one that does not exist":                {both, entitlement.Request{Subscription: "gone"}, "access_denied", ""},
		"one in a namespace that is none":        {both, entitlement.Request{Subscription: "elsewhere/gold"}, "access_denied", ""},
		"a name that can be none":                {both, entitlement.Request{Subscription: "Gold\x00"}, "bad_request", ""},
		"one without the model":                  {both, entitlement.Request{Subscription: "gold", Model: "llm/phi"}, "model_not_in_subscription", ""},
		"one that failed":                        {snapshot(model("granite"), failed), entitlement.Request{Model: "llm/granite"}, "model_unhealthy", "Failed"},
		"one that failed, without a model":       {snapshot(failed), entitlement.Request{}, "model_unhealthy", "Failed"},
		"one that is named while it is being deleted": {
			snapshot(model("granite"), leaving), entitlement.Request{Model: "llm/granite", Subscription: "gold"}, "model_unhealthy", "Active",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := object(t, test.snapshot.AppendSelectReply(nil, alice(t), test.request))
			message, _ := got["message"].(string)
			delete(got, "message")
			want := map[string]any{"error": test.code, "accessAllowed": false, "phase": test.phase, "ready": false}
			if diff := cmp.Diff(want, got); diff != "" || message == "" || len(message) > 200 {
				t.Errorf("message %q, reply (-want +got):\n%s", message, diff)
			}
		})
	}
}

func TestWhatDoesNotExistAndWhatIsForeignGetOneAnswer(t *testing.T) {
	t.Parallel()
	foreign := sub("theirs", "granite")
	foreign.Spec.Owner.Groups[0].Name = "others"
	s := snapshot(model("granite"), foreign)
	a := s.AppendSelectReply(nil, alice(t), entitlement.Request{Model: "llm/granite", Subscription: "theirs"})
	b := s.AppendSelectReply(nil, alice(t), entitlement.Request{Model: "llm/granite", Subscription: "nobodys"})
	if diff := cmp.Diff(string(a), string(b)); diff != "" {
		t.Errorf("foreign and unknown differ (-foreign +unknown):\n%s", diff)
	}
}

func TestRefusalsRepeatNothingOfWhatWentWrong(t *testing.T) {
	t.Parallel()
	const internal = `{"error":"internal_error","message":"failed to select subscription","accessAllowed":false,"phase":"","ready":false}`
	if got := string(subscription.AppendRefusal(nil, errors.New("dial tcp 10.0.0.1: secret"))); got != internal {
		t.Errorf("AppendRefusal() = %s, want %s", got, internal)
	}
	unavailable := object(t, subscription.AppendRefusal(nil, subscription.ErrUnavailable))
	if unavailable["error"] != "internal_error" || unavailable["message"] != subscription.ErrUnavailable.Error() {
		t.Errorf("AppendRefusal() = %v", unavailable)
	}
	odd := object(t, subscription.AppendRefusal(nil, entitlement.Refusal{Code: `a"b`, Message: "Zeile\n\u00e4", Phase: "\\"}))
	if odd["error"] != `a"b` || odd["message"] != "Zeile\n\u00e4" || odd["phase"] != "\\" {
		t.Errorf("AppendRefusal() = %v", odd)
	}
}

func TestManyCallersGetTheSameBytes(t *testing.T) {
	t.Parallel()
	s := snapshot(model("granite"), rich(), grant("granite"))
	want := string(snapshot(model("granite"), rich(), grant("granite")).AppendSelectReply(nil, alice(t), entitlement.Request{Model: "granite"}))
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			if got := string(s.AppendSelectReply([]byte("x"), alice(t), entitlement.Request{Model: "granite"})); got != "x"+want {
				t.Errorf("AppendSelectReply() = %s, want %s", got, want)
			}
		})
	}
	group.Wait()
}

func TestASnapshotHoldsItsTenantsObjectsOnly(t *testing.T) {
	t.Parallel()
	f := of(model("granite"), sub("gold", "granite"), grant("granite"))
	other := model("phi")
	f.Models = append(f.Models, entitlement.Tenanted[*v1alpha1.MaaSModelRef]{Object: other, Tenant: "red"}, entitlement.Tenanted[*v1alpha1.MaaSModelRef]{Object: model("nobodys")})
	hijack := model("evil") // Of another tenant, with our alias, and first by name.
	hijack.Namespace, hijack.Status.ResolvedModelAlias = "aaa", "publishers/llm/models/granite"
	f.Models = append(f.Models, entitlement.Tenanted[*v1alpha1.MaaSModelRef]{Object: hijack, Tenant: "red"})
	s := subscription.NewSnapshot(tenant, f, epoch)
	if s.Tenant() != tenant || !s.At().Equal(epoch) || s.Index() == nil {
		t.Errorf("tenant %s at %s", s.Tenant(), s.At())
	}
	for name, want := range map[string]bool{"granite": true, "phi": false, "nobodys": false, "gone": false} {
		if got := s.Model(types.NamespacedName{Namespace: "llm", Name: name}) != nil; got != want {
			t.Errorf("Model(%s): %t, want %t", name, got, want)
		}
	}
	reply := object(t, s.AppendSelectReply(nil, alice(t), entitlement.Request{Model: "publishers/llm/models/granite"}))
	if reply["resolvedModel"] != "llm/granite" || s.AmbiguousAliases() != 0 {
		t.Errorf("resolvedModel %v, %d ambiguous aliases", reply["resolvedModel"], s.AmbiguousAliases())
	}
}

func TestAnAliasOfSeveralModelsIsCountedAndMeansTheFirst(t *testing.T) {
	t.Parallel()
	a, b, c := model("a"), model("b"), model("c")
	for _, m := range []*v1alpha1.MaaSModelRef{a, b, c} {
		m.Status.ResolvedModelAlias = "shared"
	}
	s := snapshot(c, b, a, model("d"), sub("gold", "a", "b"), grant("a", "b"))
	reply := object(t, s.AppendSelectReply(nil, alice(t), entitlement.Request{Model: "shared"}))
	if reply["resolvedModel"] != "llm/a" || s.AmbiguousAliases() != 1 {
		t.Errorf("resolvedModel %v, %d ambiguous aliases", reply["resolvedModel"], s.AmbiguousAliases())
	}
}

type fixed struct{ snapshot *subscription.Snapshot }

func (f fixed) Snapshot() *subscription.Snapshot { return f.snapshot }

func TestMintingNeedsASnapshot(t *testing.T) {
	t.Parallel()
	var refusal entitlement.Refusal
	if _, err := (subscription.Minter{Source: fixed{}}).Mint(alice(t), ""); !errors.Is(err, subscription.ErrUnavailable) || errors.As(err, &refusal) {
		t.Errorf("Mint() error = %v, want that nothing can be decided", err)
	}
	got, err := subscription.Minter{Source: fixed{snapshot(sub("gold", "granite"))}}.Mint(alice(t), "")
	if err != nil || got.Name != "gold" {
		t.Errorf("Mint() = %v, %v", got, err)
	}
}

func marshal(tb testing.TB, value any) string {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
