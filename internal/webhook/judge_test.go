// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

const (
	defaultNamespace = "models-as-a-service"
	redNamespace     = "ai-tenant-red"
	aitenants        = "ai-tenants"
)

var errDown = errors.New("connection refused")

// reader looks among the given objects; fails decides which reads do not succeed.
func reader(t *testing.T, fails func(context.Context, client.Object) error, objects ...client.Object) lookup.Tenants {
	t.Helper()
	c := fakecluster.Holding(parts.Scheme(t), objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if err := fails(ctx, object); err != nil {
				return err
			}
			return c.Get(ctx, key, object, opts...)
		},
	}).Build()
	return lookup.Tenants{Reader: c, Settings: tenancy.Settings{
		Gateway:          types.NamespacedName{Namespace: "ingress", Name: "maas"},
		DefaultNamespace: defaultNamespace, AITenantNamespace: aitenants, Discovery: true,
	}}
}

func fine(context.Context, client.Object) error   { return nil }
func broken(context.Context, client.Object) error { return errDown }

// hangs is a cache that is never filled.
func hangs(ctx context.Context, _ client.Object) error {
	<-ctx.Done()
	return ctx.Err()
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func tenantNamespace(name string) *corev1.Namespace {
	return namespace(name, map[string]string{v1alpha1.LabelTenant: "red"})
}

func tenantConfig(namespace, tenant string) *v1alpha1.MaasTenantConfig {
	return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName,
		Labels:      map[string]string{v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: tenant},
		Annotations: map[string]string{v1alpha1.AnnotationAITenantName: tenant, v1alpha1.AnnotationAITenantNamespace: aitenants},
	}}
}

func legacyTenant(namespace string) *v1alpha1.Tenant {
	return &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName}}
}

func aiTenant(namespace, name string) *v1alpha1.AITenant {
	return &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// both reads the same objects from the cache and from the API server.
func both(t *testing.T, objects ...client.Object) Tenants {
	t.Helper()
	return Tenants{Cached: reader(t, fine, objects...), Live: reader(t, fine, objects...)}
}

func raw(t *testing.T, object map[string]any) runtime.RawExtension {
	t.Helper()
	if object == nil {
		return runtime.RawExtension{}
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

func request(operation admissionv1.Operation, kind, namespace string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: operation, Namespace: namespace, Name: "sample",
		Kind: metav1.GroupVersionKind{Group: v1alpha1.GroupVersion.Group, Version: "v1alpha1", Kind: kind},
	}}
}

// expect checks that a response admits, or refuses with everything in the message.
func expect(t *testing.T, got admission.Response, code int32, want ...string) {
	t.Helper()
	if got.Allowed != (code == http.StatusOK) {
		t.Fatalf("allowed = %t, result %+v", got.Allowed, got.Result)
	}
	if code == http.StatusOK {
		return
	}
	if got.Result.Code != code {
		t.Errorf("code %d, want %d", got.Result.Code, code)
	}
	for _, part := range want {
		if !strings.Contains(got.Result.Message, part) {
			t.Errorf("message %q does not say %q", got.Result.Message, part)
		}
	}
}

const refused = http.StatusUnprocessableEntity

func TestSubscriptionsAndPoliciesNeedATenantsNamespace(t *testing.T) {
	t.Parallel()
	const notEnabled = "not enabled for MaaS tenant resources"
	for name, tc := range map[string]struct {
		objects   []client.Object
		namespace string
		code      int32
		want      []string
	}{
		"the default namespace needs nothing": {
			namespace: defaultNamespace, code: http.StatusOK,
		},
		"the default namespace may hold a legacy Tenant": {
			objects: []client.Object{legacyTenant(defaultNamespace)}, namespace: defaultNamespace, code: http.StatusOK,
		},
		"a tenant's namespace with its config": {
			objects: []client.Object{tenantNamespace(redNamespace), tenantConfig(redNamespace, "red")}, namespace: redNamespace, code: http.StatusOK,
		},
		"a plain namespace": {
			objects: []client.Object{namespace("llm", nil)}, namespace: "llm", code: refused,
			want: []string{notEnabled, `"sample"`, "metadata.namespace", "lacks the label ai-gateway.opendatahub.io/tenant", "AITenant", "MaasTenantConfig default-tenant", defaultNamespace},
		},
		"a label alone fails closed": {
			objects: []client.Object{tenantNamespace(redNamespace)}, namespace: redNamespace, code: refused,
			want: []string{notEnabled, "holds no MaasTenantConfig default-tenant", "wait for its AITenant"},
		},
		"a config alone": {
			objects: []client.Object{namespace(redNamespace, nil), tenantConfig(redNamespace, "red")}, namespace: redNamespace, code: refused,
			want: []string{notEnabled, "lacks the label"},
		},
		"a legacy Tenant elsewhere": {
			objects: []client.Object{tenantNamespace("old"), legacyTenant("old")}, namespace: "old", code: refused,
			want: []string{notEnabled},
		},
		"a config that claims another tenant": {
			objects: []client.Object{tenantNamespace("blue"), tenantConfig("blue", "red")}, namespace: "blue", code: refused,
			want: []string{notEnabled, "claims tenant red"},
		},
		"a namespace that does not exist": {
			namespace: "none", code: refused, want: []string{notEnabled},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenants := both(t, tc.objects...)
			for _, kind := range []string{"MaaSSubscription", "MaaSAuthPolicy"} {
				got := judge(tenants.judgeMember).Handle(t.Context(), request(admissionv1.Create, kind, tc.namespace))
				expect(t, got, tc.code, append(tc.want, kindIn(kind, tc.code)...)...)
			}
			member, err := tenants.Live.Member(t.Context(), tc.namespace)
			if err != nil || (member != "") != (tc.code == http.StatusOK) {
				t.Errorf("reconcilers see tenant %q, err = %v", member, err)
			}
		})
	}
}

func kindIn(kind string, code int32) []string {
	if code == http.StatusOK {
		return nil
	}
	return []string{kind}
}

func TestOnlyTheCreationOfSubscriptionsAndPoliciesIsJudged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*admission.Request){
		"an update":          func(r *admission.Request) { r.Operation = admissionv1.Update },
		"a deletion":         func(r *admission.Request) { r.Operation = admissionv1.Delete },
		"a write of status":  func(r *admission.Request) { r.SubResource = "status" },
		"a connect, for all": func(r *admission.Request) { r.Operation = admissionv1.Connect },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(admissionv1.Create, "MaaSSubscription", "llm")
			change(&req)
			down := Tenants{Cached: reader(t, broken), Live: reader(t, broken)}
			expect(t, judge(down.judgeMember).Handle(t.Context(), req), http.StatusOK)
		})
	}
}

func TestAGeneratedNameIsNamed(t *testing.T) {
	t.Parallel()
	req := request(admissionv1.Create, "MaaSSubscription", "llm")
	req.Name = ""
	req.Object = raw(t, map[string]any{"kind": "MaaSSubscription", "metadata": map[string]any{"generateName": "gold-", "name": "gold-x7k2p"}})
	expect(t, judge(both(t).judgeMember).Handle(t.Context(), req), refused, `"gold-x7k2p"`)
}

func TestTheAPIServerIsAskedBeforeAnythingIsRefused(t *testing.T) {
	t.Parallel()
	there := []client.Object{tenantNamespace(redNamespace), tenantConfig(redNamespace, "red"), aiTenant(aitenants, "red")}
	for name, tc := range map[string]struct {
		tenants Tenants
		code    int32
		want    []string
	}{
		"the cache is behind":            {Tenants{Cached: reader(t, fine), Live: reader(t, fine, there...)}, http.StatusOK, nil},
		"the cache cannot be read":       {Tenants{Cached: reader(t, broken), Live: reader(t, fine, there...)}, http.StatusOK, nil},
		"the cache is being filled":      {Tenants{Cached: reader(t, hangs), Live: reader(t, fine, there...)}, http.StatusOK, nil},
		"what the cache has is admitted": {Tenants{Cached: reader(t, fine, there...), Live: reader(t, broken)}, http.StatusOK, nil},
		"neither knows it":               {Tenants{Cached: reader(t, fine), Live: reader(t, fine)}, refused, nil},
		"the API server cannot be read":  {Tenants{Cached: reader(t, fine), Live: reader(t, broken)}, http.StatusInternalServerError, []string{"try again", "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := judge(tc.tenants.judgeMember).Handle(t.Context(), request(admissionv1.Create, "MaaSSubscription", redNamespace))
			expect(t, member, tc.code, tc.want...)
			named := judge(tc.tenants.judgeModel).Handle(t.Context(), modelRequest(t, admissionv1.Create, model("red"), nil))
			expect(t, named, tc.code, tc.want...)
		})
	}
}

func TestAnAPIServerThatDoesNotAnswerIsNotAwaitedForEver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	silent := Tenants{Cached: reader(t, broken), Live: reader(t, hangs)}
	got := judge(silent.judgeMember).Handle(ctx, request(admissionv1.Create, "MaaSSubscription", redNamespace))
	expect(t, got, http.StatusInternalServerError, "try again", "deadline")
}

func TestWhatCouldNotBeReadIsNoVerdict(t *testing.T) {
	t.Parallel()
	down := Tenants{Cached: reader(t, broken), Live: reader(t, broken)}
	for name, got := range map[string]admission.Response{
		"member": judge(down.judgeMember).Handle(t.Context(), request(admissionv1.Create, "MaaSAuthPolicy", "llm")),
		"model":  judge(down.judgeModel).Handle(t.Context(), modelRequest(t, admissionv1.Create, model("red"), nil)),
	} {
		if got.Result.Reason != metav1.StatusReasonInternalError || got.Result.Details.RetryAfterSeconds == 0 {
			t.Errorf("%s: clients do not learn to try again: %+v", name, got.Result)
		}
		for _, verdict := range []string{"not enabled", "does not exist"} {
			if strings.Contains(got.Result.Message, verdict) {
				t.Errorf("%s: message %q claims a verdict", name, got.Result.Message)
			}
		}
	}
}
