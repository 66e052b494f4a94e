// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
	"github.com/opendatahub-io/maas-operator/test/rig"
)

// The kinds in which Kuadrant keeps the configuration of a Gateway.
var (
	envoyFilter = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}
	wasmPlugin  = schema.GroupVersionKind{Group: "extensions.istio.io", Version: "v1alpha1", Kind: "WasmPlugin"}
)

// configuration is that of a Gateway, with about as many bytes.
func configuration(kind schema.GroupVersionKind, gateway string, bytes int) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"configuration": strings.Repeat("x", bytes)}}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(gatewayNamespace)
	object.SetName("kuadrant-" + gateway)
	return object
}

// weighed knows the kinds that are read for it.
func weighed(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypeWithName(kuadrant.AuthPolicy, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(kuadrant.AuthPolicy.GroupVersion().WithKind("AuthPolicyList"), &unstructured.UnstructuredList{})
	return scheme
}

const half = tenantstatus.MaxConfiguration / 2

func TestTheConfigurationOfAGatewayIsWeighed(t *testing.T) {
	t.Parallel()
	both := []string{"envoyfilters.networking.istio.io", "wasmplugins.extensions.istio.io"}
	for name, test := range map[string]struct {
		served []string
		object *unstructured.Unstructured
		want   string // The object that the warning names; empty for none.
	}{
		"neither kind is served":           {nil, nil, ""},
		"there is none":                    {both, nil, ""},
		"it is small":                      {both, configuration(envoyFilter, "red", half-1000), ""},
		"it is large":                      {both, configuration(envoyFilter, "red", half), "EnvoyFilter openshift-ingress/kuadrant-red"},
		"that of another Gateway is large": {both, configuration(envoyFilter, "blue", half), ""},
		"an earlier Kuadrant made it":      {both, configuration(wasmPlugin, "red", half), "WasmPlugin openshift-ingress/kuadrant-red"},
		"its kind is gone":                 {both[1:], configuration(envoyFilter, "red", half), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := fakecluster.Holding(weighed(t))
			if test.object != nil {
				b = fakecluster.Holding(weighed(t), test.object)
			}
			w := tenantconfig.NewWeighing(b.Build(), clocktesting.NewFakePassiveClock(time.Unix(0, 0)), test.served...)
			warnings, again := w.Weigh(t.Context(), gatewayNamespace, "red")
			switch {
			case test.want == "" && len(warnings) > 0:
				t.Errorf("warnings = %+v, want none", warnings)
			case test.want != "" && (len(warnings) != 1 || !strings.HasPrefix(warnings[0].Message, test.want+", ")):
				t.Errorf("warnings = %+v, want one of %s", warnings, test.want)
			case (again == 0) != (test.served == nil):
				t.Errorf("looks again after %s", again)
			}
		})
	}
}

func enforcedPolicy(status string) *unstructured.Unstructured {
	policy := kuadrant.New(kuadrant.AuthPolicy)
	policy.SetNamespace("llm")
	policy.SetName("maas-auth-granite")
	policy.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
	policy.Object["status"] = map[string]any{"observedGeneration": int64(0), "conditions": []any{map[string]any{
		"type": "Enforced", "status": status, "reason": "Because", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z",
	}}}
	return policy
}

func modelOf(tenant string) *v1alpha1.MaaSModelRef {
	return builder.ModelRef("llm", "granite").Status(v1alpha1.MaaSModelRefStatus{Tenant: tenant}).Obj()
}

// A configuration that was refused stays as small as it was: what counts is who is in it.
func TestAModelThatIsNotInTheConfigurationIsAWarning(t *testing.T) {
	t.Parallel()
	naming := func(policies ...string) *unstructured.Unstructured {
		object := configuration(envoyFilter, "red", 0)
		object.Object["spec"] = map[string]any{"configuration": `{"sources":["authpolicy.kuadrant.io:` + strings.Join(policies, `","authpolicy.kuadrant.io:`) + `"]}`}
		return object
	}
	const own, others = "infra/maas-api-auth-policy-red", "llm/maas-auth-granite"
	then := time.Date(2030, 1, 1, 0, 1, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		objects   []client.Object
		now       time.Time
		want      bool
		wantAgain time.Duration
	}{
		"it is in it":                {[]client.Object{modelOf("red"), enforcedPolicy("True"), naming(own, others)}, then, false, 10 * time.Minute},
		"it is not":                  {[]client.Object{modelOf("red"), enforcedPolicy("True"), naming(own, others+"-too")}, then, true, time.Minute},
		"there never was any":        {[]client.Object{modelOf("red"), enforcedPolicy("True")}, then, false, 10 * time.Minute},
		"it may be in a moment":      {[]client.Object{modelOf("red"), enforcedPolicy("True"), naming(own)}, then.Add(-time.Second), false, time.Minute},
		"its policy is not enforced": {[]client.Object{modelOf("red"), enforcedPolicy("False"), naming(own)}, then, false, time.Minute},
		"it has no policy yet":       {[]client.Object{modelOf("red"), naming(own)}, then, false, time.Minute},
		"it is another tenant's":     {[]client.Object{modelOf("blue"), enforcedPolicy("True"), naming(own)}, then, false, 10 * time.Minute},
		"it names no policies":       {[]client.Object{modelOf("red"), enforcedPolicy("True"), configuration(envoyFilter, "red", 0)}, then, false, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := tenantconfig.NewWeighing(fakecluster.Holding(weighed(t), test.objects...).Build(), clocktesting.NewFakePassiveClock(test.now), "envoyfilters.networking.istio.io")
			warnings, again := w.Weigh(t.Context(), gatewayNamespace, "red")
			if (len(warnings) == 1) != test.want || again != test.wantAgain {
				t.Errorf("warnings = %+v, again after %s; want one: %t, after %s", warnings, again, test.want, test.wantAgain)
			}
			for _, warning := range warnings {
				if warning.Reason != v1alpha1.ReasonGatewayConfigurationIncomplete || !strings.Contains(warning.Message, "llm/granite") ||
					!strings.HasPrefix(warning.Message, "EnvoyFilter openshift-ingress/kuadrant-red, ") {
					t.Errorf("warning = %+v", warning)
				}
			}
		})
	}
}

// TestUnsafeSettingsAreRead has failure A89.
func TestUnsafeSettingsAreRead(t *testing.T) {
	t.Parallel()
	object := configuration(envoyFilter, "red", 0)
	object.Object["spec"] = map[string]any{"configuration": `{"services":{"ratelimit-check-service":{"failureMode":"allow","timeout":"100ms"}}}`}
	w := tenantconfig.NewWeighing(fakecluster.Holding(weighed(t), object).Build(), clocktesting.NewFakePassiveClock(time.Unix(0, 0)), "envoyfilters.networking.istio.io")
	warnings, _ := w.Weigh(t.Context(), gatewayNamespace, "red")
	if len(warnings) != 1 || warnings[0].Reason != v1alpha1.ReasonGatewayConfigurationUnsafe || !strings.Contains(warnings[0].Message, "RATELIMIT_CHECK_SERVICE_FAILURE_MODE=deny") {
		t.Errorf("warnings = %+v, want one about the limiter", warnings)
	}
}

// A proxy without its configuration lets everything pass. Gateways of another kind of
// proxy never have one.
func TestAConfigurationThatHasGoneIsAWarning(t *testing.T) {
	t.Parallel()
	object := configuration(envoyFilter, "red", 0)
	object.Object["spec"] = map[string]any{"configuration": `{"sources":["authpolicy.kuadrant.io:llm/maas-auth-granite"]}`}
	policy := enforcedPolicy("True")
	cluster := fakecluster.Holding(weighed(t), modelOf("red"), policy, object).Build()
	clock := clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 1, 0, 0, time.UTC))
	w := tenantconfig.NewWeighing(cluster, clock, "envoyfilters.networking.istio.io")
	if warnings, _ := w.Weigh(t.Context(), gatewayNamespace, "red"); len(warnings) != 0 {
		t.Fatalf("warnings = %+v, want none", warnings)
	}
	if err := cluster.Delete(t.Context(), object.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // It stays said.
		clock.SetTime(clock.Now().Add(time.Minute))
		warnings, again := w.Weigh(t.Context(), gatewayNamespace, "red")
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0].Message, "EnvoyFilter openshift-ingress/kuadrant-red, which Kuadrant generates for the Gateway, does not exist") || again != time.Minute {
			t.Errorf("warnings = %+v, again after %s; want that it does not exist, after a minute", warnings, again)
		}
	}
}

// What is large is read once a minute however often something happens; what was known
// outlasts a moment without an answer.
func TestALargeConfigurationIsReadSeldom(t *testing.T) {
	t.Parallel()
	reads, down := 0, false
	cluster := interceptor.NewClient(fakecluster.Holding(weighed(t), configuration(envoyFilter, "red", half)).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if reads++; down {
				return errors.New("connection refused")
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	w := tenantconfig.NewWeighing(cluster, clock, "envoyfilters.networking.istio.io")
	weigh := func(step string, wantReads int, wantAgain time.Duration) {
		t.Helper()
		warnings, again := w.Weigh(t.Context(), gatewayNamespace, "red")
		if len(warnings) != 1 || reads != wantReads || again != wantAgain {
			t.Errorf("%s: %d warnings, %d reads, again after %s; want 1, %d, %s", step, len(warnings), reads, again, wantReads, wantAgain)
		}
	}
	weigh("at first", 1, 10*time.Minute)
	clock.SetTime(time.Unix(20, 0))
	weigh("soon after", 1, 40*time.Second)
	clock.SetTime(time.Unix(60, 0))
	weigh("a minute later", 2, 10*time.Minute)
	clock.SetTime(time.Unix(180, 0))
	down = true
	weigh("without an answer", 3, time.Minute)
	if warnings, _ := w.Weigh(t.Context(), gatewayNamespace, "blue"); len(warnings) != 0 {
		t.Errorf("the other Gateway has the warnings %+v of the first", warnings)
	}
}

// A small one is read each time; who is in it takes a look at all policies, and another
// one later.
func TestAConfigurationIsComparedWithTheModelsSeldom(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tenant    string
		wantLists []int
		wantAgain []time.Duration
	}{
		"of a tenant with models":    {"red", []int{1, 1, 2}, []time.Duration{10 * time.Minute, 40 * time.Second, 10 * time.Minute}},
		"of a tenant without models": {"blue", []int{0, 0, 0}, []time.Duration{10 * time.Minute, 10 * time.Minute, 10 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists := 0
			objects := []client.Object{modelOf("red"), enforcedPolicy("True"), configuration(envoyFilter, "red", 0), configuration(envoyFilter, "blue", 0)}
			cluster := interceptor.NewClient(fakecluster.Holding(weighed(t), objects...).Build(), interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if _, ofModels := list.(*v1alpha1.MaaSModelRefList); !ofModels {
						lists++
					}
					return c.List(ctx, list, options...)
				},
			})
			start := time.Date(2030, 1, 1, 0, 1, 0, 0, time.UTC)
			clock := clocktesting.NewFakePassiveClock(start)
			w := tenantconfig.NewWeighing(cluster, clock, "envoyfilters.networking.istio.io")
			for i, second := range []time.Duration{0, 20, 60} {
				clock.SetTime(start.Add(second * time.Second))
				if _, again := w.Weigh(t.Context(), gatewayNamespace, test.tenant); lists != test.wantLists[i] || again != test.wantAgain[i] {
					t.Errorf("after %d seconds: %d lists of policies, again after %s; want %d, %s", second, lists, again, test.wantLists[i], test.wantAgain[i])
				}
			}
		})
	}
}

var _ = Describe("the configuration of a Gateway", Ordered, func() {
	var green tenantOf
	degraded := func() string {
		return meta.FindStatusCondition(green.config().Status.Conditions, string(v1alpha1.ConditionDegraded)).Message
	}
	BeforeAll(func(ctx SpecContext) {
		provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
		suite.Operate(ctx, rig.Manager{SetUp: setUp, Written: written()})
		green = newTenant(ctx, "green")
		Eventually(green.state).Should(Equal(works))
		Expect(degraded()).NotTo(ContainSubstring("EnvoyFilter"))
	})

	It("is read once its kind is there", func(ctx SpecContext) {
		Expect(suite.Admin.Create(ctx, kind("networking.istio.io", "v1alpha3", "EnvoyFilter", "envoyfilters"))).To(Succeed())
		object := configuration(envoyFilter, "green", half)
		Eventually(func() error { return suite.Admin.Create(ctx, object.DeepCopy()) }).Should(Succeed())
		// Whatever happens to a tenant has it looked at, and so does its kind when it comes.
		// Once is enough, and again and again too often: no status is written to a config
		// that has moved on since it was read.
		green.annotate("example.com/touched", "yes")
		Eventually(degraded).Should(ContainSubstring("EnvoyFilter openshift-ingress/kuadrant-green, which Kuadrant generates for the Gateway, has reached 50 percent"))
		Expect(green.state()).To(Equal(works))
	})
})
