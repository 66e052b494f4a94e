// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the API server fills in, and what it says about mistakes that no rule of ours
// is needed for.
var _ = Describe("Objects of the API", func() {
	DescribeTable("get defaults",
		func(ctx SpecContext, k kind, spec string, field string, want any) {
			object := valid(k, freshNamespace)
			object.Object["spec"] = y(spec)
			Expect(api.Create(ctx, object, client.DryRunAll)).To(Succeed())
			Expect(get(object.Object, field)).To(BeEquivalentTo(want))
		},
		Entry(nil, subscription, `{owner: {users: [a]}, modelRefs: [{name: a, namespace: b, unlimited: true}]}`, "spec.priority", 0),
		Entry(nil, aiTenant, `{oidc: {issuerUrl: "https://x", clientId: c}}`, "spec.oidc.ttl", 300),
		Entry(nil, tenant, `{gatewayRef: {}}`, "spec.gatewayRef.name", "maas-default-gateway"),
		Entry(nil, tenant, `{gatewayRef: {}}`, "spec.gatewayRef.namespace", "openshift-ingress"),
		Entry(nil, tenantConfig, `{apiKeys: {}}`, "spec.apiKeys.deletionRetentionDays", 90),
		Entry(nil, tenantConfig, `{telemetry: {}}`, "spec.telemetry.enabled", true),
		Entry(nil, tenantConfig, `{telemetry: {metrics: {}}}`, "spec.telemetry.metrics.captureOrganization", true),
		Entry(nil, tenantConfig, `{telemetry: {metrics: {}}}`, "spec.telemetry.metrics.captureUser", false),
		Entry(nil, tenantConfig, `{telemetry: {metrics: {}}}`, "spec.telemetry.metrics.captureGroup", false),
		Entry(nil, tenantConfig, `{telemetry: {metrics: {}}}`, "spec.telemetry.metrics.captureModelUsage", true),
		Entry(nil, tenantConfig, `{telemetry: {logs: {}}}`, "spec.telemetry.logs.captureUser", false),
		Entry(nil, tenantConfig, `{telemetry: {logs: {}}}`, "spec.telemetry.logs.captureOrganization", true),
		Entry(nil, tenantConfig, `{payloadProcessing: {autoscaling: {}}}`, "spec.payloadProcessing.autoscaling.maxReplicas", 10),
		Entry(nil, tenantConfig, `{payloadProcessing: {autoscaling: {}}}`, "spec.payloadProcessing.autoscaling.targetCPUUtilization", 70),
		Entry(nil, tenantConfig, `{payloadProcessing: {autoscaling: {}}}`, "spec.payloadProcessing.autoscaling.targetMemoryUtilization", 80),
		Entry(nil, config, `{}`, "spec.managementState", "Managed"),
		Entry(nil, config, `{}`, "spec.limitadorScrapeInterval", "30s"),
		Entry(nil, config, `{}`, "spec.usageLogging", false),
		Entry(nil, config, `{}`, "spec.maasApiEgressNetworkPolicy", "Managed"),
		Entry(nil, inferenceModel, `{externalProviderRefs: [{ref: {name: p}, targetModel: m, apiFormat: messages, path: /}]}`,
			"spec.externalProviderRefs[0].weight", 1),
	)

	DescribeTable("get no defaults for what tells unset from set",
		func(ctx SpecContext, k kind, field string) {
			object := valid(k, freshNamespace)
			object.Object["spec"] = map[string]any{}
			Expect(api.Create(ctx, object, client.DryRunAll)).To(Succeed())
			Expect(get(object.Object, field)).To(BeNil())
		},
		Entry(nil, tenantConfig, "spec.apiKeys"),
		Entry(nil, tenantConfig, "spec.telemetry"),
		Entry(nil, tenantConfig, "spec.payloadProcessing"),
		Entry(nil, aiTenant, "spec.gateway"),
		Entry(nil, aiTenant, "spec.oidc"),
	)

	DescribeTable("may be created without a spec where nothing is required",
		func(ctx SpecContext, k kind) {
			object := valid(k, freshNamespace)
			delete(object.Object, "spec")
			Expect(api.Create(ctx, object, client.DryRunAll)).To(Succeed())
		},
		Entry(nil, aiTenant), Entry(nil, tenantConfig), Entry(nil, tenant), Entry(nil, config),
	)

	DescribeTable("of the wrong shape are refused with a clear message",
		func(ctx SpecContext, k kind, field, value, message string) {
			object := valid(k, freshNamespace)
			object.Object = with(object.Object, field, y(value))
			err := api.Create(ctx, object, client.DryRunAll)
			Expect(err).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
			Expect(err).To(MatchError(ContainSubstring(message)))
		},
		Entry("users as objects", subscription, "spec.owner.users", `[{name: bot}]`,
			`spec.owner.users[0]: Invalid value: "object": spec.owner.users[0] in body must be of type string: "object"`),
		Entry("users as objects in a policy", authPolicy, "spec.subjects.users", `[{name: bot}]`,
			`spec.subjects.users[0]: Invalid value: "object": spec.subjects.users[0] in body must be of type string: "object"`),
		Entry("groups as strings", subscription, "spec.owner.groups", `[data-scientists]`,
			`spec.owner.groups[0]: Invalid value: "string": spec.owner.groups[0] in body must be of type object: "string"`),
		Entry("a limit as text", subscription, "spec.modelRefs[0].tokenRateLimits[0].limit", `"1000"`,
			`spec.modelRefs[0].tokenRateLimits[0].limit in body must be of type integer: "string"`),
		Entry("a price as a number", subscription, "spec.modelRefs[0].billingRate.perToken", `0.5`,
			`spec.modelRefs[0].billingRate.perToken in body must be of type string: "number"`),
	)

	It("report unknown fields when asked to", func(ctx SpecContext) {
		object := valid(subscription, freshNamespace)
		object.Object = with(object.Object, "spec.modelRefs[0].tokenRateLimit", "typo")
		strict := client.WithFieldValidation(api, client.FieldValidation("Strict"))
		Expect(strict.Create(ctx, object, client.DryRunAll)).To(MatchError(ContainSubstring(`unknown field "spec.modelRefs[0].tokenRateLimit"`)))
	})

	It("show a condition of each type once", func(ctx SpecContext) {
		object := valid(subscription, liveNamespace)
		Expect(api.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		condition := y(`{type: Ready, status: "True", reason: Reconciled, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}`)
		object.Object = with(object.Object, "status.conditions", []any{condition, condition})
		Expect(api.Status().Update(ctx, object, client.DryRunAll)).To(MatchError(ContainSubstring("status.conditions[1]: Duplicate value")))
	})

	It("are found by their short names", func(ctx SpecContext) {
		crds := &unstructured.UnstructuredList{}
		crds.SetAPIVersion("apiextensions.k8s.io/v1")
		crds.SetKind("CustomResourceDefinitionList")
		Expect(api.List(ctx, crds)).To(Succeed())
		accepted := map[string]any{}
		for i := range crds.Items {
			if names := get(crds.Items[i].Object, "status.acceptedNames.shortNames"); names != nil {
				accepted[crds.Items[i].GetName()] = names
			}
		}
		Expect(accepted).To(Equal(map[string]any{
			"aitenants.maas.opendatahub.io": []any{"ait"},
			"configs.maas.opendatahub.io":   []any{"maasconfig"},
		}))
	})
})
