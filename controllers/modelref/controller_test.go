// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

var errDown = errors.New("connection refused")

// installed is a discovery of the kinds by group version, or an error.
type installed struct {
	kinds map[string][]string
	err   error
}

func (i installed) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	if i.err != nil {
		return nil, i.err
	}
	list := &metav1.APIResourceList{}
	for _, kind := range i.kinds[groupVersion] {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
	}
	return list, nil
}

// everyAPI serves all that the controller reads; LLMInferenceService in an old version.
var everyAPI = installed{kinds: map[string][]string{
	"serving.kserve.io/v1alpha1":        {"LLMInferenceService"},
	"gateway.networking.k8s.io/v1":      {"HTTPRoute", "Gateway"},
	"inference.opendatahub.io/v1alpha1": {"ExternalModel"},
}}

// reconciler works on a fake cluster; calls go through the interceptor.
func reconciler(t *testing.T, apis installed, funcs interceptor.Funcs, objs ...client.Object) *Reconciler {
	t.Helper()
	b := fakecluster.Holding(parts.Scheme(t), objs...).WithStatusSubresource(&v1alpha1.MaaSModelRef{}).WithInterceptorFuncs(funcs)
	for _, i := range index.All() {
		b = b.WithIndex(i.Object, i.Name, i.Extract)
	}
	c := b.Build()
	return &Reconciler{
		Client: c,
		Tenants: lookup.Tenants{Reader: c, Settings: tenancy.Settings{
			Gateway: types.NamespacedName{Namespace: "ingress", Name: "maas"}, DefaultNamespace: "models-as-a-service", AITenantNamespace: "ai-tenants",
		}},
		APIs:   facts.NewOptionalAPIs(apis),
		Events: events.NewFakeRecorder(100),
	}
}

func model(name string, kind v1alpha1.BackendKind) *v1alpha1.MaaSModelRef {
	m := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: name, Generation: 1}}
	m.Spec.ModelRef = v1alpha1.BackendReference{Kind: kind, Name: name}
	return m
}

func request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "llm", Name: name}}
}

// status reconciles a model once and returns it.
func status(t *testing.T, r *Reconciler, name string) *v1alpha1.MaaSModelRef {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), request(name)); err != nil {
		t.Fatal(err)
	}
	m := &v1alpha1.MaaSModelRef{}
	if err := r.Client.Get(t.Context(), request(name).NamespacedName, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func readyReason(m *v1alpha1.MaaSModelRef) v1alpha1.ConditionReason {
	if c := meta.FindStatusCondition(m.Status.Conditions, "Ready"); c != nil {
		return v1alpha1.ConditionReason(c.Reason)
	}
	return ""
}

// Row 9.1.20; the API server no longer lets one in.
func TestAStoredModelWithoutSpecIsInvalidAndCanBeDeleted(t *testing.T) {
	t.Parallel()
	r := reconciler(t, everyAPI, interceptor.Funcs{}, &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "old"}})
	m := status(t, r, "old")
	if m.Status.Phase != v1alpha1.ModelPhaseInvalid || readyReason(m) != v1alpha1.ReasonInvalidSpec || len(m.Finalizers) != 0 {
		t.Errorf("phase %s, reason %s, finalizers %v", m.Status.Phase, readyReason(m), m.Finalizers)
	}
}

// A name that fits no label may be stored from before the API refused it. The API
// server would refuse to be asked for its policies, and the model could never go.
func TestAStoredModelWhoseNameFitsNoLabelCanBeDeleted(t *testing.T) {
	t.Parallel()
	m := model(strings.Repeat("m", 70), v1alpha1.BackendExternalModel)
	m.Finalizers = []string{v1alpha1.FinalizerModelCleanup}
	m.DeletionTimestamp = new(metav1.Now())
	r := reconciler(t, everyAPI, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ok := list.(*unstructured.UnstructuredList); ok {
			return errors.New("unable to parse requirement: must be no more than 63 bytes")
		}
		return c.List(ctx, list, opts...)
	}}, m)
	r.Applier = apply.New(r.Client, apply.Options{})
	if _, err := r.Reconcile(t.Context(), request(m.Name)); err != nil {
		t.Fatal(err)
	}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
		t.Errorf("the model is still there, err = %v", err)
	}
}

// Rows 9.1.37, 9.3.46, 9.3.48, 9.3.52, 9.3.53 and B36.
func TestBackends(t *testing.T) {
	t.Parallel()
	service := kserve.New(kserve.GroupKind.WithVersion("v1alpha1"))
	service.SetNamespace("llm")
	service.SetName("m")
	service.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	inference := &inferencev1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "m"}}
	own := &v1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "m"}}
	route := func(name string) *gwapiv1.HTTPRoute {
		return &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: name}}
	}
	routed := inference.DeepCopy()
	routed.Status.HTTPRouteName = "theirs"

	for name, tc := range map[string]struct {
		apis       installed
		kind       v1alpha1.BackendKind
		objects    []client.Object
		wantPhase  v1alpha1.ModelPhase
		wantReason v1alpha1.ConditionReason
		wantRoute  string
	}{
		"an older version of KServe will do":    {everyAPI, v1alpha1.BackendLLMInferenceService, []client.Object{service.DeepCopy()}, v1alpha1.ModelPhasePending, v1alpha1.ReasonRouteNotFound, ""},
		"the kind as earlier releases spelt it": {everyAPI, "llmisvc", []client.Object{service.DeepCopy()}, v1alpha1.ModelPhasePending, v1alpha1.ReasonRouteNotFound, ""},
		"a kind nobody knows":                   {everyAPI, "Toaster", nil, v1alpha1.ModelPhaseFailed, v1alpha1.ReasonUnsupported, ""},
		"KServe is not installed":               {installed{}, v1alpha1.BackendLLMInferenceService, nil, v1alpha1.ModelPhaseFailed, v1alpha1.ReasonDependencyMissing, ""},
		"Gateway API is not installed": {
			installed{kinds: map[string][]string{"serving.kserve.io/v1alpha1": {"LLMInferenceService"}}},
			v1alpha1.BackendLLMInferenceService,
			[]client.Object{service.DeepCopy()},
			v1alpha1.ModelPhasePending, v1alpha1.ReasonRouteNotFound, "",
		},
		"an ExternalModel in neither group": {everyAPI, v1alpha1.BackendExternalModel, nil, v1alpha1.ModelPhaseFailed, v1alpha1.ReasonBackendNotFound, ""},
		"an ExternalModel of our own group": {
			everyAPI, v1alpha1.BackendExternalModel, []client.Object{own.DeepCopy(), route("maas-m")}, v1alpha1.ModelPhaseFailed, v1alpha1.ReasonRouteNotAccepted, "maas-m",
		},
		"of two ExternalModels the inference group's wins": {
			everyAPI, v1alpha1.BackendExternalModel,
			[]client.Object{own.DeepCopy(), routed, route("maas-m"), route("theirs")},
			v1alpha1.ModelPhaseFailed, v1alpha1.ReasonRouteNotAccepted, "theirs",
		},
		"of two the inference group's has no route yet: the other one serves on": {
			everyAPI, v1alpha1.BackendExternalModel,
			[]client.Object{own.DeepCopy(), inference.DeepCopy(), route("maas-m")},
			v1alpha1.ModelPhaseFailed, v1alpha1.ReasonRouteNotAccepted, "maas-m",
		},
		"of two the inference group's names a route that does not exist": {
			everyAPI, v1alpha1.BackendExternalModel,
			[]client.Object{own.DeepCopy(), routed.DeepCopy(), route("maas-m")},
			v1alpha1.ModelPhaseFailed, v1alpha1.ReasonRouteNotAccepted, "maas-m",
		},
		"the inference group's alone names a route that does not exist": {
			everyAPI, v1alpha1.BackendExternalModel, []client.Object{routed.DeepCopy(), route("maas-m")}, v1alpha1.ModelPhasePending, v1alpha1.ReasonRouteNotFound, "",
		},
		"the inference group's has no route yet": {
			everyAPI, v1alpha1.BackendExternalModel, []client.Object{inference.DeepCopy(), route("maas-m")}, v1alpha1.ModelPhasePending, v1alpha1.ReasonRouteNotFound, "",
		},
		"our own without the inference API": {
			installed{kinds: map[string][]string{"gateway.networking.k8s.io/v1": {"HTTPRoute"}}},
			v1alpha1.BackendExternalModel,
			[]client.Object{own.DeepCopy(), route("maas-m")},
			v1alpha1.ModelPhaseFailed, v1alpha1.ReasonRouteNotAccepted, "maas-m",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := status(t, reconciler(t, tc.apis, interceptor.Funcs{}, append(tc.objects, model("m", tc.kind))...), "m")
			if m.Status.Phase != tc.wantPhase || readyReason(m) != tc.wantReason || m.Status.HTTPRouteName != tc.wantRoute {
				t.Errorf("phase %s, reason %s, route %q", m.Status.Phase, readyReason(m), m.Status.HTTPRouteName)
			}
		})
	}
}

// Row 9.1.1: without a setting there is no gateway that a model could be at.
func TestAManagerWithoutAGatewayHasNoHiddenOne(t *testing.T) {
	t.Parallel()
	route := &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "maas-m"}}
	route.Spec.ParentRefs = []gwapiv1.ParentReference{{Namespace: new(gwapiv1.Namespace("openshift-ingress")), Name: "maas-default-gateway"}}
	external := &v1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "m"}}
	r := reconciler(t, everyAPI, interceptor.Funcs{}, external, route, model("m", v1alpha1.BackendExternalModel))
	r.Tenants.Settings.Gateway = types.NamespacedName{}
	if m := status(t, r, "m"); m.Status.Phase != v1alpha1.ModelPhaseFailed || readyReason(m) != v1alpha1.ReasonRouteNotAccepted {
		t.Errorf("phase %s, reason %s", m.Status.Phase, readyReason(m))
	}
}

func TestAFactThatCannotBeReadLeavesTheStatusAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		apis  installed
		funcs interceptor.Funcs
	}{
		"whether KServe is installed": {installed{err: errDown}, interceptor.Funcs{}},
		"the backend": {everyAPI, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if obj.GetObjectKind().GroupVersionKind().Kind == kserve.GroupKind.Kind {
				return errDown
			}
			return c.Get(ctx, key, obj, opts...)
		}}},
		"the routes":        {everyAPI, failList(&gwapiv1.HTTPRouteList{})},
		"the auth policies": {everyAPI, failList(&v1alpha1.MaaSAuthPolicyList{})},
		"the subscriptions": {everyAPI, failList(&v1alpha1.MaaSSubscriptionList{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model("m", v1alpha1.BackendLLMInferenceService)
			m.Status.Phase, m.Status.Endpoint = v1alpha1.ModelPhaseReady, "https://h/llm/m"
			service := kserve.New(kserve.GroupKind.WithVersion("v1alpha1"))
			service.SetNamespace("llm")
			service.SetName("m")
			r := reconciler(t, tc.apis, tc.funcs, m, service)
			if _, err := r.Reconcile(t.Context(), request("m")); !errors.Is(err, errDown) {
				t.Fatalf("err = %v", err)
			}
			got := &v1alpha1.MaaSModelRef{}
			if err := r.Client.Get(t.Context(), request("m").NamespacedName, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m.Status, got.Status); diff != "" {
				t.Errorf("status (-before +after):\n%s", diff)
			}
		})
	}
}

func failList(kind client.ObjectList) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if got, want := typeOf(list), typeOf(kind); got == want {
			return errDown
		}
		return c.List(ctx, list, opts...)
	}}
}

func typeOf(list client.ObjectList) string {
	switch list.(type) {
	case *gwapiv1.HTTPRouteList:
		return "routes"
	case *v1alpha1.MaaSAuthPolicyList:
		return "auth policies"
	case *v1alpha1.MaaSSubscriptionList:
		return "subscriptions"
	case *v1alpha1.MaaSModelRefList:
		return "models"
	default:
		return "others"
	}
}

// W-20.
func TestAConflictIsTriedAgainQuietly(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "maasmodelrefs"}, "m", errors.New("moved on"))
	r := reconciler(t, everyAPI, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return conflict
		},
	}, model("m", v1alpha1.BackendLLMInferenceService))
	result, err := r.Reconcile(t.Context(), request("m"))
	if err != nil || result.RequeueAfter <= 0 {
		t.Errorf("result = %+v, err = %v", result, err)
	}
	if recorder, ok := r.Events.(*events.FakeRecorder); !ok || len(recorder.Events) != 0 {
		t.Error("an event was recorded for a status that was not written")
	}
}

func TestAConflictOverTheFinalizerIsTriedAgainQuietly(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "maasmodelrefs"}, "m", errors.New("moved on"))
	r := reconciler(t, everyAPI, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return conflict
		},
	}, model("m", v1alpha1.BackendLLMInferenceService))
	result, err := r.Reconcile(t.Context(), request("m"))
	if err != nil || result.RequeueAfter <= 0 {
		t.Errorf("result = %+v, err = %v", result, err)
	}
}

// W-20.
func TestAnErrorWritingTheStatusIsReturned(t *testing.T) {
	t.Parallel()
	r := reconciler(t, everyAPI, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errDown
		},
	}, model("m", v1alpha1.BackendLLMInferenceService))
	if _, err := r.Reconcile(t.Context(), request("m")); !errors.Is(err, errDown) {
		t.Errorf("err = %v", err)
	}
}

func TestAModelThatIsGoneIsNoError(t *testing.T) {
	t.Parallel()
	if _, err := reconciler(t, everyAPI, interceptor.Funcs{}).Reconcile(t.Context(), request("m")); err != nil {
		t.Errorf("err = %v", err)
	}
}
