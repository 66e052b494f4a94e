// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kserve reads KServe's LLMInferenceService, in whichever version the
// cluster serves, without KServe's types: the fields this operator needs are the
// same in all versions, and a field of an unexpected shape counts as absent. The
// package writes nothing and decides nothing about MaaS objects.
package kserve

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupKind identifies LLMInferenceService.
var GroupKind = schema.GroupKind{Group: "serving.kserve.io", Kind: "LLMInferenceService"}

// Resource is the name of its CustomResourceDefinition.
const Resource = "llminferenceservices.serving.kserve.io"

// Versions are the versions this package can read, the preferred one first.
func Versions() []string { return []string{"v1alpha2", "v1alpha1"} }

// Condition types of an LLMInferenceService.
const (
	conditionReady     = "Ready"
	conditionWorkloads = "WorkloadsReady"
	conditionPresets   = "PresetsCombined"
	conditionScheduler = "SchedulerWorkloadReady"
)

// routingConditions are KServe's own view of what this operator asks the gateway.
var routingConditions = []string{"GatewaysReady", "HTTPRoutesReady", "InferencePoolReady"}

const (
	statusTrue  = "True"
	statusFalse = "False"
)

// Service is one LLMInferenceService.
type Service struct {
	object *unstructured.Unstructured
}

// Wrap reads an object of any served version.
func Wrap(object *unstructured.Unstructured) Service { return Service{object: object} }

// New returns an empty object of a version, to read or watch it.
func New(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object
}

// Readiness is whether a service can answer requests that reach it.
type Readiness struct {
	// Ready tells whether its workloads can answer.
	Ready bool
	// Reason and Message are KServe's, when its verdict is not "True".
	Reason, Message string
}

// Readiness reads the conditions. KServe's verdict decides, with one exception: a
// service whose workloads are ready, and which KServe holds back only because of
// its own view of gateways and routes, is ready. That view is known to be wrong for
// gateways KServe does not manage; whoever publishes the model asks the gateway.
func (s Service) Readiness() Readiness {
	all := s.conditions()
	verdict, ok := all[conditionReady]
	if !ok || verdict.status == statusTrue {
		return Readiness{Ready: ok}
	}
	r := Readiness{Reason: verdict.reason, Message: verdict.message}
	r.Ready = verdict.status == statusFalse &&
		all[conditionWorkloads].status == statusTrue &&
		all[conditionPresets].status != statusFalse &&
		all[conditionScheduler].status != statusFalse &&
		slices.ContainsFunc(routingConditions, func(c string) bool { return all[c].status == statusFalse })
	return r
}

type condition struct {
	status, reason, message string
}

func (s Service) conditions() map[string]condition {
	out := map[string]condition{}
	for _, c := range maplist(s.object, "status", "conditions") {
		out[text(c, "type")] = condition{status: text(c, "status"), reason: text(c, "reason"), message: text(c, "message")}
	}
	return out
}

// Address is one entry of the service's status: where it can be reached.
type Address struct {
	// Name says what the address is for; it may be empty.
	Name string
	// URL is the address; it may be empty.
	URL string
	// Models are the names clients may use in a request body at this address.
	Models []string
}

// Addresses lists the addresses in the status.
func (s Service) Addresses() []Address {
	entries := maplist(s.object, "status", "addresses")
	out := make([]Address, 0, len(entries))
	for _, a := range entries {
		address := Address{Name: text(a, "name"), URL: text(a, "url")}
		for _, m := range maplist(&unstructured.Unstructured{Object: a}, "models") {
			if name := text(m, "name"); name != "" {
				address.Models = append(address.Models, name)
			}
		}
		out = append(out, address)
	}
	return out
}

// URL is the address in the status that KServe considers the main one.
func (s Service) URL() string {
	url, _, err := unstructured.NestedString(s.object.Object, "status", "url")
	if err != nil {
		return ""
	}
	return url
}

// Alias is the name under which a gateway that routes by the request body knows
// the model: of the first models of all addresses the one that carries the
// service's namespace, else the smallest. It is empty until KServe publishes one.
func (s Service) Alias() string {
	var names []string
	for _, a := range s.Addresses() {
		if len(a.Models) > 0 {
			names = append(names, a.Models[0])
		}
	}
	if len(names) == 0 {
		return ""
	}
	canonical := "publishers/" + s.object.GetNamespace() + "/"
	return slices.MinFunc(names, func(a, b string) int {
		return cmp.Or(
			-cmp.Compare(rank(a, canonical), rank(b, canonical)),
			cmp.Compare(a, b),
		)
	})
}

func rank(name, prefix string) int {
	if strings.HasPrefix(name, prefix) {
		return 1
	}
	return 0
}

// RouteRefs are the HTTPRoutes of the service's namespace that its spec names
// instead of having KServe make one.
func (s Service) RouteRefs() []string {
	var names []string
	for _, ref := range maplist(s.object, "spec", "router", "route", "http", "refs") {
		if name := text(ref, "name"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// RouteLabels are on the HTTPRoute that KServe makes for a service.
func RouteLabels(service string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":      service,
		"app.kubernetes.io/component": "llminferenceservice-router",
		"app.kubernetes.io/part-of":   "llminferenceservice",
	}
}

// ServiceOfRoute is the service a route was made for by KServe, or "".
func ServiceOfRoute(labels map[string]string) string {
	name := labels["app.kubernetes.io/name"]
	for key, value := range RouteLabels(name) {
		if labels[key] != value {
			return ""
		}
	}
	return name
}

// maplist reads a list of objects; entries of another shape are left out.
func maplist(object *unstructured.Unstructured, path ...string) []map[string]any {
	list, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err != nil {
		return nil
	}
	entries, ok := list.([]any)
	if !ok {
		return nil
	}
	out := make([]map[string]any, 0, len(entries))
	for _, entry := range entries {
		if m, ok := entry.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func text(m map[string]any, key string) string {
	value, ok := m[key].(string)
	if !ok {
		return ""
	}
	return value
}
