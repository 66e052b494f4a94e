// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
)

// kinds are those of everything that the operator writes and nobody else changes.
func kinds() []schema.GroupVersionKind {
	found := []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Namespace"}}
	for _, row := range desired.Table() {
		if !slices.Contains(found, row.GVK) && row.GVK.Kind != "Job" {
			found = append(found, row.GVK)
		}
	}
	return found
}

// written are the objects in the cluster that carry labels; kinds that are not served
// are left out.
func written(ctx context.Context, labels map[string]string) []unstructured.Unstructured {
	GinkgoHelper()
	var found []unstructured.Unstructured
	for _, kind := range kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := on.Admin.List(ctx, list, client.MatchingLabels(labels))
		if meta.IsNoMatchError(err) {
			continue
		}
		Expect(err).NotTo(HaveOccurred())
		found = append(found, list.Items...)
	}
	return found
}

// objectsOf is what was written for what runs for a tenant.
func objectsOf(ctx context.Context, t tenantOf) []unstructured.Unstructured {
	GinkgoHelper()
	return written(ctx, map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelTenantNamespace: t.namespace(), v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS,
	})
}

func nameOf(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// namesOf are the names of those objects.
func namesOf(objects []unstructured.Unstructured) []string {
	names := make([]string, 0, len(objects))
	for i := range objects {
		names = append(names, nameOf(&objects[i]))
	}
	slices.Sort(names)
	return names
}

// picture tells by name what is wished of every object that the operator wrote, for
// a tenant or for all: everything but the status and what the API server counts.
func picture(objects []unstructured.Unstructured) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for i := range objects {
		o := objects[i].DeepCopy()
		name := nameOf(o)
		delete(o.Object, "status")
		for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "ownerReferences"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		// The Deployment controller counts here, and the API server gives out addresses.
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
		// This names the object's own UID once it leads somewhere, which its rules tell, too.
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", v1alpha1.AnnotationOpenedRoute)
		// This tells the time when Kuadrant kept policies waiting.
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", v1alpha1.AnnotationNudgedAt)
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
		content, err := json.Marshal(o.Object)
		Expect(err).NotTo(HaveOccurred())
		found[name] = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return found
}

// pictureOf is the picture of one tenant, pictureOfAll that of all tenants and of what
// they share.
func pictureOf(ctx context.Context, t tenantOf) func() map[string]string {
	return func() map[string]string { return picture(objectsOf(ctx, t)) }
}

func pictureOfAll(ctx context.Context) func() map[string]string {
	return func() map[string]string {
		return picture(written(ctx, map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}))
	}
}

// differs is how a picture differs from an earlier one; empty if it does not.
func differs(before map[string]string, now func() map[string]string) func() string {
	return func() string { return cmp.Diff(before, now()) }
}

// recorded is the inventory of a tenant, named like its objects.
func recorded(ctx context.Context, t tenantOf) func() []string {
	return func() []string {
		c := t.config()
		if !exists(ctx, c) {
			return nil
		}
		names := make([]string, 0, len(c.Status.Inventory))
		for _, e := range c.Status.Inventory {
			names = append(names, e.Kind+" "+e.Namespace+"/"+e.Name)
		}
		slices.Sort(names)
		return names
	}
}
