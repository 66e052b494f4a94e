// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// option is something that somebody can switch on and off again.
type option struct {
	on, off func(context.Context)
}

var _ = Describe("pruning", Ordered, func() {
	const switched = tenantOf("switched")
	egressRules := []networkingv1.NetworkPolicyEgressRule{toPort(5432)}
	settings := func(change func(*v1alpha1.MaasTenantConfigSpec)) func(context.Context) {
		return func(ctx context.Context) {
			edit(ctx, switched.config(), func(c *v1alpha1.MaasTenantConfig) { change(&c.Spec) })
		}
	}
	annotation := func(key, value string) option {
		return option{
			on:  func(ctx context.Context) { switched.annotate(ctx, key, value) },
			off: func(ctx context.Context) { switched.annotate(ctx, key, "") },
		}
	}
	installation := func(set func(*v1alpha1.ConfigSpec)) option {
		return option{
			on: func(ctx context.Context) { configure(ctx, set) },
			off: func(ctx context.Context) {
				configure(ctx, func(s *v1alpha1.ConfigSpec) { *s = v1alpha1.ConfigSpec{ManagementState: s.ManagementState} })
			},
		}
	}
	owner := func(change func(*v1alpha1.AITenantSpec)) func(context.Context) {
		return func(ctx context.Context) {
			edit(ctx, switched.object(), func(t *v1alpha1.AITenant) { change(&t.Spec) })
		}
	}

	BeforeAll(func(ctx SpecContext) {
		create(ctx, gateway("switched-other"))
		setUp(ctx, switched)
		work(ctx, theDefault)
	})

	It("leaves what there was before when every option was on and is off again (W-19, W-48)", func(ctx SpecContext) {
		rest(quiet)
		before := pictureOfAll(ctx)()
		for name, o := range map[string]option{
			"more egress rules":  installation(func(s *v1alpha1.ConfigSpec) { s.NetworkPolicyAdditionalEgressRules = egressRules }),
			"other egress rules": installation(func(s *v1alpha1.ConfigSpec) { s.NetworkPolicyEgressRules = egressRules }),
			"no egress policy": installation(func(s *v1alpha1.ConfigSpec) {
				s.MaasAPIEgressNetworkPolicy = v1alpha1.EgressNetworkPolicyDisabled
			}),
			"usage logging": installation(func(s *v1alpha1.ConfigSpec) { s.UsageLogging, s.LimitadorScrapeInterval = true, "15s" }),
			"replicas":      annotation(v1alpha1.AnnotationMaasAPIReplicas, "2"),
			"removed":       annotation(v1alpha1.AnnotationManagementState, "Removed"),
			"unmanaged":     annotation(v1alpha1.AnnotationManagementState, "Unmanaged"),
			"API keys": {
				on: settings(func(s *v1alpha1.MaasTenantConfigSpec) {
					s.APIKeys = &v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(30)), DeletionRetentionDays: new(int32(30))}
				}),
				off: settings(func(s *v1alpha1.MaasTenantConfigSpec) { s.APIKeys = nil }),
			},
			"telemetry": {
				on: settings(func(s *v1alpha1.MaasTenantConfigSpec) {
					s.Telemetry = &v1alpha1.TenantTelemetryConfig{Enabled: new(false)}
				}),
				off: settings(func(s *v1alpha1.MaasTenantConfigSpec) { s.Telemetry = nil }),
			},
			"payload processing": {
				on: settings(func(s *v1alpha1.MaasTenantConfigSpec) {
					s.PayloadProcessing = &v1alpha1.PayloadProcessingConfig{Replicas: new(int32(2))}
				}),
				off: settings(func(s *v1alpha1.MaasTenantConfigSpec) { s.PayloadProcessing = nil }),
			},
			"provider": {
				on: owner(func(s *v1alpha1.AITenantSpec) {
					s.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com/realms/maas", ClientID: "maas"}
				}),
				off: owner(func(s *v1alpha1.AITenantSpec) { s.OIDC = nil }),
			},
			"another Gateway": {
				on:  owner(func(s *v1alpha1.AITenantSpec) { s.Gateway = &v1alpha1.AITenantGatewayRef{Name: "switched-other"} }),
				off: owner(func(s *v1alpha1.AITenantSpec) { s.Gateway = nil }),
			},
		} {
			mark := now()
			o.on(ctx)
			Eventually(writesAfter(mark)).ShouldNot(BeEmpty(), name)
			rest(briefly)
			o.off(ctx)
			work(ctx, switched)
			Eventually(differs(before, pictureOfAll(ctx))).Should(BeEmpty(), name)
			Eventually(recorded(ctx, switched)).Should(Equal(namesOf(objectsOf(ctx, switched))), name)
		}
	})

	It("is finished by the next operator when one is killed in between (W-19)", func(ctx SpecContext) {
		before := pictureOfAll(ctx)()
		for i, removed := range []bool{true, false, true, false} {
			value := ""
			if removed {
				value = "Removed"
			}
			mark := now()
			switched.annotate(ctx, v1alpha1.AnnotationManagementState, value)
			Eventually(func() int { return len(writesAfter(mark)()) }).WithPolling(10 * time.Millisecond).Should(BeNumerically(">=", 2+4*i))
			Expect(on.Operator.Kill()).To(Succeed())
			left := len(objectsOf(ctx, switched))
			Expect(on.Operator.Start(ctx)).To(Succeed())
			if removed {
				Eventually(switched.services(ctx)).Should(Equal("Pending Removed"))
				Expect(objectsOf(ctx, switched)).To(BeEmpty(), "%d were left when it was killed", left)
				continue
			}
			work(ctx, switched)
		}
		Eventually(differs(before, pictureOfAll(ctx))).Should(BeEmpty())
		Eventually(recorded(ctx, switched)).Should(Equal(namesOf(objectsOf(ctx, switched))))
	})
})

// now is this instant in the audit log.
func now() audit.Mark {
	GinkgoHelper()
	return audit.Now()
}

// writesAfter are those of the operator since then, without Events.
func writesAfter(mark audit.Mark) func() []audit.Event {
	return func() []audit.Event {
		GinkgoHelper()
		events, err := on.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.Stored(), audit.Not(audit.IsEvent()))
		Expect(err).NotTo(HaveOccurred())
		return events
	}
}

// briefly is longer than the operator pauses between two writes of one reconcile.
const briefly = 400 * time.Millisecond

// rest waits until the operator has written nothing for a while.
func rest(long time.Duration) {
	GinkgoHelper()
	mark, since := now(), time.Now()
	Eventually(func() time.Duration {
		if len(writesAfter(mark)()) > 0 {
			mark, since = now(), time.Now()
		}
		return time.Since(since)
	}).Should(BeNumerically(">", long))
}
