// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/gateway"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

// gatewayClass is the class of the Gateways that the stand-in serves.
const gatewayClass = "openshift-default"

// The time Kuadrant's stand-in takes.
const (
	shortestLag = 10 * time.Millisecond
	longestLag  = 50 * time.Millisecond
)

// CreateNamespaces creates namespaces that do not exist yet.
func (r *Rig) CreateNamespaces(ctx context.Context, names ...string) {
	ginkgo.GinkgoHelper()
	for _, name := range names {
		gomega.Expect(r.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(gomega.Succeed())
	}
}

// CreateGatewayClass creates the class of [Gateway].
func (r *Rig) CreateGatewayClass(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Expect(r.Admin.Create(ctx, &gwapiv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: gatewayClass},
		Spec:       gwapiv1.GatewayClassSpec{ControllerName: kuadrant.ControllerName},
	})).To(gomega.Succeed())
}

// Gateway is one with a listener for all namespaces.
func Gateway(namespace, name string) *gwapiv1.Gateway {
	return &gwapiv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: gwapiv1.GatewaySpec{
			GatewayClassName: gatewayClass,
			Listeners: []gwapiv1.Listener{{
				Name: "http", Port: 80, Protocol: gwapiv1.HTTPProtocolType,
				AllowedRoutes: &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{From: new(gwapiv1.NamespacesFromAll)}},
			}},
		},
	}
}

// StartStandIns starts those for Kuadrant and for the gateway controller.
func (r *Rig) StartStandIns(ctx context.Context) *kuadrant.Kuadrant {
	ginkgo.GinkgoHelper()
	policies, err := kuadrant.Start(ctx, r.Env.AdminConfig(), kuadrant.Options{Lag: kuadrant.Between(shortestLag, longestLag)})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(policies.Stop)
	gateways, err := gateway.Start(ctx, r.Env.AdminConfig(), gateway.Options{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(gateways.Stop)
	return policies
}
