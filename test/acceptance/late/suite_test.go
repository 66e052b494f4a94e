// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package late shows from outside what the operator does while the APIs of its
// neighbours are missing, and as they come one after the other: it starts before
// all of them and is never restarted.
package late

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestLate(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(60 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "the operator before its neighbours")
}

// startTimeout is generous: with a cold cache it compiles the operator.
const startTimeout = 20 * time.Minute

// on is the stage of the one story that is told here.
var on *stage.Stage

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = stage.Start(ctx, stage.Options{Log: GinkgoWriter, CRDs: []testenv.CRDSet{testenv.MaaS}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
}, NodeTimeout(startTimeout))

// says sums a model up as "<phase>/<reason of Ready>".
func says(ctx context.Context, key types.NamespacedName) func() string {
	return func() string {
		GinkgoHelper()
		ref := builder.ModelRef(key.Namespace, key.Name).Obj()
		Expect(on.Admin.Get(ctx, key, ref)).To(Succeed())
		ready := meta.FindStatusCondition(ref.Status.Conditions, string(v1alpha1.ConditionReady))
		if ready == nil {
			return "not judged yet"
		}
		return fmt.Sprintf("%s/%s", ref.Status.Phase, ready.Reason)
	}
}

// condition is "<status>/<reason>: <message>" of a condition of a model.
func condition(ctx context.Context, key types.NamespacedName, kind v1alpha1.ConditionType) func() string {
	return func() string {
		GinkgoHelper()
		ref := builder.ModelRef(key.Namespace, key.Name).Obj()
		Expect(on.Admin.Get(ctx, key, ref)).To(Succeed())
		c := meta.FindStatusCondition(ref.Status.Conditions, string(kind))
		if c == nil {
			return "none"
		}
		return fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message)
	}
}

// phase is that of a subscription or auth policy.
func phase(ctx context.Context, object client.Object) func() v1alpha1.Phase {
	return func() v1alpha1.Phase {
		GinkgoHelper()
		Expect(on.Admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		switch o := object.(type) {
		case *v1alpha1.MaaSSubscription:
			return o.Status.Phase
		case *v1alpha1.MaaSAuthPolicy:
			return o.Status.Phase
		default:
			return ""
		}
	}
}

// onlyOldKServe installs LLMInferenceService in its first version alone, as an
// old KServe does, but with the field by which later ones publish the names of
// models in request bodies.
func onlyOldKServe(ctx context.Context) {
	GinkgoHelper()
	loaded, err := testenv.LoadCRDs(testenv.KServe)
	Expect(err).NotTo(HaveOccurred())
	Expect(loaded).To(HaveLen(1))
	crd := &apiextensionsv1.CustomResourceDefinition{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(loaded[0].Object, crd)).To(Succeed())
	crd.Spec.Conversion = nil
	for _, v := range crd.Spec.Versions {
		if v.Name == "v1alpha1" {
			v.Served, v.Storage = true, true
			crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{v}
			break
		}
	}
	Expect(crd.Spec.Versions).To(HaveLen(1))
	publishNames(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	content, err := json.Marshal(crd)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(on.Env.Dir(), "old-kserve.yaml")
	Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	Expect(on.Env.InstallCRDFiles(ctx, file)).To(Succeed())
}

// publishNames adds models[].name to the addresses in the status.
func publishNames(schema *apiextensionsv1.JSONSchemaProps) {
	address := schema.Properties["status"].Properties["addresses"].Items.Schema
	address.Properties["models"] = apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{
		Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": {Type: "string"}}},
	}}
}

// server creates a model server as an old KServe knows it; it is ready, and
// published under a name for request bodies.
func server(ctx context.Context, key types.NamespacedName, name string) *unstructured.Unstructured {
	GinkgoHelper()
	u := builder.ModelServer(key.Namespace, key.Name)
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: kserve.GroupKind.Group, Version: "v1alpha1", Kind: kserve.GroupKind.Kind})
	Expect(on.Admin.Create(ctx, u)).To(Succeed())
	u.Object["status"] = map[string]any{
		"conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
		"addresses": []any{map[string]any{
			"name": "gateway-external-model-routing", "url": "https://" + stage.Hostname + "/", "models": []any{map[string]any{"name": name}},
		}},
	}
	Expect(on.Admin.Status().Update(ctx, u)).To(Succeed())
	return u
}
