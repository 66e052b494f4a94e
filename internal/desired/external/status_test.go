// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
)

func accepted(state metav1.ConditionStatus) endpoint.Route {
	return endpoint.Route{Object: &gwapiv1.HTTPRoute{}, Attached: true, Acceptance: endpoint.Acceptance{State: state, Reason: "NotAllowedByListeners"}}
}

// account is that of payload processing.
var account = types.NamespacedName{Namespace: "gateways", Name: "payload-processing"}

// working are the facts of a model that works.
func working(change ...func(*external.Facts)) external.Facts {
	f := external.Facts{Generation: 7, Secret: "key", Credential: external.CredentialUsable, Route: accepted(metav1.ConditionTrue)}
	for _, edit := range change {
		edit(&f)
	}
	return f
}

func TestReadySumsUpTheWorstFirst(t *testing.T) {
	t.Parallel()
	type facts = external.Facts
	for name, tc := range map[string]struct {
		change func(*facts)
		want   string
	}{
		"a model that works":    {func(*facts) {}, "Ready True/Reconciled"},
		"a Secret out of sight": {func(f *facts) { f.Credential = external.CredentialUnread }, "Ready True/Reconciled"},
		"no Secret":             {func(f *facts) { f.Credential = external.CredentialAbsent }, "Pending False/CredentialNotFound"},
		"an empty one":          {func(f *facts) { f.Credential = external.CredentialEmpty }, "Pending False/CredentialIncomplete"},
		"an unlabelled one":     {func(f *facts) { f.Credential = external.CredentialUnlabelled }, "Pending False/CredentialNotLabelled"},
		"one with the old label": {
			func(f *facts) { f.Credential = external.CredentialFormerlyLabelled }, "Pending False/CredentialNotLabelled",
		},
		"out of sight and of reach": {
			func(f *facts) { f.Credential, f.Denied = external.CredentialUnread, account }, "Pending False/CredentialNotGranted",
		},
		"no guard":          {func(f *facts) { f.Closed = "It leads nowhere." }, "Pending False/RouteNotGuarded"},
		"no guard, no key":  {func(f *facts) { f.Closed, f.Credential = "x", external.CredentialAbsent }, "Pending False/RouteNotGuarded"},
		"no answer":         {func(f *facts) { f.Route = accepted(metav1.ConditionUnknown) }, "Pending False/RouteNotAccepted"},
		"a refused route":   {func(f *facts) { f.Route = accepted(metav1.ConditionFalse) }, "Pending False/RouteNotAccepted"},
		"a foreign Gateway": {func(f *facts) { f.Route.Attached = false }, "Pending False/RouteNotAccepted"},
		"no route":          {func(f *facts) { f.Route = endpoint.Route{} }, "Pending False/RouteNotFound"},
		"no API":            {func(f *facts) { f.MissingAPIs = []string{"serviceentries.networking.istio.io"} }, "Pending False/APIMissing"},
		"no Gateway":        {func(f *facts) { f.Homeless = apperr.User(v1alpha1.ReasonTenantNotReady, "Wait.") }, "Pending False/TenantNotReady"},
		"a rival":           {func(f *facts) { f.Replacement = external.BeingReplaced }, "Pending False/Superseded"},
		"a replacement":     {func(f *facts) { f.Replacement, f.Route = external.Replaced, endpoint.Route{} }, "Pending False/Superseded"},
		"a refused host":    {func(f *facts) { f.Refused, f.Replacement = "is an IP address", external.Replaced }, "Failed False/HostRefused"},
		"a broken spec":     {func(f *facts) { f.Invalid, f.Refused = apperr.User(v1alpha1.ReasonInvalidSpec, "Set it."), "x" }, "Failed False/InvalidSpec"},
		"a failure": {
			func(f *facts) { f.Failure = apperr.UserError{Reason: "ForeignObject", Message: "It is another's."} }, "Failed False/ForeignObject",
		},
		"an error nobody expects": {func(f *facts) { f.Invalid = errors.New("odd") }, "Failed False/ReconcileFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict := external.Decide(working(tc.change))
			ready := meta.FindStatusCondition(verdict.Conditions, "Ready")
			if got := string(verdict.Phase) + " " + string(ready.Status) + "/" + ready.Reason; got != tc.want {
				t.Errorf("Decide() = %s, want %s", got, tc.want)
			}
			if ready.Status != metav1.ConditionTrue && !strings.HasSuffix(ready.Message, ".") && ready.Reason != "RouteNotAccepted" && ready.Message != "odd" && ready.Message != "x" {
				t.Errorf("message %q is no sentence", ready.Message)
			}
			for _, c := range verdict.Conditions {
				if c.ObservedGeneration != 7 {
					t.Errorf("condition %s is of generation %d", c.Type, c.ObservedGeneration)
				}
			}
		})
	}
}

func TestEachConditionTellsItsOwn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		facts external.Facts
		kind  v1alpha1.ConditionType
		want  string
	}{
		"a host":           {working(), v1alpha1.ConditionHostAccepted, "True/HostAccepted: "},
		"a secured host":   {working(func(f *external.Facts) { f.Secured = true }), v1alpha1.ConditionHostAccepted, "True/HostAccepted: The provider is spoken to over TLS"},
		"a refused host":   {working(func(f *external.Facts) { f.Refused = "is no host name" }), v1alpha1.ConditionHostAccepted, "False/HostRefused: spec.endpoint is no host name"},
		"an unread Secret": {working(func(f *external.Facts) { f.Credential = external.CredentialUnread }), v1alpha1.ConditionCredentialAvailable, "Unknown/CredentialNotReadable: The operator may not read Secret key"},
		"a Secret out of reach": {
			working(func(f *external.Facts) { f.Denied, f.Namespace = account, "llm" }), v1alpha1.ConditionCredentialAvailable,
			"False/CredentialNotGranted: Secret key, which spec.credentialRef names, is out of reach of ServiceAccount gateways/payload-processing, which puts the API key in, so that requests fail. Grant it in namespace llm: " +
				"kubectl create role payload-processing-credentials -n llm --verb=get,list,watch --resource=secrets; " +
				"kubectl create rolebinding payload-processing-credentials -n llm --role=payload-processing-credentials --serviceaccount=gateways:payload-processing.",
		},
		"no Secret to reach": {
			working(func(f *external.Facts) { f.Denied, f.Credential = account, external.CredentialAbsent }), v1alpha1.ConditionCredentialAvailable, "False/CredentialNotFound: ",
		},
		"a former label":        {working(func(f *external.Facts) { f.Credential = external.CredentialFormerlyLabelled }), v1alpha1.ConditionCredentialAvailable, "False/CredentialNotLabelled: Secret key, which spec.credentialRef names, has the label of an earlier release only: label it inference.llm-d.ai/ipp-managed=true"},
		"a route":               {working(), v1alpha1.ConditionRouteAccepted, "True/RouteAccepted: "},
		"a target":              {working(), v1alpha1.ConditionModelIdentityUnique, "True/UniqueIdentity: "},
		"a second target":       {working(func(f *external.Facts) { f.Rival = key("b") }), v1alpha1.ConditionModelIdentityUnique, "False/ModelNameConflict: ExternalModel llm-b/b has the same spec.targetModel"},
		"a target that is none": {working(func(f *external.Facts) { f.Nameless = true }), v1alpha1.ConditionModelIdentityUnique, "False/ModelNameRefused: The value of spec.targetModel cannot be named"},
		"a route of no Gateway": {working(func(f *external.Facts) { f.Homeless = errors.New("odd") }), v1alpha1.ConditionRouteAccepted, "Unknown/RouteNotAccepted: There is an HTTPRoute"},
	} {
		c := meta.FindStatusCondition(external.Decide(tc.facts).Conditions, string(tc.kind))
		if got := string(c.Status) + "/" + c.Reason + ": " + c.Message; !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %s = %s, want %s", name, tc.kind, got, tc.want)
		}
	}
	ready := meta.FindStatusCondition(external.Decide(working(func(f *external.Facts) { f.OptedOut = []string{"Service maas-gpt"} })).Conditions, "Ready")
	if ready.Status != metav1.ConditionTrue || !strings.Contains(ready.Message, "Service maas-gpt") {
		t.Errorf("Ready of a model of which an object is opted out = %+v", ready)
	}
}

// A54: the label of an earlier release is told from none at all.
func TestCredentialOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		labels map[string]string
		filled bool
		want   external.Credential
	}{
		"as it should be":    {map[string]string{"inference.llm-d.ai/ipp-managed": "true"}, true, external.CredentialUsable},
		"with both labels":   {map[string]string{"inference.llm-d.ai/ipp-managed": "true", "inference.networking.k8s.io/bbr-managed": "true"}, true, external.CredentialUsable},
		"labelled otherwise": {map[string]string{"inference.llm-d.ai/ipp-managed": "false"}, true, external.CredentialUnlabelled},
		"the old label":      {map[string]string{"inference.networking.k8s.io/bbr-managed": "true"}, true, external.CredentialFormerlyLabelled},
		"the old, not true":  {map[string]string{"inference.networking.k8s.io/bbr-managed": "false"}, true, external.CredentialUnlabelled},
		"no label":           {nil, true, external.CredentialUnlabelled},
		"no key":             {map[string]string{"inference.llm-d.ai/ipp-managed": "true"}, false, external.CredentialEmpty},
	} {
		if got := external.CredentialOf(tc.labels, tc.filled); got != tc.want {
			t.Errorf("%s: CredentialOf() = %d, want %d", name, got, tc.want)
		}
	}
}
