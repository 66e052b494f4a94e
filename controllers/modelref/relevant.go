// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/modelstatus"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// The functions of this file tell whether an update of another object can change
// the status of a model. An object of an unexpected type can.

// judged holds for a new generation and for a new verdict. The latter is our own
// write: a look that came between the write and its arrival in the cache compared
// with the old status, and may have left out what had to be written.
func judged(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.MaaSModelRef)
	b, alsoOK := after.(*v1alpha1.MaaSModelRef)
	return !ok || !alsoOK || trigger.NewGeneration(a, b) || !equality.Semantic.DeepEqual(verdictIn(a.Status), verdictIn(b.Status))
}

// verdictIn is what this controller writes of a status.
func verdictIn(status v1alpha1.MaaSModelRefStatus) v1alpha1.MaaSModelRefStatus {
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c metav1.Condition) bool {
		return !slices.Contains(modelstatus.Conditions(), v1alpha1.ConditionType(c.Type))
	})
	return status
}

// serviceChanged holds for what is read of an LLMInferenceService.
func serviceChanged(before, after client.Object) bool {
	a, ok := before.(*unstructured.Unstructured)
	b, alsoOK := after.(*unstructured.Unstructured)
	return !ok || !alsoOK || trigger.NewGeneration(a, b) || kserve.Differs(kserve.Wrap(a), kserve.Wrap(b))
}

// routeChanged holds for spec, labels and what the gateways say.
func routeChanged(before, after client.Object) bool {
	a, ok := before.(*gwapiv1.HTTPRoute)
	b, alsoOK := after.(*gwapiv1.HTTPRoute)
	return !ok || !alsoOK || trigger.NewGeneration(a, b) ||
		!equality.Semantic.DeepEqual(a.Labels, b.Labels) || !equality.Semantic.DeepEqual(a.Status, b.Status)
}

// gatewayChanged holds for listeners and addresses. A gateway also counts its
// routes, which changes with every model.
func gatewayChanged(before, after client.Object) bool {
	a, ok := before.(*gwapiv1.Gateway)
	b, alsoOK := after.(*gwapiv1.Gateway)
	return !ok || !alsoOK || trigger.NewGeneration(a, b) || !equality.Semantic.DeepEqual(a.Status.Addresses, b.Status.Addresses)
}

// externalModelChanged holds for what is read of an ExternalModel of our own group.
func externalModelChanged(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.ExternalModel)
	b, alsoOK := after.(*v1alpha1.ExternalModel)
	return !ok || !alsoOK || trigger.NewGeneration(a, b) || modelstatus.ExternalBackend(a) != modelstatus.ExternalBackend(b)
}

func inferenceModelChanged(before, after client.Object) bool {
	a, ok := before.(*inferencev1alpha1.ExternalModel)
	b, alsoOK := after.(*inferencev1alpha1.ExternalModel)
	return !ok || !alsoOK || trigger.NewGeneration(a, b) || a.Status.HTTPRouteName != b.Status.HTTPRouteName ||
		modelstatus.InferenceBackend(a) != modelstatus.InferenceBackend(b)
}

// aliasChanged holds when a model gains or loses an alias that others may have.
func aliasChanged(before, after client.Object) bool {
	leaving := before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil
	return leaving || aliasOf(before) != aliasOf(after)
}

// contributorChanged holds for the references of a subscription or auth policy, and
// for its phase, which tells whether it can take effect.
func contributorChanged(before, after client.Object) bool {
	return trigger.NewGeneration(before, after) || phaseOf(before) != phaseOf(after)
}

func phaseOf(obj client.Object) v1alpha1.Phase {
	switch o := obj.(type) {
	case *v1alpha1.MaaSSubscription:
		return o.Status.Phase
	case *v1alpha1.MaaSAuthPolicy:
		return o.Status.Phase
	default:
		return ""
	}
}
