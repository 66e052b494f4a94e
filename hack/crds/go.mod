// The modules here are only downloaded, for the CRDs in them: see main.go.
// Their own dependencies are neither loaded nor listed; do not "go mod tidy".
module github.com/opendatahub-io/maas-operator/hack/crds

go 1.26.0

require (
	github.com/kserve/kserve v0.17.0
	github.com/kuadrant/authorino v0.25.0
	github.com/kuadrant/authorino-operator v0.21.0
	github.com/kuadrant/kuadrant-operator v1.5.2
	github.com/kuadrant/limitador-operator v0.15.0
	github.com/openshift/api v0.0.0-20260204104751-e09e5a4ebcd0
	github.com/operator-framework/operator-lifecycle-manager v0.46.0
	github.com/prometheus-operator/prometheus-operator v0.85.0
	istio.io/api v1.32.0
	sigs.k8s.io/gateway-api v1.6.3
	sigs.k8s.io/gateway-api-inference-extension v1.5.0
)
