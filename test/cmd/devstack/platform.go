// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/internal/samples"
)

// infraNamespace is where the operator runs what belongs to tenants: the companion of
// the namespace it runs in itself.
const infraNamespace = "odh-ai-gateway-infra"

// The Secret that whoever installs the operator provides.
const (
	databaseSecret    = "maas-db-config"
	databaseSecretKey = "DB_CONNECTION_URL"
)

// noDatabase is the address of a stack whose maas-api only pretends to run.
const noDatabase = "postgres://nobody@127.0.0.1:1/none"

// kuadrant is what an installation of Kuadrant brings beside its CRDs.
//
//go:embed kuadrant.yaml
var kuadrantInstallation []byte

// applyManager installs the operator as config/manager does. Its Pod only pretends to
// run: the operator is the process beside it.
func (s *stack) applyManager(ctx context.Context) error {
	if _, err := s.env.OperatorConfig(ctx); err != nil { // It makes its namespace, ServiceAccount and rights.
		return err
	}
	objects, err := samples.Load(s.layout.manager())
	if err != nil {
		return err
	}
	return s.apply(ctx, objects)
}

// managerEnvironment is what the Deployment of config/manager sets for the operator,
// the images of what it runs included.
func (l layout) managerEnvironment() (map[string]string, error) {
	objects, err := samples.Load(l.manager())
	if err != nil {
		return nil, err
	}
	set := map[string]string{}
	for _, o := range objects {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		for _, c := range containers {
			container, _ := c.(map[string]any)
			variables, _ := container["env"].([]any)
			for _, v := range variables {
				variable, _ := v.(map[string]any)
				name, _ := variable["name"].(string)
				if value, ok := variable["value"].(string); ok {
					set[name] = value
				}
			}
		}
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("read %s: its Deployment sets no variables", l.manager())
	}
	return set, nil
}

// preparePlatform makes what a cluster has before the first tenant: Kuadrant's
// Authorino, and the Gateway and the namespaces of the samples.
func (s *stack) preparePlatform(ctx context.Context) error {
	all, err := samples.Load(s.layout.samples())
	if err != nil {
		return err
	}
	if s.engines { // Kuadrant's operator has made its Authorino.
		return s.apply(ctx, foundation(all))
	}
	authorino := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(kuadrantInstallation, &authorino.Object); err != nil {
		return fmt.Errorf("read the installation of Kuadrant: %w", err)
	}
	return s.apply(ctx, append([]*unstructured.Unstructured{namespace(authorino.GetNamespace()), authorino}, foundation(all)...))
}

// foundation is the part of samples that tenants are made on.
func foundation(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	var some []*unstructured.Unstructured
	for _, o := range all {
		switch o.GetKind() {
		case "Namespace", "GatewayClass", kindGateway:
			some = append(some, o)
		}
	}
	return some
}

// provideDatabase writes the Secret that leads to the database, once the operator has
// made the namespace.
func (s *stack) provideDatabase(ctx context.Context) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	err = poll(ctx, convergeTimeout, readyPoll, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, types.NamespacedName{Name: infraNamespace}, &corev1.Namespace{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("wait for namespace %s, which the operator makes: %w", infraNamespace, err)
	}
	url := cmp.Or(s.state.Database, noDatabase)
	return s.apply(ctx, []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": databaseSecret, "namespace": infraNamespace},
		"stringData": map[string]any{databaseSecretKey: url},
	}}})
}

func namespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
}

// apply applies objects as the administrator.
func (s *stack) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	return samples.Apply(ctx, c, objects)
}
