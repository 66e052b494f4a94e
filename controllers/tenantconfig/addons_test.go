// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Kinds of add-ons.
var (
	telemetryPolicies = schema.GroupVersionKind{Group: "extensions.kuadrant.io", Version: "v1alpha1", Kind: "TelemetryPolicy"}
	latencies         = schema.GroupVersionKind{Group: "telemetry.istio.io", Version: "v1", Kind: "Telemetry"}
	filters           = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}
	destinations      = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "DestinationRule"}
	deployments       = appsv1.SchemeGroupVersion.WithKind("Deployment")
	autoscalers       = autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	configMaps        = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// everything is served.
func everything() []string {
	return []string{telemetry.PolicyCRD, telemetry.LatencyCRD, payload.FilterCRD, tenant.DestinationRuleCRD}
}

// bench is a tenant whose add-ons are brought in place.
type bench struct {
	t      *testing.T
	r      *tenantconfig.Reconciler
	served []string
}

func newBench(t *testing.T, f small, processing bool) *bench {
	t.Helper()
	f.kinds = []schema.GroupVersionKind{telemetryPolicies, latencies, filters, destinations}
	f.objects = append(f.objects, config("ai-tenant-red", stamped("red")))
	b := &bench{t: t, r: f.reconciler(t), served: everything()}
	b.r.PayloadProcessing = processing
	return b
}

func (b *bench) config() *v1alpha1.MaasTenantConfig {
	b.t.Helper()
	c := &v1alpha1.MaasTenantConfig{}
	if err := b.r.Client.Get(b.t.Context(), types.NamespacedName{Namespace: "ai-tenant-red", Name: v1alpha1.DefaultTenantConfigName}, c); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// extend brings the add-ons in place and returns what the conditions say of them, as
// "<type> <status> <reason>: <message>", and the warnings.
func (b *bench) extend(change func(*v1alpha1.MaasTenantConfig)) ([]string, []tenantstatus.Warning) {
	b.t.Helper()
	said, warnings, err := b.try(change)
	if err != nil {
		b.t.Fatalf("Extend() error = %v", err)
	}
	return said, warnings
}

func (b *bench) try(change func(*v1alpha1.MaasTenantConfig)) ([]string, []tenantstatus.Warning, error) {
	b.t.Helper()
	c := b.config()
	if change != nil {
		change(c)
	}
	red := tenancy.Context{Name: "red", ID: "red", Gateway: types.NamespacedName{Namespace: gatewayNamespace, Name: "red"}}
	warnings, err := tenantconfig.Extend(b.t.Context(), b.r, c, red, b.served...)
	var said []string
	for _, condition := range c.Status.Conditions {
		said = append(said, condition.Type+" "+string(condition.Status)+" "+condition.Reason+": "+condition.Message)
	}
	slices.Sort(said)
	return said, warnings, err
}

// live reads an object in the Gateway's namespace; nil when there is none.
func (b *bench) live(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	b.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := b.r.Client.Get(b.t.Context(), types.NamespacedName{Namespace: gatewayNamespace, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		b.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return o
}

// rollOut has the Pods of both processors run.
func (b *bench) rollOut() {
	b.t.Helper()
	b.count(appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1})
}

// count sets what the Deployments of both processors say of their Pods.
func (b *bench) count(status appsv1.DeploymentStatus) {
	b.t.Helper()
	for _, name := range []string{"payload-processing-red", "payload-pre-processing-red"} {
		d := &appsv1.Deployment{}
		if err := b.r.Client.Get(b.t.Context(), types.NamespacedName{Namespace: gatewayNamespace, Name: name}, d); err != nil {
			b.t.Fatal(err)
		}
		d.Status = status
		d.Status.ObservedGeneration = d.Generation
		if err := b.r.Client.Status().Update(b.t.Context(), d); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) says(got []string, want ...string) {
	b.t.Helper()
	if len(got) != len(want) {
		b.t.Fatalf("conditions %q, want %q", got, want)
	}
	for i := range want {
		for part := range strings.SplitSeq(want[i], "…") {
			if !strings.Contains(got[i], part) {
				b.t.Errorf("condition %q does not say %q", got[i], part)
			}
		}
	}
}

const (
	labelled  = "TelemetryReady True Reconciled"
	processed = "PayloadProcessingReady True Reconciled"
)

// TestTelemetryIsSwitched has rows E-172 and E-173.
func TestTelemetryIsSwitched(t *testing.T) {
	t.Parallel()
	b := newBench(t, small{}, false)
	said, warnings := b.extend(nil)
	b.says(said, labelled)
	if b.live(telemetryPolicies, "maas-telemetry-red") == nil || b.live(latencies, "latency-per-subscription-red") == nil || len(warnings) > 0 {
		t.Errorf("telemetry is not there, warnings %v", warnings)
	}
	said, _ = b.extend(func(c *v1alpha1.MaasTenantConfig) {
		c.Spec.Telemetry = &v1alpha1.TenantTelemetryConfig{Enabled: new(false)}
	})
	b.says(said)
	if b.live(telemetryPolicies, "maas-telemetry-red") != nil || b.live(latencies, "latency-per-subscription-red") != nil {
		t.Error("telemetry that was switched off is still there")
	}
}

// TestUsageIsLogged: where there is somewhere to log to.
func TestUsageIsLogged(t *testing.T) {
	t.Parallel()
	monitoring := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "monitoring"}}
	b := newBench(t, small{objects: []client.Object{monitoring}}, false)
	b.r.Settings.MonitoringNamespace = monitoring.Name
	said, _ := b.extend(nil)
	b.says(said, labelled, "UsageLogsReady True Reconciled")
	if b.live(filters, "maas-model-access-logs-red") == nil {
		t.Error("the Gateway logs nothing")
	}
	b.r.Settings.MonitoringNamespace = ""
	said, _ = b.extend(nil)
	b.says(said, labelled)
	if b.live(filters, "maas-model-access-logs-red") != nil {
		t.Error("the Gateway logs to nowhere")
	}
}

// TestAMissingKindCostsItsObjects has weakness W-37.
func TestAMissingKindCostsItsObjects(t *testing.T) {
	t.Parallel()
	b := newBench(t, small{}, true)
	b.served = []string{telemetry.PolicyCRD}
	said, warnings := b.extend(nil)
	b.says(said, "PayloadProcessingReady False APIMissing…"+payload.FilterCRD, "TelemetryReady False APIMissing…"+telemetry.LatencyCRD+"…when it appears")
	if b.live(telemetryPolicies, "maas-telemetry-red") == nil {
		t.Error("the object of a kind that is served is missing")
	}
	if b.live(deployments, "payload-processing-red") != nil {
		t.Error("a processor runs that no gateway can ask")
	}
	if len(warnings) != 2 || warnings[0].Reason != v1alpha1.ReasonPrerequisitesWarning {
		t.Errorf("warnings = %v", warnings)
	}
	b.served = everything()
	said, _ = b.extend(nil)
	b.says(said, "PayloadProcessingReady False NotAvailable", labelled)
}

// TestTheGatewayIsToldOnceTheProcessorRuns: before, every request to a model would fail.
func TestTheGatewayIsToldOnceTheProcessorRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, small{}, true)
	said, _ := b.extend(nil)
	b.says(said, "PayloadProcessingReady False NotAvailable…payload-processing-red", labelled)
	if b.live(filters, "payload-processing-red") != nil {
		t.Error("the gateway asks a processor that does not run")
	}
	b.rollOut()
	said, warnings := b.extend(nil)
	b.says(said, processed, labelled)
	if b.live(filters, "payload-processing-red") == nil || len(warnings) > 0 {
		t.Errorf("the gateway does not ask the processors, warnings %v", warnings)
	}
	// E-140: written once, and no reason to complain.
	plugins := b.live(configMaps, "payload-processing-plugins-red")
	if plugins == nil || plugins.GetAnnotations()[v1alpha1.AnnotationManaged] != "false" {
		t.Errorf("plugins = %v", plugins)
	}
	b.r.PayloadProcessing = false
	said, _ = b.extend(nil)
	b.says(said, labelled)
	if b.live(filters, "payload-processing-red") != nil || b.live(deployments, "payload-processing-red") != nil {
		t.Error("payload processing is still there without its image")
	}
}

// TestWhatIsNotKnownStays: and keeps nothing else from going.
func TestWhatIsNotKnownStays(t *testing.T) {
	t.Parallel()
	down, unread := false, errors.New("down")
	b := newBench(t, small{funcs: interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if down && o.GetObjectKind().GroupVersionKind() == configMaps {
				return unread
			}
			return c.Get(ctx, key, o, opts...)
		},
	}}, true)
	b.extend(nil)
	b.rollOut()
	b.extend(nil)
	down = true
	said, _, err := b.try(func(c *v1alpha1.MaasTenantConfig) {
		c.Spec.Telemetry = &v1alpha1.TenantTelemetryConfig{Enabled: new(false)}
	})
	if !errors.Is(err, unread) {
		t.Errorf("error = %v, want to try again", err)
	}
	b.says(said) // What the status says stays, too: nothing, here.
	down = false
	if b.live(filters, "payload-processing-red") == nil || b.live(deployments, "payload-processing-red") == nil {
		t.Error("payload processing went, and nothing is known of it")
	}
	if b.live(telemetryPolicies, "maas-telemetry-red") != nil {
		t.Error("telemetry that was switched off is still there")
	}
}

// TestPodsComeAndGo: a release, or an autoscaler, that brings up other Pods is nothing to
// complain about; that there is none is, and the gateway is still told.
func TestPodsComeAndGo(t *testing.T) {
	t.Parallel()
	b := newBench(t, small{}, true)
	b.extend(nil)
	b.count(appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 1})
	said, _ := b.extend(nil)
	b.says(said, "PayloadProcessingReady False NotAvailable", labelled)
	b.rollOut()
	b.extend(nil)
	for name, status := range map[string]appsv1.DeploymentStatus{
		"a release":  {Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 1},
		"a scale-up": {Replicas: 5, UpdatedReplicas: 5, AvailableReplicas: 1},
	} {
		b.count(status)
		said, warnings := b.extend(nil)
		b.says(said, processed, labelled)
		if len(warnings) > 0 {
			t.Errorf("%s: warnings = %v", name, warnings)
		}
	}
	b.count(appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1})
	said, _ = b.extend(nil)
	b.says(said, "PayloadProcessingReady False NotAvailable", labelled)
	if b.live(filters, "payload-processing-red") == nil {
		t.Error("requests are not processed any more, instead of failing")
	}
}

// TestOthersObjectsAreLeftAlone: what others have under a name costs the object.
func TestOthersObjectsAreLeftAlone(t *testing.T) {
	t.Parallel()
	theirs := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: gatewayNamespace, Name: "payload-processing-red"}}
	b := newBench(t, small{objects: []client.Object{theirs}}, true)
	said, _ := b.extend(nil)
	b.says(said, "PayloadProcessingReady False ForeignObject…Deployment openshift-ingress/payload-processing-red", labelled)
	if b.live(filters, "payload-processing-red") != nil {
		t.Error("the gateway asks somebody else's processor")
	}
}

// TestARefusedObjectKeepsNothingElse: the other add-on is in place all the same, and it is
// tried again.
func TestARefusedObjectKeepsNothingElse(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	b := newBench(t, small{funcs: interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if named, ok := o.(interface{ GetName() string }); ok && named.GetName() == "maas-telemetry-red" {
				return refused
			}
			return c.Apply(ctx, o, opts...)
		},
	}}, true)
	said, warnings, err := b.try(nil)
	if !errors.Is(err, refused) || len(warnings) == 0 {
		t.Errorf("error = %v, warnings %v, want to try again", err, warnings)
	}
	b.says(said, "PayloadProcessingReady False NotAvailable", "TelemetryReady False ApplyFailed…TelemetryPolicy openshift-ingress/maas-telemetry-red")
}

// TestTheGatewayStopsAskingBeforeTheProcessorsGo: without them it would refuse requests.
func TestTheGatewayStopsAskingBeforeTheProcessorsGo(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	refuse := true
	b := newBench(t, small{funcs: interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if refuse && o.GetObjectKind().GroupVersionKind() == filters {
				return refused
			}
			return c.Delete(ctx, o, opts...)
		},
	}}, true)
	b.extend(nil)
	b.rollOut()
	b.extend(nil)
	b.r.PayloadProcessing = false
	if _, warnings, err := b.try(nil); !errors.Is(err, refused) || len(warnings) != 1 || warnings[0].Reason != v1alpha1.ReasonRemovalBlocked {
		t.Errorf("error = %v, warnings %v, want to try again", err, warnings)
	}
	for kind, name := range map[schema.GroupVersionKind]string{deployments: "payload-processing-red", destinations: "payload-processing-red"} {
		if b.live(kind, name) == nil {
			t.Errorf("%s %s is gone, and the gateway still asks", kind.Kind, name)
		}
	}
	refuse = false
	b.extend(nil)
	if b.live(filters, "payload-processing-red") != nil || b.live(deployments, "payload-processing-red") != nil {
		t.Error("payload processing is still there without its image")
	}
}
