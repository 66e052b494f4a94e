// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

// Condition types and reasons, named as kuadrant-operator names them.
const (
	ConditionAccepted = "Accepted"
	ConditionEnforced = "Enforced"

	ReasonAccepted             = "Accepted"
	ReasonTargetNotFound       = "TargetNotFound"
	ReasonEnforced             = "Enforced"
	ReasonOverridden           = "Overridden"
	ReasonUnknown              = "Unknown"
	ReasonInvalidCelExpression = "InvalidCelExpression"
)

// verdict is the status one policy deserves. A nil enforced condition means
// that the real operator would not write one.
type verdict struct {
	accepted metav1.Condition
	enforced *metav1.Condition
}

func (c *checker) judge(p *policy, t *topology) verdict {
	if !t.targetFound {
		return verdict{accepted: status.Condition(ConditionAccepted, false, ReasonTargetNotFound,
			fmt.Sprintf("%s target %s was not found", p.kind, p.target.name.Name))}
	}
	enforced := c.judgeEnforced(p, t)
	return verdict{
		accepted: status.Condition(ConditionAccepted, true, ReasonAccepted, fmt.Sprintf("%s has been accepted", p.kind)),
		enforced: &enforced,
	}
}

func (c *checker) judgeEnforced(p *policy, t *topology) metav1.Condition {
	refuse := func(reason, format string, args ...any) metav1.Condition {
		return status.Condition(ConditionEnforced, false, reason, string(p.kind)+" "+fmt.Sprintf(format, args...))
	}
	e := t.effectOf(p)
	switch {
	case e.wins == 0 && len(e.overriddenBy) == 0:
		return refuse(ReasonUnknown, "is not in the path to any existing routes")
	case e.wins == 0:
		return refuse(ReasonOverridden, "is overridden by %s", e.overriddenBy)
	case len(e.overriddenBy) > 0 && p.kind == TokenRateLimitPolicy:
		return refuse(ReasonUnknown, "has encountered some issues: policy rule(s) overridden: %s", overriddenRules(p, e.overriddenBy))
	}

	gateway, authorino := c.checkAll(p.expressions, e.authBound)
	switch {
	case len(gateway) > 0:
		return status.Condition(ConditionEnforced, false, ReasonInvalidCelExpression, fmt.Sprintf("validation issues: %v", gateway))
	case authorino != nil:
		return refuse(ReasonUnknown, "waiting for the following components to sync: [AuthConfig (%s)]", authorino)
	case len(e.overriddenBy) > 0:
		return status.Condition(ConditionEnforced, true, ReasonEnforced, fmt.Sprintf("%s has been partially enforced", p.kind))
	default:
		return status.Condition(ConditionEnforced, true, ReasonEnforced, fmt.Sprintf("%s has been successfully enforced", p.kind))
	}
}

func overriddenRules(p *policy, by []types.NamespacedName) string {
	rules := make([]string, 0, len(p.ruleNames))
	for _, name := range p.ruleNames {
		rules = append(rules, fmt.Sprintf("%s by %s.kuadrant.io:%s", name, strings.ToLower(string(p.kind)), by[0]))
	}
	return strings.Join(rules, ", ")
}

// applyTo merges the verdict into existing conditions and reports a change.
func (v verdict) applyTo(conditions *[]metav1.Condition) bool {
	changed := meta.SetStatusCondition(conditions, v.accepted)
	if v.enforced == nil {
		return meta.RemoveStatusCondition(conditions, ConditionEnforced) || changed
	}
	return meta.SetStatusCondition(conditions, *v.enforced) || changed
}
