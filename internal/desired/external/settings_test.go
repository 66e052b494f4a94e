// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
)

func modelWith(spec v1alpha1.ExternalModelSpec, annotations map[string]string) *v1alpha1.ExternalModel {
	spec.Endpoint = "API.example.com"
	return &v1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "gpt", Annotations: annotations}, Spec: spec}
}

func annotated(port, tls string) map[string]string {
	out := map[string]string{}
	if port != "" {
		out[v1alpha1.AnnotationPort] = port
	}
	if tls != "" {
		out[v1alpha1.AnnotationTLS] = tls
	}
	return out
}

func TestProviderOf(t *testing.T) {
	t.Parallel()
	type spec = v1alpha1.ExternalModelSpec
	for name, tc := range map[string]struct {
		spec        spec
		annotations map[string]string
		want        external.Provider
	}{
		"nothing said":                         {spec{}, nil, external.Provider{Port: 443, TLS: true}},
		"fields":                               {spec{Port: 8080, TLS: new(false), PathPrefix: "/v1"}, nil, external.Provider{Port: 8080, PathPrefix: "/v1"}},
		"annotations of an earlier release":    {spec{}, annotated("8080", "false"), external.Provider{Port: 8080}},
		"annotations in other spellings of Go": {spec{}, annotated("0080", "F"), external.Provider{Port: 80}},
		"fields before annotations":            {spec{Port: 443, TLS: new(true)}, annotated("8080", "false"), external.Provider{Port: 443, TLS: true}},
		"fields before broken annotations":     {spec{Port: 443, TLS: new(false)}, annotated("x", "y"), external.Provider{Port: 443}},
		"a slash at the end of the prefix":     {spec{PathPrefix: "/a/b/"}, nil, external.Provider{Port: 443, TLS: true, PathPrefix: "/a/b"}},
		"the root as prefix":                   {spec{PathPrefix: "/"}, nil, external.Provider{Port: 443, TLS: true, PathPrefix: "/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.Host = "api.example.com"
			got, err := external.ProviderOf(modelWith(tc.spec, tc.annotations))
			if err != nil {
				t.Fatalf("ProviderOf() error = %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ProviderOf() (-want +got):\n%s", diff)
			}
		})
	}
}

// W-27: an annotation that cannot be read was tried again for ever, without a word.
func TestABrokenAnnotationIsTheUsers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		annotations map[string]string
		field       string
	}{
		"no number":      {annotated("https", ""), "spec.port"},
		"too small":      {annotated("0", ""), "spec.port"},
		"negative":       {annotated("-1", ""), "spec.port"},
		"too large":      {annotated("65536", ""), "spec.port"},
		"far too large":  {annotated("4294967739", ""), "spec.port"},
		"neither yes":    {annotated("", "yes"), "spec.tls"},
		"nothing at all": {map[string]string{v1alpha1.AnnotationTLS: ""}, "spec.tls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := external.ProviderOf(modelWith(v1alpha1.ExternalModelSpec{}, tc.annotations))
			user, ok := apperr.AsUser(err)
			if !ok || user.Reason != string(v1alpha1.ReasonInvalidSpec) || !strings.Contains(user.Message, tc.field) {
				t.Errorf("ProviderOf() error = %v, want InvalidSpec that names %s", err, tc.field)
			}
		})
	}
}
