// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/test/enforcement/cases"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// The stand-in gateway holds no rule of ours: without the generated configuration it is
// a proxy that lets everything pass, and every case that is about a refusal, or about
// what becomes known of the caller, fails.
var _ = Describe("Without the generated configuration of a gateway", Serial, func() {
	It("everything passes, and each case that could notice does", func(ctx SpecContext) {
		tenant := fixture.Default.Tenant
		filter := &unstructured.Unstructured{}
		filter.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"})
		filter.SetNamespace(tenant.Gateway.Namespace)
		filter.SetName("kuadrant-" + tenant.Gateway.Name)
		var unnoticed []string
		var passed int
		Expect(on.WithoutKuadrant(ctx, func() error {
			if err := on.Admin.Delete(ctx, filter); err != nil {
				return err
			}
			nobody := world.Request{Tenant: tenant, Path: fixture.Default.Models.Granite.Path() + "/v1/models"}
			if err := on.AwaitServed(ctx, nobody); err != nil {
				return err
			}
			for _, c := range cases.All() {
				if !c.Holds(cases.DefaultTenant) || !notices(c.Want(fixture.Default)) {
					continue
				}
				answer, problems, err := c.Run(ctx, fixture.Default)
				if err != nil {
					return err
				}
				if len(problems) == 0 {
					unnoticed = append(unnoticed, c.Name)
				}
				if answer.Reached != nil {
					passed++
				}
			}
			return nil
		})).To(Succeed())
		Expect(unnoticed).To(BeEmpty(), "cases that do not notice")
		Expect(passed).To(BeNumerically(">", 100), "requests that reached a model")
	}, SpecTimeout(2*specTimeout))
})

// notices tells whether a case is about what the configuration does: it refuses, or
// makes known who the caller is. What no route is for, or maas-api itself refuses, is
// not, nor what is open to everybody.
func notices(v cases.Verdict) bool {
	switch v.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	default:
		return v.Identity != nil
	}
}
