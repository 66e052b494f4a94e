// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"errors"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// errKilled is what an operator gets that is dead by the time it writes.
var errKilled = errors.New("the operator was killed")

// mortal counts the writes of an operator, and lets only so many happen.
type mortal struct{ writes, budget int }

func (m *mortal) spend() error {
	if m.writes++; m.writes > m.budget {
		return errKilled
	}
	return nil
}

// dies makes a client whose writes fail from one on: nothing that is written after a
// process died arrives. Dry runs write nothing.
func (m *mortal) dies(c client.WithWatch) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return errors.Join(m.spend(), unless(m, func() error { return w.Create(ctx, o, opts...) }))
		},
		Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if len((&client.UpdateOptions{}).ApplyOptions(opts).DryRun) > 0 {
				return w.Update(ctx, o, opts...)
			}
			return errors.Join(m.spend(), unless(m, func() error { return w.Update(ctx, o, opts...) }))
		},
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return errors.Join(m.spend(), unless(m, func() error { return w.Patch(ctx, o, p, opts...) }))
		},
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if len((&client.ApplyOptions{}).ApplyOptions(opts).DryRun) > 0 {
				return w.Apply(ctx, o, opts...)
			}
			return errors.Join(m.spend(), unless(m, func() error { return w.Apply(ctx, o, opts...) }))
		},
		Delete: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return errors.Join(m.spend(), unless(m, func() error { return w.Delete(ctx, o, opts...) }))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return errors.Join(m.spend(), unless(m, func() error { return c.SubResource(name).Patch(ctx, o, p, opts...) }))
		},
	})
}

func unless(m *mortal, write func() error) error {
	if m.writes > m.budget {
		return nil
	}
	return write()
}

// operator is a fresh process: it remembers nothing and reads the API server itself.
func operator(c client.Client) *tenantconfig.Reconciler {
	return &tenantconfig.Reconciler{
		Client: c, APIReader: c, Engine: parts.Engine(GinkgoTB()), APIs: facts.NewOptionalAPIs(suite.discovery),
		Applier: apply.New(c, apply.Options{APIReader: c}),
		Tenants: lookup.Tenants{Reader: c, Settings: tenancies()}, Settings: tenantSettings(),
		Clock: clock.RealClock{}, Events: events.NewFakeRecorder(1000),
	}
}

// live lets one operator reconcile until nothing is left to write, or it dies.
func (t tenantOf) live(m *mortal) {
	GinkgoHelper()
	r := operator(m.dies(suite.direct))
	for range 20 {
		before := m.writes
		_, err := r.Reconcile(t.ctx, ctrl.Request{NamespacedName: t.key()})
		if m.writes > m.budget {
			return
		}
		Expect(err).NotTo(HaveOccurred())
		if m.writes == before {
			return
		}
	}
	Fail("the operator never came to rest")
}

// rest lets an operator that lives on do what there is to do.
func (t tenantOf) rest() {
	GinkgoHelper()
	t.live(&mortal{budget: 1 << 20})
}

// survives has operators do what there is to do, each killed after its first write,
// and returns how many it took. At any time all that exists is on the inventory, and a
// route to maas-api has its policies.
func (t tenantOf) survives() int {
	GinkgoHelper()
	for killed := range 60 {
		m := &mortal{budget: 1}
		t.live(m)
		Expect(t.recorded()).To(ContainElements(t.existing()), "what exists after write %d must be recorded", killed+1)
		if existing := t.existing(); slices.Contains(existing, "HTTPRoute "+infraNamespace+"/maas-api-route-"+t.name) {
			Expect(existing).To(ContainElement("AuthPolicy "+infraNamespace+"/maas-api-auth-policy-"+t.name), "after write %d", killed+1)
			Expect(append(t.guards(gatewayNamespace), t.guards(otherGatewayNamespace)...)).To(ContainElements(
				HavePrefix("AuthPolicy "), HavePrefix("TokenRateLimitPolicy ")), "after write %d", killed+1)
		}
		if m.writes <= m.budget {
			return killed
		}
	}
	Fail("the operators got nowhere")
	return 0
}

var _ = Describe("an operator that is killed after each of its writes", Ordered, func() {
	var t tenantOf
	rests := func(gateways string) {
		GinkgoHelper()
		Expect(t.recorded()).To(Equal(t.existing()))
		Expect(t.recorded()).To(HaveLen(15))
		Expect(t.guards(gateways)).To(HaveLen(2))
	}
	BeforeAll(func(ctx SpecContext) {
		provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
		t = newTenant(ctx, "mortal")
		t.addGateway(otherGatewayNamespace)
	})
	AfterAll(func() {
		Expect(client.IgnoreNotFound(suite.Admin.Delete(t.ctx, t.object()))).To(Succeed())
		t.rest()
	})

	It("leaks nothing when it sets a tenant up", func() {
		Expect(t.survives()).To(BeNumerically(">=", 17))
		rests(gatewayNamespace)
	})

	It("leaks nothing when objects are no longer wanted", func() {
		t.moveTo(otherGatewayNamespace)
		Expect(t.survives()).To(BeNumerically(">=", 10))
		rests(otherGatewayNamespace)
		Expect(t.guards(gatewayNamespace)).To(BeEmpty())
	})

	It("leaks nothing when a tenant is removed, and brings it back", func() {
		t.annotate(v1alpha1.AnnotationManagementState, "Removed")
		Expect(t.survives()).To(BeNumerically(">=", 15))
		Expect(t.state()).To(Equal("Pending Removed"))
		Expect(t.existing()).To(BeEmpty())
		Expect(t.recorded()).To(BeEmpty())
		t.annotate(v1alpha1.AnnotationManagementState, "")
		t.rest()
		rests(otherGatewayNamespace)
	})

	It("leaks nothing when a tenant is taken down", func() {
		Expect(suite.Admin.Delete(t.ctx, t.object())).To(Succeed())
		Expect(t.survives()).To(BeNumerically(">=", 15))
		Expect(t.config()).To(BeNil())
		Expect(t.existing()).To(BeEmpty())
	})
})
