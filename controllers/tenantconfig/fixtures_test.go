// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates"
)

// Fixed names of the tests.
const (
	defaultNamespace  = "models-as-a-service"
	aitenantNamespace = "ai-tenants"
	infraNamespace    = "odh-ai-gateway-infra"
	gatewayNamespace  = "openshift-ingress"
	defaultGateway    = "maas-default-gateway"
)

func tenancies() tenancy.Settings {
	return tenancy.Settings{
		Gateway:          types.NamespacedName{Namespace: gatewayNamespace, Name: defaultGateway},
		DefaultNamespace: defaultNamespace, AITenantNamespace: aitenantNamespace, Discovery: true,
	}
}

func tenantSettings() tenant.Settings {
	return tenant.Settings{
		Platform: tenant.Kubernetes, ControllerNamespace: "opendatahub", InfraNamespace: infraNamespace, AITenantNamespace: aitenantNamespace,
		Access: access.Settings{InfraNamespace: infraNamespace, Audience: "https://kubernetes.default.svc", MetadataCacheTTL: 60, AuthorizationCacheTTL: 60},
	}
}

func makeScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, inferencev1alpha1.AddToScheme, gwapiv1.Install} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme, err := makeScheme()
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}

func makeEngine() (*render.Engine, error) {
	return render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
}

func newEngine(t *testing.T) *render.Engine {
	t.Helper()
	engine, err := makeEngine()
	if err != nil {
		t.Fatal(err)
	}
	return engine
}
