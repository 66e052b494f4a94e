// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/engines"
)

// missing is about gateways that lack what carries out the policies.
func missing() {
	g := NewGomega(Fail)
	BeforeEach(func(ctx SpecContext) { afresh(ctx, g) })

	It("serves, and counts nothing, while the limiter does not answer (A89)", func(ctx SpecContext) {
		alice := at.at(at.chat, at.alice.by(small))
		exhaust(ctx, g, alice, 20)
		Expect(at.tenant.SetLimiter(ctx, false)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(at.tenant.SetLimiter(ctx, true)).To(Succeed()) })
		served(ctx, g, alice.chat(1))
		Expect(at.tenant.SetLimiter(ctx, true)).To(Succeed())
		refused(ctx, g, alice.chat(1))
		Expect(counted(ctx, g, alice)).To(Equal([]uint64{21}))
	}, SpecTimeout(specTimeout))

	It("says in the status of the tenant that requests pass without the limiter, and nothing of Authorino, which has enough time (A89)", func(ctx SpecContext) {
		config := &v1alpha1.MaasTenantConfig{}
		config.Namespace, config.Name = at.tenant.Namespace, v1alpha1.DefaultTenantConfigName
		// Whatever happens to a tenant has it looked at.
		touched := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/touched":"yes"}}}`))
		Expect(on.Admin.Patch(ctx, config, touched)).To(Succeed())
		Eventually(ctx, func() (string, error) {
			err := on.Admin.Get(ctx, client.ObjectKeyFromObject(config), config)
			degraded := meta.FindStatusCondition(config.Status.Conditions, string(v1alpha1.ConditionDegraded))
			if err != nil || degraded == nil {
				return "", err
			}
			return degraded.Message, nil
		}).Should(And(ContainSubstring("RATELIMIT_CHECK_SERVICE_FAILURE_MODE=deny"), Not(ContainSubstring("AUTH_SERVICE"))))
	}, SpecTimeout(specTimeout))

	It("refuses while Authorino does not answer (A89)", func(ctx SpecContext) {
		alice := at.at(at.odd, at.alice.by(roomy))
		served(ctx, g, alice.list())
		freeze(ctx, &on.Authorino.Process)
		for _, request := range []world.Request{alice.chat(1), alice.list()} {
			answer := send(ctx, g, request)
			Expect(answer.Status).To(Equal(http.StatusInternalServerError), answer.String)
			Expect(answer.Reached).To(BeNil())
		}
	}, SpecTimeout(specTimeout))

	It("enforces nothing without the generated configuration, which every case notices", func(ctx SpecContext) {
		freeze(ctx, &on.Kuadrant.Process)
		strip(ctx)
		DeferCleanup(resume, &on.Kuadrant.Process)
		var unnoticed []string
		for _, c := range quotaCases() {
			if noticed := refute(ctx, c); noticed == "" {
				unnoticed = append(unnoticed, c.name)
			}
		}
		Expect(unnoticed).To(BeEmpty())
		served(ctx, g, world.Request{Tenant: at.tenant, Path: at.chat.Path() + "/v1/models"})
	}, SpecTimeout(specTimeout))
}

// freeze cuts an engine off from everybody, until the spec ends: it stops what leads to
// it and away from it.
func freeze(ctx context.Context, p *engines.Process) {
	GinkgoHelper()
	DeferCleanup(resume, p)
	Expect(p.Process.Signal(syscall.SIGSTOP)).To(Succeed())
	Eventually(ctx, func() (string, error) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.PID))
		return string(status), err
	}).Should(MatchRegexp(`(?m)^State:\s+T `))
}

func resume(p *engines.Process) { Expect(p.Process.Signal(syscall.SIGCONT)).To(Succeed()) }

// strip takes everything away that Kuadrant has generated for the tenant's gateway, and
// returns when the gateway knows.
func strip(ctx context.Context) {
	GinkgoHelper()
	filter := &unstructured.Unstructured{}
	filter.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"})
	filter.SetNamespace(at.tenant.Gateway.Namespace)
	filter.SetName("kuadrant-" + at.tenant.Gateway.Name)
	Expect(on.Admin.Delete(ctx, filter)).To(Succeed())
	limitador := &unstructured.Unstructured{}
	limitador.SetGroupVersionKind(schema.GroupVersionKind{Group: "limitador.kuadrant.io", Version: "v1alpha1", Kind: "Limitador"})
	limitador.SetNamespace(engines.KuadrantNamespace)
	limitador.SetName("limitador")
	Expect(on.Admin.Patch(ctx, limitador, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"limits":null}}`)))).To(Succeed())
	Eventually(ctx, func() (world.Configuration, error) { return at.tenant.Configuration(ctx) }).
		Should(And(HaveField("EnvoyFilter", BeEmpty()), HaveField("ActionSets", BeZero()), HaveField("Limits", BeZero())))
}

// refute runs a case that must fail, and returns how it did.
func refute(ctx context.Context, c quotaCase) (noticed string) {
	defer func() {
		if failure := recover(); failure != nil {
			noticed = fmt.Sprint(failure)
			fmt.Fprintf(GinkgoWriter, "%s: %s\n", c.name, noticed)
		}
	}()
	g := NewGomega(func(message string, _ ...int) { panic(message) })
	afresh(ctx, g)
	c.run(ctx, g)
	return ""
}
