// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// syncTimeout bounds the first reading of the objects.
const syncTimeout = 30 * time.Second

// What is watched, and how generated policies say which model they are for.
var (
	routeResource  = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
	policyResource = schema.GroupVersionResource{Group: "kuadrant.io", Version: "v1", Resource: "authpolicies"}
)

const (
	labelModel          = "maas.opendatahub.io/model"
	labelModelNamespace = "maas.opendatahub.io/model-namespace"
	keyHeaderRule       = "api-keys-x-api-key"
)

// guard is what a generated AuthPolicy says about a route.
type guard struct {
	model     string // <namespace>/<name>.
	keyHeader bool
}

// watch keeps the routing table like the objects of the API server, and returns
// once it is for the first time.
func watch(ctx context.Context, client dynamic.Interface, into *routing, log *slog.Logger) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	routes, policies := factory.ForResource(routeResource).Informer(), factory.ForResource(policyResource).Informer()
	return follow(ctx, func() {
		targets := compile(decode(routes.GetStore().List(), log), into.gateway, into.apiName, guardsOf(policies.GetStore().List()))
		into.targets.Store(&targets)
	}, map[string]cache.SharedIndexInformer{nameOf(routeResource): routes, nameOf(policyResource): policies})
}

func nameOf(r schema.GroupVersionResource) string { return r.Resource + "." + r.Group }

// follow runs informers and refreshes something made of their objects: before it
// returns, and after every change until the context ends.
func follow(ctx context.Context, refresh func(), informers map[string]cache.SharedIndexInformer) error {
	changed := make(chan struct{}, 1)
	notice := func() {
		select {
		case changed <- struct{}{}:
		default: // A refresh is due already.
		}
	}
	starting, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	for _, informer := range informers {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { notice() }, UpdateFunc: func(any, any) { notice() }, DeleteFunc: func(any) { notice() },
		}); err != nil {
			return fmt.Errorf("watch objects: %w", err)
		}
		go informer.RunWithContext(ctx)
	}
	for name, informer := range informers {
		if !cache.WaitForCacheSync(starting.Done(), informer.HasSynced) {
			return errors.Join(ctx.Err(), fmt.Errorf("read %s from the API server: is the API server there, and are its CRDs installed?", name))
		}
	}
	refresh()
	go func() {
		for {
			select {
			case <-changed:
				refresh()
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// decode reads routes; one that cannot be read is left out.
func decode(objects []any, log *slog.Logger) []httpRoute {
	var out []httpRoute
	for _, o := range objects {
		object, ok := o.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		var route httpRoute
		text, err := object.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &route)
		}
		if err != nil {
			log.Error("Leaving a route out that cannot be read", "route", object.GetNamespace()+"/"+object.GetName(), "error", err)
			continue
		}
		out = append(out, route)
	}
	return out
}

// guardsOf finds the models of routes, by <namespace>/<name> of the route.
func guardsOf(policies []any) map[string]guard {
	out := map[string]guard{}
	for _, object := range policies {
		policy, ok := object.(*unstructured.Unstructured)
		if !ok || policy.GetLabels()[labelModel] == "" {
			continue
		}
		kind, _, _ := unstructured.NestedString(policy.Object, "spec", "targetRef", "kind")
		name, _, _ := unstructured.NestedString(policy.Object, "spec", "targetRef", "name")
		if kind != "HTTPRoute" {
			continue
		}
		namespace := policy.GetLabels()[labelModelNamespace]
		if namespace == "" {
			namespace = policy.GetNamespace()
		}
		_, keyHeader, _ := unstructured.NestedMap(policy.Object, "spec", "rules", "authentication", keyHeaderRule)
		out[policy.GetNamespace()+"/"+name] = guard{model: namespace + "/" + policy.GetLabels()[labelModel], keyHeader: keyHeader}
	}
	return out
}
