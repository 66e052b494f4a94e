// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// CodeInternal is the code of an answer that cannot be given. It is no code of
// package entitlement, which always has an answer.
const CodeInternal entitlement.Code = "internal_error"

// ErrUnavailable says that nothing can be decided: there is no snapshot. It is no
// [entitlement.Refusal], for it says nothing about the caller.
var ErrUnavailable = errors.New("subscriptions cannot be read at the moment: try again later")

// reply is what is the same in every answer that selects one subscription. It is
// put together when the subscription is first selected: most of a tenant's are
// not used between two changes.
type reply struct {
	once sync.Once
	// bytes are the members of the object without its end.
	bytes []byte
}

// selected are those members. Empty ones are left out as callers of earlier
// releases expect, except for those that are always there.
type selected struct {
	Name              string                     `json:"name"`
	Namespace         string                     `json:"namespace"`
	DisplayName       string                     `json:"displayName,omitempty"`
	Description       string                     `json:"description,omitempty"`
	Priority          int32                      `json:"priority,omitempty"`
	ModelRefs         []ModelRef                 `json:"modelRefs,omitempty"`
	OrganizationID    string                     `json:"organizationId,omitempty"`
	CostCenter        string                     `json:"costCenter,omitempty"`
	Labels            map[string]string          `json:"labels,omitempty"`
	Phase             v1alpha1.Phase             `json:"phase"`
	Ready             bool                       `json:"ready"`
	RateLimitIdentity v1alpha1.RateLimitIdentity `json:"rateLimitIdentity"`
}

func (s *Snapshot) render(sub *v1alpha1.MaaSSubscription) []byte {
	out := selected{
		Name: sub.Name, Namespace: sub.Namespace,
		DisplayName: sub.Annotations[v1alpha1.AnnotationDisplayName], Description: sub.Annotations[v1alpha1.AnnotationDescription],
		Priority: max(sub.Spec.Priority, 0), Phase: sub.Status.Phase,
		Ready:             meta.IsStatusConditionTrue(sub.Status.Conditions, string(v1alpha1.ConditionReady)),
		RateLimitIdentity: entitlement.DecideIdentity(sub, false),
	}
	for i := range sub.Spec.ModelRefs {
		out.ModelRefs = append(out.ModelRefs, s.modelRef(&sub.Spec.ModelRefs[i]))
	}
	if m := sub.Spec.TokenMetadata; m != nil {
		out.OrganizationID, out.CostCenter, out.Labels = m.OrganizationID, m.CostCenter, m.Labels
	}
	text := marshal(out)
	return text[:len(text)-1]
}

// AppendSelection appends the body of the answer to a request that is charged to a
// subscription: one that this snapshot's index selected. Keys and identifiers exist
// only with a model, and the names in them are those of objects, which need no
// escaping.
func (s *Snapshot) AppendSelection(dst []byte, selection *entitlement.Selection) []byte {
	r := s.replies[selection.Subscription]
	r.once.Do(func() { r.bytes = s.render(selection.Subscription) })
	dst = append(dst, r.bytes...)
	if selection.Key != "" {
		dst = append(dst, `,"resolvedModel":"`...)
		dst = append(dst, selection.Model.Namespace...)
		dst = append(dst, '/')
		dst = append(dst, selection.Model.Name...)
		dst = append(dst, `","subscriptionKey":"`...)
		dst = append(dst, selection.Key...)
		dst = append(dst, `","subscriptionId":"`...)
		dst = append(dst, selection.ID...)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"accessAllowed":`...)
	dst = strconv.AppendBool(dst, selection.AccessAllowed)
	return append(dst, '}')
}

// AppendRefusal appends the body of the answer to a selection request that gets
// nothing: an [entitlement.Refusal] in its own words, and everything else as
// [CodeInternal], with words of its own for [ErrUnavailable] only.
func AppendRefusal(dst []byte, err error) []byte {
	refusal, ok := errors.AsType[entitlement.Refusal](err)
	if !ok {
		refusal = entitlement.Refusal{Code: CodeInternal, Message: "failed to select subscription"}
		if errors.Is(err, ErrUnavailable) {
			refusal.Message = ErrUnavailable.Error()
		}
	}
	dst = append(dst, `{"error":`...)
	dst = appendString(dst, string(refusal.Code))
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, refusal.Message)
	dst = append(dst, `,"accessAllowed":false,"phase":`...)
	dst = appendString(dst, string(refusal.Phase))
	return append(dst, `,"ready":false}`...)
}

// appendString appends a JSON string. Ours are short and plain as a rule.
func appendString(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(dst, marshal(text)...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

// marshal encodes values of this package's own types, which always can be.
func marshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Appendf(nil, "%q", err.Error())
	}
	return text
}
