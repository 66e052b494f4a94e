// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

// ledOut are the objects of a model of a provider. The certificate of a test server is
// for example.com.
const ledOut = `
apiVersion: v1
kind: Service
metadata: {namespace: llm, name: maas-gpt}
spec: {type: ExternalName, externalName: example.com, ports: [{port: 443}]}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {namespace: llm, name: maas-gpt}
spec: {hosts: [example.com], location: MESH_EXTERNAL, resolution: DNS, ports: [{name: https-443, number: 443, protocol: HTTPS}]}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {namespace: llm, name: maas-gpt}
spec: {host: example.com, trafficPolicy: {portLevelSettings: [{port: {number: 443}, tls: {mode: SIMPLE, sni: example.com, subjectAltNames: [example.com]}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  namespace: llm
  name: maas-gpt
  ownerReferences: [{apiVersion: maas.opendatahub.io/v1alpha1, kind: ExternalModel, name: gpt, uid: "1", controller: true}]
spec:
  parentRefs: [{namespace: openshift-ingress, name: maas-default-gateway}]
  rules:
    - matches: [{path: {type: PathPrefix, value: /llm/gpt}}]
      filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Host, value: example.com}]}}]
      backendRefs: [{name: maas-gpt, port: 443}]
---
apiVersion: maas.opendatahub.io/v1alpha1
kind: ExternalModel
metadata: {namespace: llm, name: gpt}
spec:
  provider: openai
  credentialRef: {name: openai}
  externalProviderRefs: [{ref: {name: other}, weight: 0}, {ref: {name: openai}}]
---
apiVersion: inference.opendatahub.io/v1alpha1
kind: ExternalProvider
metadata: {namespace: llm, name: openai}
spec: {provider: openai, auth: {type: apikey, secretRef: {name: openai}}}
---
apiVersion: v1
kind: Secret
metadata: {namespace: llm, name: openai, labels: {inference.llm-d.ai/ipp-managed: "true"}}
data: {api-key: cHJvdmlkZXItc2VjcmV0}
`

func TestTheWayToAProvider(t *testing.T) {
	t.Parallel()
	without := func(kind string) func(string) string {
		return func(all string) string {
			var kept []string
			for document := range strings.SplitSeq(all, "\n---\n") {
				if !strings.Contains(document, "\nkind: "+kind+"\n") {
					kept = append(kept, document)
				}
			}
			return strings.Join(kept, "\n---\n")
		}
	}
	replace := func(what, by string) func(string) string {
		return func(all string) string { return strings.ReplaceAll(all, what, by) }
	}
	as := func(all string) string { return all }
	for name, tc := range map[string]struct {
		objects func(string) string
		want    int
		text    string
	}{
		"as the objects say":                       {as, http.StatusOK, "example.com Bearer provider-secret"},
		"with the key of another provider's style": {replace("provider: openai", "provider: anthropic"), http.StatusOK, "example.com Bearer client provider-secret"},
		"with the key of the first provider that counts, of the inference group": {
			replace("apiVersion: maas.opendatahub.io/v1alpha1", "apiVersion: inference.opendatahub.io/v1alpha1"), http.StatusOK, "example.com Bearer provider-secret",
		},
		"by an object that cannot be read":              {replace("resolution: DNS", "resolution: {}"), http.StatusServiceUnavailable, "could be read"},
		"to a host that nobody makes known":             {without("ServiceEntry"), http.StatusServiceUnavailable, "no ServiceEntry"},
		"to a host that does not speak what is spoken":  {without("DestinationRule"), http.StatusBadRequest, "HTTP request to an HTTPS server"},
		"to a host with somebody else's certificate":    {replace("subjectAltNames: [example.com]", "subjectAltNames: [api.test]"), http.StatusServiceUnavailable, "does not answer"},
		"to a host that is nowhere":                     {replace("example.com", "api.test"), http.StatusServiceUnavailable, "does not answer"},
		"without a Secret":                              {without("Secret"), http.StatusInternalServerError, "credentials not found"},
		"with a Secret that payload processing ignores": {replace("ipp-managed", "bbr-managed"), http.StatusInternalServerError, "credentials not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, text := askProvider(t, tc.objects(ledOut))
			if status != tc.want || !strings.Contains(text, tc.text) {
				t.Errorf("got %d %q, want %d %q", status, text, tc.want, tc.text)
			}
		})
	}
}

// askProvider sends a request through the stand-in, with a credential of the client's, to
// a provider that answers with host and credentials it sees.
func askProvider(t *testing.T, text string) (status int, answer string) {
	t.Helper()
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Api-Key")) //nolint:gosec // The test reads it.
	}))
	t.Cleanup(provider.Close)
	var all []runtime.Object
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		encoded, err := yaml.YAMLToJSON([]byte(document))
		if err == nil {
			err = object.UnmarshalJSON(encoded)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	kinds := map[schema.GroupVersionResource]string{
		routeResource: "HTTPRouteList", serviceResource: "ServiceList", entryResource: "ServiceEntryList", ruleResource: "DestinationRuleList",
		externalResource: "ExternalModelList", inferenceResource: "ExternalModelList", providerResource: "ExternalProviderList", secretResource: "SecretList", filterResource: "EnvoyFilterList", limiterResource: "LimitadorList",
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, all...)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	log := slog.New(slog.DiscardHandler)
	s := settings{gateway: theGateway, limitador: "kuadrant-system/limitador", providerKeys: true}
	if err := s.outside.Set("example.com:443=" + provider.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	p := newProxy(&routing{gateway: theGateway}, nil, trust(nil, false), log)
	if err := p.leadOut(ctx, client, s, log); err != nil {
		t.Fatal(err)
	}
	p.exits.authorities = x509.NewCertPool()
	p.exits.authorities.AddCert(provider.Certificate())
	e, err := newEngine(p, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.watch(ctx, client, s); err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/llm/gpt/v1/models", http.NoBody)
	request.Header.Set("Authorization", "Bearer client")
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}
