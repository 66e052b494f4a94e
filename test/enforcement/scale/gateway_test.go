// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// The kinds of the objects in which Kuadrant collects what many policies say: those of
// the routes of a gateway in one, the limits of the whole cluster in another.
var (
	envoyFilter = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}
	limitador   = schema.GroupVersionKind{Group: "limitador.kuadrant.io", Version: "v1alpha1", Kind: "Limitador"}
)

// filter is the configuration of the gateway's filter.
func (on *installation) filter(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	return on.get(ctx, envoyFilter, client.ObjectKey{Namespace: stage.GatewayNamespace, Name: "kuadrant-" + stage.GatewayName})
}

// limitador holds the limits.
func (on *installation) limitador(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	return on.get(ctx, limitador, client.ObjectKey{Namespace: engines.KuadrantNamespace, Name: "limitador"})
}

func (on *installation) get(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	Expect(on.Admin.Get(ctx, key, object)).To(Succeed())
	return object
}

// sizeOf is what the API server stores of an object.
func sizeOf(object *unstructured.Unstructured) int {
	GinkgoHelper()
	return len(must(json.Marshal(object)))
}

// unconfigured are the models that the filter does not ask Authorino about. The filter
// names the policies that an action comes from.
func unconfigured(filter *unstructured.Unstructured, names []string) []string {
	GinkgoHelper()
	text := string(must(json.Marshal(filter)))
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(text, "/maas-auth-"+name+`\"`) })
}
