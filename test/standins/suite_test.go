// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package standins_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestStandins(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "Stand-ins on a real API server")
}

const (
	className = "istio"
	// slowPrefix marks policies whose status lags; all others are answered at once.
	slowPrefix = "slow-"
	slowLag    = 1500 * time.Millisecond
)

// suite is what all specs use: one API server and the stand-ins under test.
var suite struct {
	client   client.Client
	standins *standins.All
}

var _ = BeforeSuite(func(ctx SpecContext) {
	env, err := testenv.Start(ctx, testenv.Options{
		CRDs: []testenv.CRDSet{testenv.GatewayAPI, testenv.Kuadrant, testenv.KServe}, Log: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)

	scheme := runtime.NewScheme()
	Expect(corev1.AddToScheme(scheme)).To(Succeed())
	Expect(gwapiv1.Install(scheme)).To(Succeed())
	suite.client, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	suite.standins, err = standins.StartAll(ctx, env.AdminConfig(), standins.Options{
		Kuadrant: kuadrant.Options{Lag: lag, Logger: GinkgoLogr},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(suite.standins.Stop)
	Expect(suite.client.Create(ctx, &gwapiv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: className},
		Spec:       gwapiv1.GatewayClassSpec{ControllerName: "istio.io/gateway-controller"},
	})).To(Succeed())
})

func lag(_ kuadrant.Kind, name types.NamespacedName, _ int64) time.Duration {
	if strings.HasPrefix(name.Name, slowPrefix) {
		return slowLag
	}
	return 0
}

// scene is a namespace of its own with a gateway that takes its routes.
type scene struct {
	namespace string
}

func newScene(ctx context.Context) scene {
	GinkgoHelper()
	namespace, err := testenv.NewNamespace(ctx, suite.client, "standins")
	Expect(err).NotTo(HaveOccurred())
	s := scene{namespace: namespace}
	Expect(suite.client.Create(ctx, s.gateway("gateway", className))).To(Succeed())
	return s
}

func (s scene) gateway(name, class string) *gwapiv1.Gateway {
	hostname := gwapiv1.Hostname("*.example.com")
	return &gwapiv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: gwapiv1.GatewaySpec{GatewayClassName: gwapiv1.ObjectName(class), Listeners: []gwapiv1.Listener{
			{Name: "http", Port: 80, Protocol: gwapiv1.HTTPProtocolType, Hostname: &hostname},
		}},
	}
}

func (s scene) route(name, gateway string) *gwapiv1.HTTPRoute {
	return &gwapiv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: gwapiv1.HTTPRouteSpec{
			CommonRouteSpec: gwapiv1.CommonRouteSpec{ParentRefs: []gwapiv1.ParentReference{{Name: gwapiv1.ObjectName(gateway)}}},
			Hostnames:       []gwapiv1.Hostname{"maas.example.com"},
		},
	}
}

// authPolicy denies everybody as long as predicate holds.
func (s scene) authPolicy(name, route, predicate string) *unstructured.Unstructured {
	return s.policy(kuadrant.AuthPolicy, name, route, map[string]any{
		"when": []any{map[string]any{"predicate": predicate}},
		"rules": map[string]any{"authorization": map[string]any{"deny": map[string]any{
			"patternMatching": map[string]any{"patterns": []any{map[string]any{"predicate": "false"}}},
		}}},
	})
}

func (s scene) limitPolicy(name, route, predicate string) *unstructured.Unstructured {
	return s.policy(kuadrant.TokenRateLimitPolicy, name, route, map[string]any{
		"limits": map[string]any{"tokens": map[string]any{
			"rates": []any{map[string]any{"limit": int64(100), "window": "1m"}},
			"when":  []any{map[string]any{"predicate": predicate}},
		}},
	})
}

func (s scene) policy(kind kuadrant.Kind, name, route string, spec map[string]any) *unstructured.Unstructured {
	spec["targetRef"] = map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": route}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind.GVK())
	u.SetNamespace(s.namespace)
	u.SetName(name)
	return u
}

func (s scene) service(name string, route map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"model": map[string]any{"uri": "hf://example/model"},
		"router": map[string]any{
			"route":   route,
			"gateway": map[string]any{"refs": []any{map[string]any{"name": "gateway", "namespace": s.namespace}}},
		},
	}}}
	u.SetGroupVersionKind(kserve.GVK())
	u.SetNamespace(s.namespace)
	u.SetName(name)
	return u
}

// conditionOf reads one condition in the form "True Reason".
func conditionOf(o *unstructured.Unstructured, conditionType string) func(SpecContext) string {
	return func(ctx SpecContext) string {
		fresh := o.DeepCopy()
		if err := suite.client.Get(ctx, client.ObjectKeyFromObject(o), fresh); err != nil {
			return err.Error()
		}
		var typed struct {
			Status struct {
				ObservedGeneration int64              `json:"observedGeneration"`
				Conditions         []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fresh.Object, &typed); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(typed.Status.Conditions, conditionType)
		switch {
		case typed.Status.ObservedGeneration != fresh.GetGeneration():
			return "not observed"
		case c == nil:
			return "absent"
		default:
			return strings.TrimSpace(fmt.Sprintf("%s %s", c.Status, c.Reason))
		}
	}
}

func resourceVersion(o client.Object) func(SpecContext) (string, error) {
	return func(ctx SpecContext) (string, error) {
		fresh := o.DeepCopyObject().(client.Object)
		err := suite.client.Get(ctx, client.ObjectKeyFromObject(o), fresh)
		return fresh.GetResourceVersion(), err
	}
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(suite.client.Create(ctx, o)).To(Succeed())
	}
}

// edit changes an object and stores it, again if somebody was faster.
func edit(ctx context.Context, o *unstructured.Unstructured, change func(*unstructured.Unstructured)) {
	GinkgoHelper()
	Eventually(func() error {
		fresh := o.DeepCopy()
		if err := suite.client.Get(ctx, client.ObjectKeyFromObject(o), fresh); err != nil {
			return err
		}
		change(fresh)
		return suite.client.Update(ctx, fresh)
	}).Should(Succeed())
}
