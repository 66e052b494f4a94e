// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Paths under which the API server asks, as config/webhook registers them.
const (
	// SubscriptionPath judges MaaSSubscriptions.
	SubscriptionPath = "/validate-maas-opendatahub-io-v1alpha1-maassubscription"
	// AuthPolicyPath judges MaaSAuthPolicies.
	AuthPolicyPath = "/validate-maas-opendatahub-io-v1alpha1-maasauthpolicy"
	// ModelRefPath judges MaaSModelRefs.
	ModelRefPath = "/validate-maas-opendatahub-io-v1alpha1-maasmodelref"
	// AITenantPath judges AITenants.
	AITenantPath = "/validate-maas-opendatahub-io-v1alpha1-aitenant"
)

const (
	// answerTimeout is below the timeoutSeconds of config/webhook: an answer that
	// says what could not be read is better than none.
	answerTimeout = 4 * time.Second
	// retrySeconds is after how long a client may try again what could not be
	// judged.
	retrySeconds = 1
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=list;watch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=aitenants;maastenantconfigs;tenants,verbs=get
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=aitenants,verbs=list

// Register adds the webhooks to a server.
func Register(server webhook.Server, tenants Tenants) {
	for path, handler := range map[string]admission.Handler{
		SubscriptionPath: adviser{judge: tenants.judgeMember, advise: adviseSubscription},
		AuthPolicyPath:   judge(tenants.judgeMember),
		ModelRefPath:     judge(tenants.judgeModel),
		AITenantPath:     adviser{judge: tenants.judgeAITenant, advise: tenants.adviseAITenant},
	} {
		server.Register(path, &admission.Webhook{Handler: handler})
	}
}

// judge returns nil to admit a request. A [refusal] is the user's to resolve; any
// other error means that the request could not be judged.
type judge func(context.Context, admission.Request) error

// Handle implements admission.Handler.
func (j judge) Handle(ctx context.Context, req admission.Request) admission.Response {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := j(ctx, req)
	if err == nil {
		return admission.Allowed("")
	}
	status := unjudged(err)
	if r, ok := errors.AsType[*refusal](err); ok {
		status = r.status(req)
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}

// adviser is a judge that has something to say about what it admits.
type adviser struct {
	judge  judge
	advise func(context.Context, admission.Request) []string
}

// Handle implements admission.Handler.
func (a adviser) Handle(ctx context.Context, req admission.Request) admission.Response {
	response := a.judge.Handle(ctx, req)
	if response.Allowed {
		ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
		defer cancel()
		response.Warnings = a.advise(ctx, req)
	}
	return response
}

// refusal says which field of an object is wrong and what to do about it.
type refusal struct {
	field  *field.Path
	value  string
	detail string
}

// Error implements error.
func (r *refusal) Error() string { return r.field.String() + ": " + r.detail }

// status has the form that violations of the schema have.
func (r *refusal) status(req admission.Request) metav1.Status {
	kind := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
	return apierrors.NewInvalid(kind, nameOf(req), field.ErrorList{field.Invalid(r.field, r.value, r.detail)}).ErrStatus
}

// unjudged refuses for now: what could not be read says nothing about the object.
func unjudged(err error) metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: "the object could not be checked, try again: " + err.Error(),
		Details: &metav1.StatusDetails{RetryAfterSeconds: retrySeconds},
	}
}

// nameOf returns the name of the object. A request for a generated name has none,
// but the object does by then.
func nameOf(req admission.Request) string {
	if req.Name != "" {
		return req.Name
	}
	object, err := decode(req.Object.Raw)
	if err != nil {
		return ""
	}
	return object.GetName()
}

// decode reads an object as far as it is judged: one that was stored under older
// rules must not fail here.
func decode(raw []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	return object, nil
}
