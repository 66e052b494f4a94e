// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// What users have written for earlier releases, and what this repository tells them to
// write, must stay acceptable.
var _ = Describe("Manifests", func() {
	for _, name := range slices.Sorted(maps.Keys(earlierManifests)) { // All processes need the same order.
		It("accepts "+name+" as earlier releases documented it", func(ctx SpecContext) {
			expectAccepted(ctx, decode([]byte(earlierManifests[name])))
		})
	}

	It("accepts the samples of this repository", func(ctx SpecContext) {
		files, err := filepath.Glob(filepath.Join(testenv.RepoRoot(), "config", "samples", "*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		accepted := 0
		for _, file := range files {
			content, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			for document := range bytes.SplitSeq(content, []byte("\n---")) {
				object := decode(document)
				if strings.HasSuffix(object.GroupVersionKind().Group, "aas.opendatahub.io") {
					By(file + " " + object.GetKind() + " " + object.GetName())
					expectAccepted(ctx, object)
					accepted++
				}
			}
		}
		Expect(accepted).To(BeNumerically(">", 5), "samples of our kinds")
	})

	It("accepts what the documents show: groups as objects, users as strings (A19)", func(ctx SpecContext) {
		content, err := os.ReadFile(filepath.Join(testenv.RepoRoot(), "docs", "quotas.md"))
		Expect(err).NotTo(HaveOccurred())
		shown := string(content)
		Expect(shown).To(And(ContainSubstring("groups: [{name: data-scientists}]"), ContainSubstring("users: [system:serviceaccount:apps:bot]")))
		Expect(expectShownAccepted(ctx, shown)).To(Equal(2))
	})

	It("accepts what the documents show about outgoing traffic", func(ctx SpecContext) {
		content, err := os.ReadFile(filepath.Join(testenv.RepoRoot(), "docs", "operations", "network-policies.md"))
		Expect(err).NotTo(HaveOccurred())
		Expect(expectShownAccepted(ctx, string(content))).To(Equal(3))
	})
})

// expectShownAccepted expects that the YAML in a document is accepted, and returns how
// many blocks there are.
func expectShownAccepted(ctx SpecContext, shown string) int {
	GinkgoHelper()
	blocks := strings.Split(shown, "```yaml\n")[1:]
	for _, after := range blocks {
		document, _, _ := strings.Cut(after, "```")
		expectAccepted(ctx, decode([]byte(document)))
	}
	return len(blocks)
}

func decode(document []byte) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal(document, &object.Object)).To(Succeed())
	return object
}

func expectAccepted(ctx SpecContext, object *unstructured.Unstructured) {
	GinkgoHelper()
	if object.GetKind() != "Config" {
		object.SetNamespace(freshNamespace)
	}
	strict := client.WithFieldValidation(api, client.FieldValidation("Strict"))
	Expect(strict.Create(ctx, object, client.DryRunAll)).To(Succeed())
}

var earlierManifests = map[string]string{
	"a MaaSModelRef": `
apiVersion: maas.opendatahub.io/v1alpha1
kind: MaaSModelRef
metadata: {name: my-model}
spec: {modelRef: {kind: LLMInferenceService, name: my-model}}
`,
	"a MaaSAuthPolicy with an empty list of users": `
apiVersion: maas.opendatahub.io/v1alpha1
kind: MaaSAuthPolicy
metadata: {name: premium}
spec:
  modelRefs: [{name: my-model, namespace: llm}]
  subjects: {groups: [{name: premium-users}], users: []}
`,
	"a MaaSSubscription with an empty list of users": `
apiVersion: maas.opendatahub.io/v1alpha1
kind: MaaSSubscription
metadata: {name: premium}
spec:
  owner: {groups: [{name: premium-users}], users: []}
  modelRefs: [{name: my-model, namespace: llm, tokenRateLimits: [{limit: 50000, window: 1m}]}]
`,
	"an AITenant with OIDC": `
apiVersion: maas.opendatahub.io/v1alpha1
kind: AITenant
metadata: {name: red-team}
spec:
  gateway: {name: red-team}
  oidc: {issuerUrl: "https://keycloak.example.com/realms/red-team", clientId: red-team-maas}
`,
	"a MaasTenantConfig": `
apiVersion: maas.opendatahub.io/v1alpha1
kind: MaasTenantConfig
metadata: {name: default-tenant}
spec:
  apiKeys: {maxExpirationDays: 90, deletionRetentionDays: 90}
  telemetry:
    enabled: true
    metrics: {captureUser: false, captureGroup: false}
    logs: {captureUser: false, captureOrganization: true}
`,
	"a Config without the egress policy": `
apiVersion: maas.opendatahub.io/v1alpha1
kind: Config
metadata: {name: default}
spec: {maasApiEgressNetworkPolicy: Disabled}
`,
	"a Config with egress rules of its own": `
apiVersion: maas.opendatahub.io/v1alpha1
kind: Config
metadata: {name: default}
spec:
  networkPolicyEgressRules:
  - to:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: openshift-dns}}
      podSelector: {matchLabels: {dns.operator.openshift.io/daemonset-dns: default}}
    ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 5353}]
  - ports: [{protocol: TCP, port: 443}, {protocol: TCP, port: 6443}]
`,
	"a Tenant": `
apiVersion: maas.opendatahub.io/v1alpha1
kind: Tenant
metadata: {name: default-tenant}
spec:
  gatewayRef: {name: maas-default-gateway, namespace: openshift-ingress}
  externalOIDC: {issuerUrl: "https://keycloak.example.com/realms/maas", clientId: maas}
`,
	"an ExternalModel of an unlisted provider": `
apiVersion: maas.opendatahub.io/v1alpha1
kind: ExternalModel
metadata: {name: other}
spec: {provider: custom, targetModel: m, endpoint: models.example.com, credentialRef: {name: key}}
`,
	"an inference ExternalModel with a disabled provider": `
apiVersion: inference.opendatahub.io/v1alpha1
kind: ExternalModel
metadata: {name: other}
spec:
  externalProviderRefs:
  - ref: {name: openai}
    targetModel: gpt-4o
    apiFormat: openai-chat
    path: /v1/chat/completions
    weight: 0
    auth: {type: apikey, secretRef: {name: key}}
`,
}
