// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/opendatahub-io/maas-operator/hack/gateway/filter"
	"github.com/opendatahub-io/maas-operator/hack/gateway/limiter"
)

// What kuadrant-operator generates for a gateway.
var (
	filterResource  = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1alpha3", Resource: "envoyfilters"}
	limiterResource = schema.GroupVersionResource{Group: "limitador.kuadrant.io", Version: "v1alpha1", Resource: "limitadors"}
)

const (
	filterPrefix = "kuadrant-" // Before the name of the Gateway.
	filterName   = "envoy.filters.http.wasm"
)

// engine guards routes by generated configuration alone. It takes the place of an
// [Identifier], and of every rule of this program.
type engine struct {
	proxy       *proxy
	services    filter.Services
	expressions *filter.Expressions
	clock       *clock
	present     atomic.Pointer[generated]
	log         *slog.Logger
}

// generated is the present configuration. Without a plug-in and without a fault
// there is none, and requests pass as through a proxy without the filter.
type generated struct {
	plugin *filter.Plugin
	// fault is why it cannot be executed: every request is refused with it.
	fault error
	// filterVersion and limiterVersion are the resource versions of the objects.
	filterVersion, limiterVersion string
	notes                         []string
}

func newEngine(p *proxy, authorization authv3.AuthorizationClient, log *slog.Logger) (*engine, error) {
	expressions, err := filter.NewExpressions()
	if err != nil {
		return nil, err
	}
	e := &engine{proxy: p, expressions: expressions, clock: &clock{}, log: log}
	e.services = filter.Services{Authorization: authorization, Limiter: limiter.New(e.clock.now), Recorder: &filter.Recorder{}}
	e.present.Store(&generated{})
	return e, nil
}

// dialAuthorization connects to the authorization server, which need not be there.
func dialAuthorization(address string) (*grpc.ClientConn, error) {
	// It connects again soon: a proxy tries with every request.
	again := grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 500 * time.Millisecond}, MinConnectTimeout: time.Second}
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(), grpc.WithConnectParams(again))
	if err != nil {
		return nil, fmt.Errorf("connect to --authorino: %w", err)
	}
	return connection, nil
}

// watch keeps routes and configuration like the objects of the API server.
func (e *engine) watch(ctx context.Context, client dynamic.Interface, s settings) error {
	namespace, gateway, _ := strings.Cut(s.gateway, "/")
	limiterNamespace, limiterName, _ := strings.Cut(s.limitador, "/")
	one := func(resource schema.GroupVersionResource, namespace string) cache.SharedIndexInformer {
		return dynamicinformer.NewFilteredDynamicInformer(client, resource, namespace, 0, cache.Indexers{}, nil).Informer()
	}
	routes, filters, limits := one(routeResource, ""), one(filterResource, namespace), one(limiterResource, limiterNamespace)
	if err := follow(ctx, func() {
		targets := compile(decode(routes.GetStore().List(), e.log), s.gateway, "", nil)
		e.proxy.routes.targets.Store(&targets)
	}, map[string]cache.SharedIndexInformer{nameOf(routeResource): routes}); err != nil {
		return err
	}
	return follow(ctx, func() {
		e.configure(find(filters, namespace, filterPrefix+gateway), find(limits, limiterNamespace, limiterName))
	}, map[string]cache.SharedIndexInformer{nameOf(filterResource): filters, nameOf(limiterResource): limits})
}

// find returns an object of a store, nil if it is not there.
func find(informer cache.SharedIndexInformer, namespace, name string) *unstructured.Unstructured {
	object, _, err := informer.GetStore().GetByKey(namespace + "/" + name)
	if err != nil {
		return nil
	}
	found, _ := object.(*unstructured.Unstructured)
	return found
}

// configure takes the generated objects over; nil ones are not there.
func (e *engine) configure(envoyFilter, limitador *unstructured.Unstructured) {
	next, before := &generated{}, e.present.Load()
	if envoyFilter != nil {
		next.filterVersion = envoyFilter.GetResourceVersion()
	}
	specs, err := []limiter.Spec(nil), error(nil)
	if limitador != nil {
		next.limiterVersion = limitador.GetResourceVersion()
		specs, err = specsOf(limitador)
	}
	if err == nil {
		next.notes, err = e.services.Limiter.Configure(specs)
	}
	if err != nil {
		next.fault = fmt.Errorf("limits: %w", err)
	}
	switch text, found, err := configurationOf(envoyFilter); {
	case err != nil:
		next.fault = fmt.Errorf("EnvoyFilter: %w", err)
	case found && envoyFilter.GetResourceVersion() == before.filterVersion && before.plugin != nil:
		next.plugin = before.plugin // Only limits have changed.
	case found:
		if next.plugin, err = filter.Compile([]byte(text), e.expressions); err != nil {
			next.fault = err
		}
	}
	e.present.Store(next)
	if next.fault != nil {
		e.log.Error("The generated configuration cannot be executed", "error", next.fault)
		return
	}
	sets := 0
	if next.plugin != nil {
		sets = next.plugin.ActionSets()
	}
	e.log.Info("Executing generated configuration", "actionSets", sets, "limits", e.services.Limiter.Limits(), "notes", next.notes)
}

// specsOf reads the limits of a Limitador.
func specsOf(limitador *unstructured.Unstructured) ([]limiter.Spec, error) {
	list, _, err := unstructured.NestedSlice(limitador.Object, "spec", "limits")
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return limiter.ParseSpecs(text)
}

// configurationOf finds the configuration of the filter's plug-in in the patches of
// an EnvoyFilter.
func configurationOf(envoyFilter *unstructured.Unstructured) (text string, found bool, err error) {
	if envoyFilter == nil {
		return "", false, nil
	}
	patches, _, err := unstructured.NestedSlice(envoyFilter.Object, "spec", "configPatches")
	if err != nil {
		return "", false, err
	}
	for _, patch := range patches {
		object, ok := patch.(map[string]any)
		if !ok {
			continue
		}
		if name, _, _ := unstructured.NestedString(object, "patch", "value", "name"); name != filterName {
			continue
		}
		if found {
			return "", false, fmt.Errorf("there is more than one patch with %s", filterName)
		}
		text, found, err = unstructured.NestedString(object, "patch", "value", "typed_config", "value", "config", "configuration", "value")
		if err != nil || !found {
			return "", false, fmt.Errorf("the patch with %s has no configuration as a text: %w", filterName, err)
		}
	}
	return text, found, nil
}

// ServeHTTP runs the filter and passes the request on, or answers it. The filter
// comes before the choice of a route, as in a proxy.
func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := normal(r.URL)
	header := r.Header.Clone()
	arrive(header, r)
	request := requestOf(r, asked, header)
	to := passage{target: e.proxy.routes.find(r, hostOf(r), asked), asked: asked, header: header}
	present := e.present.Load()
	if present.fault != nil || present.plugin == nil {
		decision := &filter.Decision{ID: request.ID(), Time: request.Time, Method: request.Method, Host: request.Host, Path: withQuery(asked, request.Query)}
		if present.fault != nil {
			decision.Outcome, decision.Status, decision.Error = filter.OutcomeMisconfigured, http.StatusInternalServerError, present.fault.Error()
			e.services.Recorder.Add(decision)
			http.Error(w, "the stand-in cannot execute the generated configuration: "+present.fault.Error(), http.StatusInternalServerError)
			return
		}
		decision.Outcome = filter.OutcomeUnconfigured
		e.services.Recorder.Add(decision)
		e.proxy.forward(w, r, to)
		return
	}
	stream, answer := present.plugin.Begin(r.Context(), e.services, request)
	if answer != nil {
		reply(w, answer)
		return
	}
	to.header, to.reply, to.failed = stream.Header(), stream.Reply, stream.Failed
	e.proxy.forward(w, r, to)
}

// requestOf is what the filter sees of a request.
func requestOf(r *http.Request, asked string, header http.Header) *filter.Request {
	out := &filter.Request{
		Method: r.Method, Host: r.Host, Scheme: "https", Protocol: r.Proto, Path: asked, Query: r.URL.RawQuery, Header: header,
		Time: timeNow(), Source: r.RemoteAddr,
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		out.Destination = local.String()
	}
	if r.TLS != nil {
		out.ServerName, out.TLSVersion = r.TLS.ServerName, strings.ReplaceAll(tls.VersionName(r.TLS.Version), "TLS 1.", "TLSv1.")
	}
	return out
}

// reply writes an answer of the filter as a proxy does.
func reply(w http.ResponseWriter, a *filter.Answer) {
	for name, values := range a.Header {
		for _, value := range values {
			w.Header().Add(name, value)
		}
	}
	if a.Body != "" && w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/plain")
	}
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body) //nolint:gosec // The authorization server wrote it for this client, which may have gone.
}
