// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// sample is a desired object of the suite. The texts are as the templates render them: without what the server fills in.
type sample string

const (
	authPolicy sample = `
apiVersion: kuadrant.io/v1
kind: AuthPolicy
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: llama}
  when:
  - predicate: request.path.startsWith("/llm")
  rules:
    authentication:
      api-keys:
        apiKey:
          selector: {matchLabels: {kind: api-key}}
        credentials: {authorizationHeader: {prefix: Bearer}}
      tokens:
        kubernetesTokenReview: {audiences: [maas]}
    authorization:
      subjects:
        patternMatching:
          patterns:
          - predicate: '"team-a" in auth.identity.user.groups'
`
	tokenRateLimitPolicy sample = `
apiVersion: kuadrant.io/v1alpha1
kind: TokenRateLimitPolicy
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: llama}
  limits:
    rates-100-1m:
      rates: [{limit: 100, window: 1m}]
      when: [{predicate: auth.identity.subscription == "a"}]
      counters: [{expression: auth.identity.userid}]
    rates-500-1h:
      rates: [{limit: 500, window: 1h}]
`
	service sample = `
apiVersion: v1
kind: Service
spec:
  selector: {app: api}
  ports: [{name: https, port: 8443, protocol: TCP, targetPort: https}]
`
	httpRoute sample = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
spec:
  parentRefs: [{name: gateway, namespace: gateways}]
  rules:
  - matches: [{path: {value: /maas-api}}]
    backendRefs: [{name: maas-api, port: 8443}]
`
	networkPolicy sample = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
spec:
  podSelector: {matchLabels: {app: maas-api}}
  ingress:
  - from: [{podSelector: {matchLabels: {app: gateway}}}]
    ports: [{port: 8443}]
`
	role sample = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
`
	roleBinding sample = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: maas-api, namespace: default}
- {kind: Group, name: readers}
`
	deployment sample = `
apiVersion: apps/v1
kind: Deployment
spec:
  selector: {matchLabels: {app: maas-api}}
  template:
    metadata: {labels: {app: maas-api}}
    spec:
      containers:
      - name: api
        image: registry.example/api:1
        args: [--port, "8443"]
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
        ports: [{containerPort: 8443}]
        resources: {requests: {cpu: 1000m, memory: 0.5Gi}}
      tolerations: [{key: k, operator: Exists, tolerationSeconds: 5, effect: NoExecute}]
`
	configMap sample = `
apiVersion: v1
kind: ConfigMap
data: {a: "1", b: "2"}
`
	secret sample = `
apiVersion: v1
kind: Secret
stringData: {password: not-a-secret}
`
)

// build returns the object under a name, marked as ours.
func (s sample) build(namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(s))
	if err != nil {
		panic(fmt.Sprintf("sample: %v", err))
	}
	if err := obj.UnmarshalJSON(text); err != nil {
		panic(fmt.Sprintf("sample: %v", err))
	}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
	return obj
}

// set changes one field of an object, given as a path of member names.
func set(obj *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(obj.Object, runtime.DeepCopyJSONValue(value), path...); err != nil {
		panic(fmt.Sprintf("set %v: %v", path, err))
	}
}

// field reads one field of an object; nil when it is absent.
func field(obj *unstructured.Unstructured, path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil {
		panic(fmt.Sprintf("read %v: %v", path, err))
	}
	return value
}
