// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	// modelService is the Service behind the routes of all models.
	modelService = "model-servers"
	// legacyHostname reaches the service through the route of an earlier release.
	legacyHostname = "legacy.example.com"
)

// gateway is the stand-in in front of api and of the model servers.
var gateway *service.Gateway

// servers are what serves the models behind the gateway.
var servers = &modelServers{answers: map[string]http.HandlerFunc{}}

// modelServers are all model servers in one: the first segment of a path is the
// model, which is what routes rewrite paths to.
type modelServers struct {
	mu      sync.Mutex
	answers map[string]http.HandlerFunc
	asked   []probe
}

// probe is what a model server was asked.
type probe struct{ model, path, authorization, subscription string }

func (m *modelServers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	m.mu.Lock()
	answer := m.answers[name]
	m.asked = append(m.asked, probe{name, "/" + path, r.Header.Get("Authorization"), r.Header.Get(service.HeaderSubscription)})
	m.mu.Unlock()
	if answer == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer(w, r)
}

// probes are the requests to a model server so far.
func (m *modelServers) probes(model string) []probe {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.asked), func(p probe) bool { return p.model != model })
}

// always answers with a status and nothing else.
func always(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// tokens are the callers that the gateway knows by a token; it learns of them when
// it starts.
var tokens = struct {
	mu     sync.Mutex
	unused []corner
}{}

const tokenCallers = 24

func (c corner) token() string { return "token-" + c.id }

// identities are those of callers yet to come.
func identities() map[string]service.Identity {
	out := map[string]service.Identity{}
	for range tokenCallers {
		c := newCorner()
		tokens.unused = append(tokens.unused, c)
		out[c.token()] = service.Identity{Username: c.own("user"), Groups: []string{c.group}}
	}
	return out
}

// knownCorner is one whose user the gateway knows by a token.
func knownCorner() corner {
	GinkgoHelper()
	tokens.mu.Lock()
	defer tokens.mu.Unlock()
	Expect(tokens.unused).NotTo(BeEmpty(), "raise tokenCallers")
	c := tokens.unused[0]
	tokens.unused = tokens.unused[1:]
	return c
}

// holder is a client of the corner's user with its token, as the gateway passes it
// on.
func (c corner) holder() service.Client { return c.user().Bearer(c.token()) }

// behind is what makes a model reachable: its route, which leads to its server,
// and the policy that guards it, as generated.
func behind(model types.NamespacedName, answers http.HandlerFunc) []client.Object {
	GinkgoHelper()
	servers.mu.Lock()
	servers.answers[model.Name] = answers
	servers.mu.Unlock()
	route := builder.Route(model.Namespace, model.Name, service.GatewayNamespace, service.GatewayName).
		Hostnames(service.Hostname).Path("/" + model.Namespace + "/" + model.Name).Obj()
	rule := &route.Spec.Rules[0]
	rule.Filters = []gwapiv1.HTTPRouteFilter{{Type: gwapiv1.HTTPRouteFilterURLRewrite, URLRewrite: &gwapiv1.HTTPURLRewriteFilter{
		Path: &gwapiv1.HTTPPathModifier{Type: gwapiv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: new("/" + model.Name)},
	}}}
	rule.BackendRefs = []gwapiv1.HTTPBackendRef{{BackendRef: gwapiv1.BackendRef{
		BackendObjectReference: gwapiv1.BackendObjectReference{Name: modelService, Port: new(gwapiv1.PortNumber(8000))},
	}}}
	policy := kuadrant.New(kuadrant.AuthPolicy)
	policy.SetNamespace(model.Namespace)
	policy.SetName("maas-auth-" + model.Name)
	policy.SetLabels(map[string]string{"maas.opendatahub.io/model": model.Name, "maas.opendatahub.io/model-namespace": model.Namespace})
	Expect(unstructured.SetNestedMap(policy.Object, map[string]any{
		"targetRef": map[string]any{"group": gwapiv1.GroupName, "kind": "HTTPRoute", "name": model.Name},
		"rules": map[string]any{"authentication": map[string]any{
			"tokens": map[string]any{"kubernetesTokenReview": map[string]any{"audiences": []any{"https://kubernetes.default.svc"}}},
		}},
	}, "spec")).To(Succeed())
	return []client.Object{route, policy}
}

// serve publishes models of the corner with routes and servers, and the policy
// that grants them to its group.
func (c corner) serve(ctx SpecContext, answers map[string]http.HandlerFunc, more ...client.Object) {
	GinkgoHelper()
	var names []string
	objects := more
	for name, answer := range answers {
		names = append(names, name)
		objects = append(objects, behind(c.model(name), answer)...)
		objects = append(objects, c.ready(name).Obj())
	}
	if len(names) > 0 {
		objects = append(objects, c.policy("served", names...).Obj())
	}
	settled(ctx, objects...)
	through := must(gateway.Client(service.Hostname)).Bearer(c.token())
	for _, name := range names {
		// The gateway hears of routes and policies by itself.
		Eventually(func() string {
			return get(ctx, through, "/"+c.model(name).String()+"/seen-by-the-gateway").String()
		}).ShouldNot(Or(ContainSubstring("no HTTPRoute matches"), Equal("403 Access denied")))
	}
}

// startServers starts the model servers and returns where they are.
func startServers() string {
	server := httptest.NewServer(servers)
	DeferCleanup(server.Close)
	return server.URL
}

// startThief starts a server with TLS that counts what reaches it, and returns the
// URL of a model that claims to be there.
func startThief(stolen *atomic.Int32) string {
	thief := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	DeferCleanup(thief.Close)
	return strings.Replace(thief.URL, "127.0.0.1", "evil.example.com", 1) + "/llm/evil"
}

// ids are those of models without the corner's suffix.
func (c corner) ids(models []service.Model) []string {
	out := []string{}
	for _, m := range models {
		out = append(out, strings.ReplaceAll(m.ID, c.own(""), ""))
	}
	return out
}
