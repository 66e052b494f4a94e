// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

func model(namespace, name string, mutate func(*v1alpha1.MaaSModelRef)) *v1alpha1.MaaSModelRef {
	m := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if mutate != nil {
		mutate(m)
	}
	return m
}

func serves(kind v1alpha1.BackendKind, name string) func(*v1alpha1.MaaSModelRef) {
	return func(m *v1alpha1.MaaSModelRef) { m.Spec.ModelRef = v1alpha1.BackendReference{Kind: kind, Name: name} }
}

// indexed is a fake client with every index of the package.
func indexed(t *testing.T, objs ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := fakecluster.Holding(scheme, objs...)
	for _, i := range index.All() {
		b = b.WithIndex(i.Object, i.Name, i.Extract)
	}
	return b.Build()
}

func TestModels(t *testing.T) {
	t.Parallel()
	c := indexed(t,
		model("llm", "a", serves(v1alpha1.BackendLLMInferenceService, "granite")),
		model("llm", "b", serves(v1alpha1.BackendLLMInferenceService, "granite")),
		model("llm", "c", serves(v1alpha1.BackendExternalModel, "granite")),
		model("other", "d", serves(v1alpha1.BackendLLMInferenceService, "granite")),
		model("llm", "empty", nil),
		model("llm", "routed", func(m *v1alpha1.MaaSModelRef) {
			m.Status.HTTPRouteNamespace, m.Status.HTTPRouteName = "llm", "r"
			m.Status.ResolvedModelAlias = "publishers/llm/models/granite"
		}),
	)
	for name, tc := range map[string]struct {
		opts []client.ListOption
		want []string
	}{
		"by backend, kind and namespace kept apart": {
			[]client.ListOption{client.InNamespace("llm"), client.MatchingFields{index.ModelByBackend: index.BackendKey(v1alpha1.BackendLLMInferenceService, "granite")}},
			[]string{"a", "b"},
		},
		"by backend of another kind": {
			[]client.ListOption{client.InNamespace("llm"), client.MatchingFields{index.ModelByBackend: index.BackendKey(v1alpha1.BackendExternalModel, "granite")}},
			[]string{"c"},
		},
		"by route":                 {[]client.ListOption{client.MatchingFields{index.ModelByRoute: index.Key("llm", "r")}}, []string{"routed"}},
		"by route of another name": {[]client.ListOption{client.MatchingFields{index.ModelByRoute: index.Key("llm", "s")}}, nil},
		"without a route":          {[]client.ListOption{client.MatchingFields{index.ModelByRoute: index.Key("other", "")}}, []string{"d"}},
		"by alias":                 {[]client.ListOption{client.MatchingFields{index.ModelByAlias: "publishers/llm/models/granite"}}, []string{"routed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list v1alpha1.MaaSModelRefList
			if err := c.List(t.Context(), &list, tc.opts...); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range list.Items {
				got = append(got, m.Name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("models (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContributorsByModel(t *testing.T) {
	t.Parallel()
	subscription := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "t", Name: "s"}}
	subscription.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "a"}, {Namespace: "llm", Name: "b"}, {Namespace: "llm", Name: "a"}}
	policy := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "t", Name: "p"}}
	policy.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: "llm", Name: "a"}, {Namespace: "x", Name: "b"}}
	c := indexed(t, subscription, policy)

	count := func(namespace, name string) [2]int {
		var subs v1alpha1.MaaSSubscriptionList
		var pols v1alpha1.MaaSAuthPolicyList
		err := errors.Join(
			c.List(t.Context(), &subs, client.MatchingFields{index.SubscriptionByModel: index.Key(namespace, name)}),
			c.List(t.Context(), &pols, client.MatchingFields{index.AuthPolicyByModel: index.Key(namespace, name)}))
		if err != nil {
			t.Fatal(err)
		}
		return [2]int{len(subs.Items), len(pols.Items)}
	}
	got := [][2]int{count("llm", "a"), count("llm", "b"), count("x", "b"), count("x", "a")}
	if diff := cmp.Diff([][2]int{{1, 1}, {1, 0}, {0, 1}, {0, 0}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(index.SubscribedModels(subscription)); n != 2 {
		t.Errorf("a model named twice counts as %d models", n)
	}
}

type indexer struct {
	names []string
	err   error
}

func (i *indexer) IndexField(_ context.Context, _ client.Object, name string, extract client.IndexerFunc) error {
	i.names = append(i.names, name)
	if keys := extract(&corev1.ConfigMap{}); len(keys) != 0 {
		return errors.New("an object of another kind has keys")
	}
	return i.err
}

func TestRegisterAddsEveryIndexAndReportsFailures(t *testing.T) {
	t.Parallel()
	good := &indexer{}
	if err := index.Register(t.Context(), good); err != nil || len(good.names) != len(index.All()) {
		t.Errorf("%d indexes, err = %v", len(good.names), err)
	}
	refused := errors.New("refused")
	if err := index.Register(t.Context(), &indexer{err: refused}); !errors.Is(err, refused) {
		t.Errorf("err = %v", err)
	}
}
