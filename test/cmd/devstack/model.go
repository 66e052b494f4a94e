// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/simulator"
)

// sampleModel is what the samples say of their model.
type sampleModel struct {
	// Ref is the MaaSModelRef.
	Ref types.NamespacedName
	// Served is what its server calls the model.
	Served string
	// Service is <namespace>/<name> of where its route leads, Hostname that of the route.
	Service, Hostname string
}

// findModel looks for the model of manifests: one MaaSModelRef, the
// LLMInferenceService behind it, and the HTTPRoute of that.
func findModel(objects []*unstructured.Unstructured) (sampleModel, error) {
	var m sampleModel
	var routeName string
	for _, o := range objects {
		switch o.GetKind() {
		case "MaaSModelRef":
			m.Ref = types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		case "LLMInferenceService":
			m.Served, _, _ = unstructured.NestedString(o.Object, "spec", "model", "name")
			routeName = firstOf(o.Object, "name", "spec", "router", "route", "http", "refs")
		}
	}
	for _, o := range objects {
		if o.GetKind() != "HTTPRoute" || o.GetNamespace() != m.Ref.Namespace || o.GetName() != routeName {
			continue
		}
		hostnames, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "hostnames")
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		if len(hostnames) == 0 || len(rules) == 0 {
			continue
		}
		rule, _ := rules[0].(map[string]any)
		m.Hostname, m.Service = hostnames[0], o.GetNamespace()+"/"+firstOf(rule, "name", "backendRefs")
	}
	if m.Ref.Name == "" || m.Served == "" || m.Service == "" {
		return m, errors.New("read samples: they need a MaaSModelRef, the LLMInferenceService behind it with spec.model.name, and the HTTPRoute that its spec.router names")
	}
	return m, nil
}

// firstOf returns a field of the first object of a list.
func firstOf(object map[string]any, field string, path ...string) string {
	items, _, _ := unstructured.NestedSlice(object, path...)
	if len(items) == 0 {
		return ""
	}
	item, _ := items[0].(map[string]any)
	value, _ := item[field].(string)
	return value
}

// startModel starts the server of the samples' model.
func (s *stack) startModel(ctx context.Context) error {
	if runs, err := s.runsAlready(ctx, processModel); runs || err != nil {
		return err
	}
	t, err := s.site(defaultTenant)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(s.layout.modelLogs()); err != nil { // Each port has a log of its own.
		return fmt.Errorf("remove logs of an earlier run: %w", err)
	}
	server, err := simulator.Start(ctx, simulator.Options{
		Model: t.model.Served, Dir: s.layout.modelLogs(), Keep: s.keep, Out: s.progress,
		Started: func(p *process.Process) error { return s.record(processModel, &child{Process: p}) },
	})
	if err != nil {
		return fmt.Errorf("start the model: %w", err)
	}
	p := s.state.Processes[processModel]
	p.Probe, p.Metrics, p.Address = server.URL+"/health", server.URL+"/metrics", hostOf(server.URL)
	s.state.Backend = server.URL
	errs := []error{s.layout.writeState(s.state)}
	for _, name := range s.state.gatewayProcesses() { // They have been told another address.
		errs = append(errs, s.end(name))
	}
	return errors.Join(errs...)
}
