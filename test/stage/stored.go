// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// settleTimeout is how long the API server may take to take up a changed CRD.
	settleTimeout = time.Minute
	settlePoll    = 50 * time.Millisecond
)

// store puts objects into the cluster that today's rules refuse, as a release
// without those rules could: under CRDs that say nothing but the types of
// fields. Afterwards the real rules are in force again.
func (s *Stage) store(ctx context.Context, objects []*unstructured.Unstructured) error {
	if len(objects) == 0 {
		return nil
	}
	crds, err := testenv.LoadCRDs(testenv.MaaS)
	if err != nil {
		return err
	}
	dir := filepath.Join(s.Env.Dir(), "permissive-crds")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("store objects: %w", err)
	}
	var files []string
	for _, crd := range crds {
		if err := relax(crd); err != nil {
			return fmt.Errorf("store objects: %w", err)
		}
		content, err := yaml.Marshal(crd)
		if err != nil {
			return fmt.Errorf("store objects: %w", err)
		}
		file := filepath.Join(dir, crd.GetName()+".yaml")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return fmt.Errorf("store objects: %w", err)
		}
		files = append(files, file)
	}
	if err := s.Env.InstallCRDFiles(ctx, files...); err != nil {
		return err
	}
	for _, o := range objects {
		err := settle(ctx, func() bool { return s.Admin.Create(ctx, o.DeepCopy()) == nil })
		if err != nil {
			return fmt.Errorf("store %s %s: %w", o.GetKind(), client.ObjectKeyFromObject(o), err)
		}
	}
	if err := s.Env.InstallCRDs(ctx, testenv.MaaS); err != nil {
		return err
	}
	for _, o := range objects {
		again := o.DeepCopy()
		again.SetName("again-" + o.GetName())
		err := settle(ctx, func() bool { return apierrors.IsInvalid(s.Admin.Create(ctx, again.DeepCopy(), client.DryRunAll)) })
		if err != nil {
			return fmt.Errorf("wait until %s %s would be refused: %w", o.GetKind(), client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}

func settle(ctx context.Context, done func() bool) error {
	return wait.PollUntilContextTimeout(ctx, settlePoll, settleTimeout, true, func(context.Context) (bool, error) { return done(), nil })
}

// relax removes every rule of a CRD about specs.
func relax(crd *unstructured.Unstructured) error {
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return fmt.Errorf("read CRD %s: %w", crd.GetName(), err)
	}
	for _, version := range versions {
		root, _, err := unstructured.NestedFieldNoCopy(version.(map[string]any), "schema", "openAPIV3Schema")
		if err != nil {
			return fmt.Errorf("read CRD %s: %w", crd.GetName(), err)
		}
		schema := root.(map[string]any)
		delete(schema, "required")
		delete(schema, "x-kubernetes-validations")
		strip(schema["properties"].(map[string]any)["spec"])
	}
	return unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
}

// strip removes every rule from a schema and from those inside it.
func strip(node any) {
	switch n := node.(type) {
	case []any:
		for _, item := range n {
			strip(item)
		}
	case map[string]any:
		if _, schema := n["type"].(string); schema {
			for _, keyword := range []string{
				"required", "enum", "pattern", "x-kubernetes-validations", "minLength", "maxLength",
				"minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum", "format",
			} {
				delete(n, keyword)
			}
		}
		for _, child := range n {
			strip(child)
		}
	}
}
