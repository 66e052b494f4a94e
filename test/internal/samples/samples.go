// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package samples reads and applies manifests such as those of config/samples.
package samples

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const fieldOwner = "devstack"

// Load reads the manifests a kustomization lists, in its order.
func Load(dir string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(content, &kustomization); err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	var out []*unstructured.Unstructured
	for _, name := range kustomization.Resources {
		objects, err := testenv.ReadObjects(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// Apply applies the objects in order and, for those that bring a status
// because nothing else writes it yet, the status too.
func Apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	options := []client.ApplyOption{client.FieldOwner(fieldOwner), client.ForceOwnership}
	for _, o := range objects {
		name := fmt.Sprintf("%s %s", o.GetKind(), client.ObjectKeyFromObject(o))
		spec := o.DeepCopy()
		unstructured.RemoveNestedField(spec.Object, "status")
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(spec), options...); err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
		status, found := o.Object["status"]
		if !found {
			continue
		}
		bare := &unstructured.Unstructured{Object: map[string]any{"status": status}}
		bare.SetGroupVersionKind(o.GroupVersionKind())
		bare.SetNamespace(o.GetNamespace())
		bare.SetName(o.GetName())
		if err := c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(bare),
			client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply status of %s: %w", name, err)
		}
	}
	return nil
}
