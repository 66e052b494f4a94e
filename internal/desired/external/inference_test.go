// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
)

type (
	binding  = inferencev1alpha1.ExternalProviderBinding
	provider = inferencev1alpha1.ExternalProvider
	auth     = inferencev1alpha1.ProviderAuth
)

func bound(name string, change ...func(*binding)) binding {
	b := binding{Ref: inferencev1alpha1.LocalReference{Name: name}, TargetModel: "gpt-4o", APIFormat: "openai-chat", Path: "/v1/chat/completions"}
	for _, edit := range change {
		edit(&b)
	}
	return b
}

func weighing(weight int32) func(*binding) { return func(b *binding) { b.Weight = &weight } }

func credential(kind inferencev1alpha1.AuthType, secret string) auth {
	return auth{Type: kind, SecretRef: inferencev1alpha1.LocalReference{Name: secret}}
}

func providerAt(name, host string) *provider {
	p := &provider{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec = inferencev1alpha1.ExternalProviderSpec{Provider: "openai", Endpoint: host, Auth: credential(inferencev1alpha1.AuthTypeAPIKey, name+"-key")}
	return p
}

func inferenceModel(annotations map[string]string, bindings ...binding) *inferencev1alpha1.ExternalModel {
	return &inferencev1alpha1.ExternalModel{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "llm", Name: "gpt", UID: "u", Generation: 3, CreationTimestamp: metav1.NewTime(time.Unix(5, 0)), Annotations: annotations,
		},
		Spec: inferencev1alpha1.ExternalModelSpec{ExternalProviderRefs: bindings},
	}
}

func providers(name string) *provider {
	return map[string]*provider{"a": providerAt("a", "api.a.example"), "b": providerAt("b", "api.b.example"), "empty": providerAt("empty", ""), "aws": {
		ObjectMeta: metav1.ObjectMeta{Name: "aws"},
		Spec:       inferencev1alpha1.ExternalProviderSpec{Provider: "bedrock", Endpoint: "aws.example.com", Auth: credential(inferencev1alpha1.AuthTypeSigV4, "aws-key")},
	}}[name]
}

func TestAnInferenceModelInTheOwnForm(t *testing.T) {
	t.Parallel()
	type spec = v1alpha1.ExternalModelSpec
	secret := func(name string) v1alpha1.CredentialReference { return v1alpha1.CredentialReference{Name: name} }
	own := credential(inferencev1alpha1.AuthTypeSimple, "mine")
	for name, tc := range map[string]struct {
		model      *inferencev1alpha1.ExternalModel
		modelName  string
		want       spec
		wantNote   string
		wantReason v1alpha1.ConditionReason
		wantAnyKey bool
	}{
		"one provider": {
			model: inferenceModel(nil, bound("a")),
			want:  spec{Provider: "openai", Endpoint: "api.a.example", TargetModel: "gpt", CredentialRef: secret("a-key")},
		},
		"clients' name, and not the provider's, is what requests are told by": {
			model: inferenceModel(nil, bound("a")), modelName: "gpt-for-all",
			want: spec{Provider: "openai", Endpoint: "api.a.example", TargetModel: "gpt-for-all", CredentialRef: secret("a-key")},
		},
		"a provider that is switched off": {
			model: inferenceModel(nil, bound("a", weighing(0)), bound("b", weighing(1))),
			want:  spec{Provider: "openai", Endpoint: "api.b.example", TargetModel: "gpt", CredentialRef: secret("b-key")},
		},
		"several providers": {
			model: inferenceModel(nil, bound("b", weighing(10)), bound("a", weighing(90))),
			want:  spec{Provider: "openai", Endpoint: "api.b.example", TargetModel: "gpt", CredentialRef: secret("b-key")}, wantNote: "ExternalProvider b",
		},
		"the model's own credential": {
			model: inferenceModel(nil, bound("a", func(b *binding) { b.Auth = &own })),
			want:  spec{Provider: "openai", Endpoint: "api.a.example", TargetModel: "gpt", CredentialRef: secret("mine")},
		},
		"a credential that is no API key": {
			model: inferenceModel(nil, bound("aws")), wantAnyKey: true,
			want: spec{Provider: "bedrock", Endpoint: "aws.example.com", TargetModel: "gpt", CredentialRef: secret("aws-key")},
		},
		"all are switched off":   {model: inferenceModel(nil, bound("a", weighing(0))), wantReason: v1alpha1.ReasonInvalidSpec},
		"no provider":            {model: inferenceModel(nil), wantReason: v1alpha1.ReasonInvalidSpec},
		"a provider that is not": {model: inferenceModel(nil, bound("c"), bound("a")), wantReason: v1alpha1.ReasonProviderNotFound},
		"a provider of no host":  {model: inferenceModel(nil, bound("empty")), wantReason: v1alpha1.ReasonInvalidSpec},
		"a port that is none":    {model: inferenceModel(annotated("https", ""), bound("a")), wantReason: v1alpha1.ReasonInvalidSpec},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.model.Spec.ModelName = tc.modelName
			got, err := external.Translate(tc.model, providers)
			user, ok := apperr.AsUser(err)
			if ok != (tc.wantReason != "") || ok && (user.Reason != string(tc.wantReason) || !strings.HasSuffix(user.Message, ".")) {
				t.Errorf("Translate() error = %v, want reason %q", err, tc.wantReason)
			}
			if diff := cmp.Diff(tc.want, got.Model.Spec); err == nil && diff != "" {
				t.Errorf("Translate() spec (-want +got):\n%s", diff)
			}
			if tc.wantNote == "" && got.Note != "" || !strings.Contains(got.Note, tc.wantNote) {
				t.Errorf("Translate() note = %q, want %q in it", got.Note, tc.wantNote)
			}
			if got.AnyKey != tc.wantAnyKey {
				t.Errorf("Translate() any key = %t, want %t", got.AnyKey, tc.wantAnyKey)
			}
			want := metav1.ObjectMeta{Namespace: "llm", Name: "gpt", UID: "u", Generation: 3, CreationTimestamp: tc.model.CreationTimestamp}
			if diff := cmp.Diff(want, got.Model.ObjectMeta, cmpopts.IgnoreFields(metav1.ObjectMeta{}, "Annotations")); diff != "" {
				t.Errorf("Translate() metadata (-want +got):\n%s", diff)
			}
		})
	}
}

// The port and TLS are said by the annotations, as in the own group.
func TestAnnotationsOfAnInferenceModelCount(t *testing.T) {
	t.Parallel()
	got, err := external.Translate(inferenceModel(annotated("8443", "false"), bound("a")), providers)
	if err != nil {
		t.Fatal(err)
	}
	reached, err := external.ProviderOf(got.Model)
	if err != nil || reached != (external.Provider{Host: "api.a.example", Port: 8443}) {
		t.Errorf("ProviderOf() = %+v, %v", reached, err)
	}
}

func TestMessagesNameTheFieldsOfTheInferenceGroup(t *testing.T) {
	t.Parallel()
	got, err := external.Translate(inferenceModel(nil, bound("a"), bound("b")), providers)
	if err != nil {
		t.Fatal(err)
	}
	told := external.Decide(working(func(f *external.Facts) {
		f.Fields, f.Note, f.Refused, f.Rival, f.Credential = got.Fields, got.Note, "is an IP address", key("b"), external.CredentialAbsent
	}))
	for kind, want := range map[v1alpha1.ConditionType]string{
		v1alpha1.ConditionHostAccepted:        "spec.endpoint of ExternalProvider a",
		v1alpha1.ConditionCredentialAvailable: "auth of the ExternalModel or of its ExternalProvider",
		v1alpha1.ConditionModelIdentityUnique: "same spec.modelName",
	} {
		for _, c := range told.Conditions {
			if c.Type == string(kind) && !strings.Contains(c.Message, want) {
				t.Errorf("%s says %q, want %q in it", kind, c.Message, want)
			}
		}
	}
	fine := external.Decide(working(func(f *external.Facts) { f.Note, f.OptedOut = got.Note, []string{"Service maas-gpt"} }))
	if ready := fine.Conditions[0]; !strings.Contains(ready.Message, "ExternalProvider a") || !strings.Contains(ready.Message, "Service maas-gpt") {
		t.Errorf("Ready says %q", ready.Message)
	}
}

func TestWhichOfTwoModelsOfANameCounts(t *testing.T) {
	t.Parallel()
	none, there, leaving := external.Standing{}, external.Standing{Exists: true}, external.Standing{Exists: true, Leaving: true}
	for name, tc := range map[string]struct {
		own, theirs  external.Standing
		able, served bool
		want         bool
	}{
		"only the own one":                             {own: there, theirs: none, able: true, want: false},
		"only the other":                               {own: none, theirs: there, want: true},
		"only the other, which goes":                   {own: none, theirs: leaving, want: true},
		"both":                                         {own: there, theirs: there, able: true, want: true},
		"the other cannot be served":                   {own: there, theirs: there, want: false},
		"the other cannot be served, but is":           {own: there, theirs: there, served: true, want: true},
		"the other goes":                               {own: there, theirs: leaving, able: true, served: true, want: false},
		"the own one goes":                             {own: leaving, theirs: there, able: true, want: true},
		"the own one goes, the other cannot be served": {own: leaving, theirs: there, want: true},
		"both go":                                      {own: leaving, theirs: leaving, able: true, want: true},
	} {
		if got := external.InferenceActs(tc.own, tc.theirs, tc.able, tc.served); got != tc.want {
			t.Errorf("%s: InferenceActs() = %t, want %t", name, got, tc.want)
		}
	}
}
