// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

// cluster is a discovery of the listed kinds by group version. It counts questions.
type cluster struct {
	serves map[string][]string
	err    error
	asked  int
}

func (c *cluster) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	c.asked++
	if c.err != nil {
		return nil, c.err
	}
	kinds, ok := c.serves[groupVersion]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, groupVersion)
	}
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for _, kind := range kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
	}
	return list, nil
}

var widget = facts.API{
	GroupKind: schema.GroupKind{Group: "example.com", Kind: "Widget"},
	CRD:       "widgets.example.com",
	Versions:  []string{"v1alpha2", "v1alpha1"},
}

var errDown = errors.New("connection refused")

func TestServed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cluster     cluster
		wantVersion string
		wantServed  bool
		wantErr     error
	}{
		"both versions: the preferred one": {cluster{serves: map[string][]string{"example.com/v1alpha1": {"Widget"}, "example.com/v1alpha2": {"Widget"}}}, "v1alpha2", true, nil},
		"only the older version":           {cluster{serves: map[string][]string{"example.com/v1alpha1": {"Other", "Widget"}}}, "v1alpha1", true, nil},
		"the version without the kind":     {cluster{serves: map[string][]string{"example.com/v1alpha2": {"Other"}}}, "", false, nil},
		"the group is unknown":             {cluster{}, "", false, nil},
		"only a version we cannot read":    {cluster{serves: map[string][]string{"example.com/v2": {"Widget"}}}, "", false, nil},
		"the answer is not known":          {cluster{err: errDown}, "", false, errDown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gvk, served, err := facts.Served(&tc.cluster, widget)
			if gvk.Version != tc.wantVersion || served != tc.wantServed || !errors.Is(err, tc.wantErr) {
				t.Errorf("Served = %v, %v, %v", gvk, served, err)
			}
		})
	}
}

func TestDetectPlatform(t *testing.T) {
	t.Parallel()
	openShift := map[string][]string{"config.openshift.io/v1": {"Authentication"}}
	for name, tc := range map[string]struct {
		cluster cluster
		asked   facts.Platform
		want    facts.Platform
		wantErr error
	}{
		"OpenShift by its configuration":         {cluster{serves: openShift}, facts.Auto, facts.OpenShift, nil},
		"OpenShift by its version":               {cluster{serves: map[string][]string{"config.openshift.io/v1": {"ClusterVersion"}}}, facts.Auto, facts.OpenShift, nil},
		"anything else is Kubernetes":            {cluster{}, facts.Auto, facts.Kubernetes, nil},
		"the user's word counts":                 {cluster{serves: openShift}, facts.Kubernetes, facts.Kubernetes, nil},
		"the user's word needs no cluster":       {cluster{err: errDown}, facts.OpenShift, facts.OpenShift, nil},
		"not knowing is not the same as knowing": {cluster{err: errDown}, facts.Auto, "", errDown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := facts.DetectPlatform(&tc.cluster, tc.asked)
			if got != tc.want || !errors.Is(err, tc.wantErr) {
				t.Errorf("DetectPlatform = %q, %v", got, err)
			}
		})
	}
}

func TestParsePlatform(t *testing.T) {
	t.Parallel()
	for _, text := range facts.Platforms() {
		if got, err := facts.ParsePlatform(text); err != nil || string(got) != text {
			t.Errorf("ParsePlatform(%q) = %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "OpenShift", "xks"} {
		if _, err := facts.ParsePlatform(text); err == nil {
			t.Errorf("ParsePlatform(%q) succeeds", text)
		}
	}
}

func authentication(spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Authentication"})
	u.SetName("cluster")
	return u
}

func TestAudience(t *testing.T) {
	t.Parallel()
	noMatch := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "config.openshift.io", Kind: "Authentication"}}
	for name, tc := range map[string]struct {
		platform facts.Platform
		objects  []client.Object
		getErr   error
		want     string
		wantErr  bool
	}{
		"the cluster's own issuer":            {facts.OpenShift, []client.Object{authentication(map[string]any{"serviceAccountIssuer": "https://oidc.example.com"})}, nil, "https://oidc.example.com", false},
		"an empty issuer means the default":   {facts.OpenShift, []client.Object{authentication(map[string]any{"serviceAccountIssuer": ""})}, nil, facts.DefaultAudience, false},
		"no issuer means the default":         {facts.OpenShift, []client.Object{authentication(map[string]any{})}, nil, facts.DefaultAudience, false},
		"no object means the default":         {facts.OpenShift, nil, nil, facts.DefaultAudience, false},
		"no such kind means the default":      {facts.OpenShift, nil, noMatch, facts.DefaultAudience, false},
		"an unreadable issuer is not assumed": {facts.OpenShift, nil, errDown, "", true},
		"an issuer of an odd shape":           {facts.OpenShift, []client.Object{authentication(map[string]any{"serviceAccountIssuer": int64(4)})}, nil, "", true},
		"Kubernetes is not asked":             {facts.Kubernetes, nil, errDown, facts.DefaultAudience, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := fakecluster.Holding(runtime.NewScheme(), tc.objects...).
				WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if tc.getErr != nil {
						return tc.getErr
					}
					return c.Get(ctx, key, obj, opts...)
				}}).Build()
			got, err := facts.Audience(t.Context(), reader, tc.platform)
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("Audience = %q, %v", got, err)
			}
		})
	}
}
