// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

// guarded is a route with the policies that were generated for it.
type guarded struct {
	auth, limits *unstructured.Unstructured
}

// api is the route to the tenant's maas-api.
func (t tenant) api(ctx context.Context) guarded {
	GinkgoHelper()
	return guarded{auth: policy(ctx, kuadrant.AuthPolicy, builder.Key(infra, t.names().MaaSAPIAuthPolicy()))}
}

// served is the route to the tenant's model.
func (t tenant) served(ctx context.Context) guarded {
	GinkgoHelper()
	model := t.model()
	return guarded{
		auth:   policy(ctx, kuadrant.AuthPolicy, builder.Key(model.Namespace, "maas-auth-"+model.Name)),
		limits: policy(ctx, kuadrant.TokenRateLimitPolicy, builder.Key(model.Namespace, "maas-trlp-"+model.Name)),
	}
}

func policy(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured {
	GinkgoHelper()
	return get(ctx, key.Namespace, key.Name, kuadrant.New(kind))
}

// decide decides a request with a credential by the policies. Whom they ask is the
// maas-api that they name, and a token is known only if its issuer is one of theirs.
func (g guarded) decide(ctx context.Context, path, credential string, claims map[string]any) enforced.Answer {
	GinkgoHelper()
	request := enforced.Request{
		Path: path, Headers: map[string]any{"Authorization": "Bearer " + credential},
		Validate: g.callback(ctx, "apiKeyValidation"), Selected: g.callback(ctx, "subscription-info"),
	}
	for _, issuer := range g.issuers() {
		if issuer == claims["iss"] {
			request.Claims = claims
		}
	}
	return enforced.Of(GinkgoT(), g.auth, g.limits).Serve(request)
}

// issuers are those of the tokens that the policy accepts.
func (g guarded) issuers() []string {
	var found []string
	for _, authenticator := range g.section("authentication") {
		if issuer, ok, _ := unstructured.NestedString(authenticator, "jwt", "issuerUrl"); ok {
			found = append(found, issuer)
		}
	}
	return found
}

// section is a part of the policy's rules.
func (g guarded) section(name string) map[string]map[string]any {
	all, _, _ := unstructured.NestedMap(g.auth.Object, "spec", "rules", name)
	out := map[string]map[string]any{}
	for key, value := range all {
		out[key], _ = value.(map[string]any)
	}
	return out
}

// asked are the URLs of the policy's callbacks.
func (g guarded) asked() []string {
	var all []string
	for _, callback := range g.section("metadata") {
		if target, ok, _ := unstructured.NestedString(callback, "http", "url"); ok {
			all = append(all, target)
		}
	}
	return all
}

// callback asks what a policy asks, where it asks it. Nil when the policy does not.
func (g guarded) callback(ctx context.Context, name string) func(map[string]any) any {
	GinkgoHelper()
	target, found, _ := unstructured.NestedString(g.section("metadata")[name], "http", "url")
	if !found {
		return nil
	}
	asked := must(url.Parse(target))
	parts := strings.Split(asked.Hostname(), ".")
	port := must(strconv.ParseInt(asked.Port(), 10, 32))
	c := clientOf(must(on.Workload.Service(ctx, workload.ServicePort{Namespace: parts[1], Name: parts[0], Port: int32(port)})))
	return func(body map[string]any) any {
		reply, err := c.With("Content-Type", "application/json").Do(ctx, http.MethodPost, asked.Path, body)
		Expect(err).NotTo(HaveOccurred(), target)
		var value any
		Expect(json.Unmarshal(reply.Body, &value)).To(Succeed(), reply.String())
		return value
	}
}
