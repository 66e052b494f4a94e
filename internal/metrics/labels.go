// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/opendatahub-io/maas-operator/internal/apply"
)

// Label describes a label for the documentation.
type Label struct {
	Name string
	// Family is the only one that this describes the label of; empty for all.
	Family  string
	Meaning string
	// Values are all there are; none when they are not for this package to say.
	Values []LabelValue
}

// LabelValue is one value of a label.
type LabelValue struct{ Value, Meaning string }

// Labels describes every label of [Families].
func Labels() []Label {
	return []Label{
		{labelController, "", "The controller, under its name in the metrics of controller-runtime. Two of them look after a MaaSModelRef, `modelref` after its status and `modelpolicy` after its policies; `priority` compares all subscriptions of a namespace at once, and `nudge` looks at all generated policies.", nil},
		{labelKind, "", "The kind of the objects.", nil},
		{labelOutcome, reconcileTotal, "What a reconcile came to.", []LabelValue{
			{string(Success), "The object is as it should be."},
			{string(Waiting), "Something else has to happen first, and will wake the controller."},
			{string(UserError), "Somebody has to act, as the object's status says."},
			{string(Conflict), "A write met a newer object, and is tried again at once."},
			{string(Failure), "It is tried again, later each time; the log tells why."},
		}},
		{labelOperation, "", "What was asked for.", []LabelValue{
			{string(apply.OperationApply), "To bring an object to its desired state."},
			{string(apply.OperationDelete), "To delete an object that is not wanted."},
		}},
		{labelOutcome, applyTotal, "What that took.", []LabelValue{
			{snake(string(apply.Unchanged)), "Nothing: the object was as desired."},
			{snake(string(apply.Created)), "The object was created."},
			{snake(string(apply.Updated)), "The object was changed."},
			{snake(string(apply.Deleted)), "The object was deleted, or is about to be."},
			{snake(string(apply.NotFound)), "Nothing: there was no object to delete."},
			{snake(string(apply.OptedOut)), "Nothing: an annotation takes the object out of the operator's hands."},
			{snake(string(apply.NotOurs)), "Nothing: the object belongs to somebody else."},
			{snake(string(apply.Failed)), "The API server could not be reached or refused."},
		}},
		{labelRequest, "", "What a request was for.", []LabelValue{
			{requestWrite, "It may have changed the object."},
			{requestDryRun, "It asked what a write would change."},
		}},
		{labelReason, "", "Why the entry has no effect: a reason of the object's status.", nil},
		{labelGatewayNamespace, "", "The namespace of the Gateway.", nil},
		{labelGatewayName, "", "The name of the Gateway.", nil},
	}
}
