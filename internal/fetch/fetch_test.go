// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

var (
	key     = types.NamespacedName{Namespace: "llm", Name: "granite"}
	errDown = errors.New("connection refused")
)

// cluster holds the objects; reads fail with the error, if there is one.
func cluster(t *testing.T, err error, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fakecluster.Holding(scheme, objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if err != nil {
				return err
			}
			return c.Get(ctx, key, object, opts...)
		},
	}).Build()
}

func TestAnObjectThatExistsIsRead(t *testing.T) {
	t.Parallel()
	stored := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{"a": "b"}}}
	into := &v1alpha1.MaaSModelRef{}
	got, err := fetch.Optional(t.Context(), cluster(t, nil, stored), key, into)
	if err != nil || got != into || got.Labels["a"] != "b" {
		t.Errorf("got %+v, err = %v", got, err)
	}
}

func TestAbsenceIsAnAnswer(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"the object does not exist":     nil,
		"its kind is not installed":     &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "MaaSModelRef"}},
		"its resource is not installed": &meta.NoResourceMatchError{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fetch.Optional(t.Context(), cluster(t, err), key, &v1alpha1.MaaSModelRef{})
			if err != nil || got != nil {
				t.Errorf("got %+v, err = %v", got, err)
			}
		})
	}
}

func TestAnErrorNamesKindAndObject(t *testing.T) {
	t.Parallel()
	route := &unstructured.Unstructured{}
	route.SetAPIVersion("gateway.networking.k8s.io/v1")
	route.SetKind("HTTPRoute")
	for name, tc := range map[string]struct {
		object client.Object
		want   string
	}{
		"a typed object":       {&v1alpha1.MaaSModelRef{}, "read MaaSModelRef llm/granite: "},
		"an unstructured one":  {route, "read HTTPRoute llm/granite: "},
		"an object's metadata": {&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "Secret"}}, "read Secret llm/granite: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fetch.Optional(t.Context(), cluster(t, errDown), key, tc.object)
			if !errors.Is(err, errDown) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("err = %v, want it to begin with %q", err, tc.want)
			}
			if got != nil {
				t.Error("an object was returned together with an error")
			}
		})
	}
}
