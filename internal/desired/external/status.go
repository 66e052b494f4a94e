// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
)

// Credential is what is known of the Secret with a provider's API key, and never the key.
type Credential int

const (
	// CredentialUnread is one that the operator may not read.
	CredentialUnread Credential = iota
	// CredentialAbsent does not exist.
	CredentialAbsent
	// CredentialEmpty has nothing under the key api-key.
	CredentialEmpty
	// CredentialUnlabelled lacks the label by which payload processing finds it.
	CredentialUnlabelled
	// CredentialFormerlyLabelled has the label of an earlier release only.
	CredentialFormerlyLabelled
	// CredentialUsable is as payload processing needs it.
	CredentialUsable
)

// formerLabel is what the label of a provider's Secret ended in, in earlier releases.
const formerLabel = "/bbr-managed"

// CredentialOf judges a Secret by its labels and by whether it has data under the key.
func CredentialOf(labels map[string]string, filled bool) Credential {
	switch {
	case !filled:
		return CredentialEmpty
	case labels[v1alpha1.LabelPayloadManaged] == "true":
		return CredentialUsable
	}
	for label, value := range labels {
		if strings.HasSuffix(label, formerLabel) && value == "true" {
			return CredentialFormerlyLabelled
		}
	}
	return CredentialUnlabelled
}

// Replacement is what is known of an ExternalModel of the same name in the group of the
// inference gateway.
type Replacement int

const (
	// NotReplaced is that there is none.
	NotReplaced Replacement = iota
	// BeingReplaced is that there is one, which has no route yet.
	BeingReplaced
	// Replaced is that there is one with a route.
	Replaced
)

// Fields are where the author of a model finds what messages are about. Empty ones are
// those of this operator's own group.
type Fields struct {
	// Host is the field with the provider's host, Credential the one that names the
	// Secret, Target the one with the name that requests have in a header.
	Host, Credential, Target string
}

// Facts are what the status of a model depends on.
type Facts struct {
	// Fields are those of the model's group.
	Fields Fields
	// Note says what of the spec has no effect, or is empty.
	Note string
	// Generation is the model's.
	Generation int64
	// Secret is the name of the Secret with the provider's API key, Credential what is
	// known of it.
	Secret     string
	Credential Credential
	// Denied is the ServiceAccount of payload processing when it may not read that Secret,
	// in Namespace; empty when it may, or when there is none.
	Denied    types.NamespacedName
	Namespace string
	// Invalid says what is wrong with the spec, Homeless why the default tenant's Gateway
	// cannot be told; each is nil or an [apperr.UserError].
	Invalid, Homeless error
	// Refused says why the host must not be led to, or is empty.
	Refused string
	// Replacement is what takes the model's place.
	Replacement Replacement
	// MissingAPIs are the CustomResourceDefinitions that are needed and not served.
	MissingAPIs []string
	// Route is the model's in the light of the Gateway; its Object is nil when there is
	// none.
	Route endpoint.Route
	// Closed says why the route leads nowhere, or to nobody, or is empty.
	Closed string
	// Rival is another model that gets the requests which name the target in a header;
	// empty for none. Nameless tells that no request can name it in one.
	Rival    types.NamespacedName
	Nameless bool
	// Secured tells that the provider is spoken to over TLS because another model of its
	// host asks for it.
	Secured bool
	// OptedOut are objects that an annotation keeps from the operator.
	OptedOut []string
	// Failure is what kept an object from being written; its reason is empty when nothing
	// did.
	Failure apperr.UserError
}

// Verdict is what a status says.
type Verdict struct {
	Phase      v1alpha1.ExternalModelPhase
	Conditions []metav1.Condition
}

// Decide judges a model by its facts.
func Decide(f Facts) Verdict {
	credential := f.credential()
	phase, ready := f.ready(credential)
	v := Verdict{Phase: phase}
	add := func(kind v1alpha1.ConditionType, c metav1.Condition) {
		c.Type, c.ObservedGeneration = string(kind), f.Generation
		v.Conditions = append(v.Conditions, c)
	}
	add(v1alpha1.ConditionReady, ready)
	add(v1alpha1.ConditionHostAccepted, f.host())
	add(v1alpha1.ConditionCredentialAvailable, credential)
	add(v1alpha1.ConditionRouteAccepted, f.accepted())
	add(v1alpha1.ConditionModelIdentityUnique, f.identity())
	return v
}

func yes(reason v1alpha1.ConditionReason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: string(reason), Message: message}
}

func no(reason v1alpha1.ConditionReason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: string(reason), Message: message}
}

// ready sums up, the worst first.
func (f Facts) ready(credential metav1.Condition) (v1alpha1.ExternalModelPhase, metav1.Condition) {
	accepted := f.accepted()
	switch {
	case f.Failure.Reason != "":
		return v1alpha1.ExternalModelPhaseFailed, no(v1alpha1.ConditionReason(f.Failure.Reason), f.Failure.Message)
	case f.Invalid != nil:
		return v1alpha1.ExternalModelPhaseFailed, of(f.Invalid)
	case f.Refused != "":
		return v1alpha1.ExternalModelPhaseFailed, f.host()
	case f.Replacement == Replaced:
		return v1alpha1.ExternalModelPhasePending, no(v1alpha1.ReasonSuperseded,
			"The ExternalModel of this name in the group inference.opendatahub.io has taken over. Delete this one, which has no effect any more.")
	case f.Replacement == BeingReplaced:
		return v1alpha1.ExternalModelPhasePending, no(v1alpha1.ReasonSuperseded,
			"The ExternalModel of this name in the group inference.opendatahub.io takes over as soon as it has an HTTPRoute. What was made for this one stays until then.")
	case f.Homeless != nil:
		return v1alpha1.ExternalModelPhasePending, of(f.Homeless)
	case len(f.MissingAPIs) > 0:
		return v1alpha1.ExternalModelPhasePending, no(v1alpha1.ReasonAPIMissing, fmt.Sprintf(
			"The cluster does not serve %s, without which the Gateway cannot reach the provider: install it. No request reaches the provider until then.", strings.Join(f.MissingAPIs, " and ")))
	case accepted.Status != metav1.ConditionTrue:
		return v1alpha1.ExternalModelPhasePending, accepted
	case f.Closed != "":
		return v1alpha1.ExternalModelPhasePending, no(v1alpha1.ReasonRouteNotGuarded, f.Closed)
	case credential.Status == metav1.ConditionFalse:
		return v1alpha1.ExternalModelPhasePending, credential
	default:
		return v1alpha1.ExternalModelPhaseReady, yes(v1alpha1.ReasonReconciled, f.aside())
	}
}

// aside says what is not as usual about a model that works.
func (f Facts) aside() string {
	if len(f.OptedOut) == 0 {
		return f.Note
	}
	optedOut := fmt.Sprintf("Not managed because of the annotation %s=false: %s. Remove the annotation to hand it back.", v1alpha1.AnnotationManaged, strings.Join(f.OptedOut, ", "))
	return strings.TrimSpace(f.Note + " " + optedOut)
}

// of makes a condition of an error that is the user's.
func of(err error) metav1.Condition {
	if user, ok := apperr.AsUser(err); ok {
		return no(v1alpha1.ConditionReason(user.Reason), user.Message)
	}
	return no(v1alpha1.ReasonReconcileFailed, err.Error())
}

func (f Facts) host() metav1.Condition {
	switch {
	case f.Refused != "":
		return no(v1alpha1.ReasonHostRefused, cmp.Or(f.Fields.Host, "spec.endpoint")+" "+f.Refused+": name a host outside of the cluster. Nothing is made for this ExternalModel.")
	case f.Secured:
		return yes(v1alpha1.ReasonHostAccepted, "The provider is spoken to over TLS, although this ExternalModel does not ask for it: another one of the same host and port does.")
	default:
		return yes(v1alpha1.ReasonHostAccepted, "")
	}
}

func (f Facts) credential() metav1.Condition {
	secret := "Secret " + f.Secret + ", which " + cmp.Or(f.Fields.Credential, "spec.credentialRef") + " names,"
	label := fmt.Sprintf("label it %s=true, or payload processing does not find it and requests fail.", v1alpha1.LabelPayloadManaged)
	if f.Denied.Name != "" && (f.Credential == CredentialUnread || f.Credential == CredentialUsable) {
		return no(v1alpha1.ReasonCredentialNotGranted, f.denied(secret))
	}
	switch f.Credential {
	case CredentialUsable:
		return yes(v1alpha1.ReasonCredentialAvailable, "")
	case CredentialAbsent:
		return no(v1alpha1.ReasonCredentialNotFound, secret+" does not exist in the namespace of the ExternalModel: create it, with the provider's API key under the key "+v1alpha1.CredentialSecretKey+".")
	case CredentialEmpty:
		return no(v1alpha1.ReasonCredentialIncomplete, secret+" has nothing under the key "+v1alpha1.CredentialSecretKey+": put the provider's API key there.")
	case CredentialFormerlyLabelled:
		return no(v1alpha1.ReasonCredentialNotLabelled, secret+" has the label of an earlier release only: "+label)
	case CredentialUnlabelled:
		return no(v1alpha1.ReasonCredentialNotLabelled, secret+" is not labelled: "+label)
	default:
		return metav1.Condition{
			Status: metav1.ConditionUnknown, Reason: string(v1alpha1.ReasonCredentialNotReadable),
			Message: "The operator may not read " + strings.TrimSuffix(secret, ",") + ": whoever runs the namespace may bind the ClusterRole maas-controller-provider-secrets to the operator there, to have the Secret checked.",
		}
	}
}

// denied says how payload processing gets to read the Secret.
func (f Facts) denied(secret string) string {
	const name = "payload-processing-credentials"
	return fmt.Sprintf("%s is out of reach of ServiceAccount %s, which puts the API key in, so that requests fail. Grant it in namespace %s: "+
		"kubectl create role %s -n %s --verb=get,list,watch --resource=secrets; kubectl create rolebinding %s -n %s --role=%s --serviceaccount=%s:%s.",
		secret, f.Denied, f.Namespace, name, f.Namespace, name, f.Namespace, name, f.Denied.Namespace, f.Denied.Name)
}

func (f Facts) accepted() metav1.Condition {
	switch {
	case f.Homeless != nil && f.Route.Object != nil:
		return metav1.Condition{
			Status: metav1.ConditionUnknown, Reason: string(v1alpha1.ReasonRouteNotAccepted),
			Message: "There is an HTTPRoute, and no Gateway of the default tenant that could accept it; the condition Ready says why.",
		}
	case f.Route.Object == nil:
		return no(v1alpha1.ReasonRouteNotFound, "There is no HTTPRoute for this ExternalModel; the condition Ready says why.")
	case !f.Route.Attached:
		return no(v1alpha1.ReasonRouteNotAccepted, "The HTTPRoute is not attached to the default tenant's Gateway.")
	case f.Route.Acceptance.State == metav1.ConditionFalse:
		return no(v1alpha1.ReasonRouteNotAccepted, fmt.Sprintf("Gateway %s refuses the HTTPRoute: %s: %s", f.Route.Gateway, f.Route.Acceptance.Reason, f.Route.Acceptance.Message))
	case f.Route.Acceptance.State != metav1.ConditionTrue:
		return no(v1alpha1.ReasonRouteNotAccepted, fmt.Sprintf("Gateway %s has not accepted the HTTPRoute yet.", f.Route.Gateway))
	default:
		return yes(v1alpha1.ReasonRouteAccepted, "")
	}
}

func (f Facts) identity() metav1.Condition {
	field := cmp.Or(f.Fields.Target, "spec.targetModel")
	switch {
	case f.Nameless:
		return no(v1alpha1.ReasonModelNameRefused,
			"The value of "+field+" cannot be named in the header X-Gateway-Model-Name, because of characters that mean something to the gateway: keep to letters, digits, spaces inside and "+strings.TrimSpace(harmless)+". Until then this ExternalModel is reached by its path alone.")
	case f.Rival.Name != "":
		return no(v1alpha1.ReasonModelNameConflict, fmt.Sprintf(
			"ExternalModel %s has the same %s, and gets the requests that name it in the header X-Gateway-Model-Name: of those that a MaaSAuthPolicy names it had them first, or is the oldest. This one is reached by its path.", f.Rival, field))
	default:
		return yes(v1alpha1.ReasonUniqueIdentity, "")
	}
}
