// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// wishes are what the sequence asked for.
type wishes struct {
	// wanted are the AITenants that should exist.
	wanted map[string]bool
	// edits are the specs that somebody wrote to MaasTenantConfigs, by tenant.
	edits map[string]edit
	// leftAlone are objects that were taken out of the operator's hands, and their UIDs.
	leftAlone map[ref]types.UID
	// users are objects of users as they were created.
	users map[ref]*unstructured.Unstructured
	// prepared are tenants whose namespace somebody made before them.
	prepared map[string]bool
}

// edit is a spec and the UID of the object it was written to.
type edit struct {
	uid  types.UID
	spec v1alpha1.MaasTenantConfigSpec
}

// judgement compares facts with wishes.
type judgement struct {
	*facts
	*wishes
	// required and allowed are the objects that must and that may exist.
	required, allowed map[ref]bool
	differences       []string
}

func compare(f *facts, w *wishes) []string {
	j := &judgement{facts: f, wishes: w, required: map[ref]bool{}, allowed: map[ref]bool{}}
	j.installation()
	for name := range w.wanted {
		if f.tenants[name] == nil {
			j.differ("AITenant %s should exist", name)
		}
	}
	for name, t := range f.tenants {
		switch {
		case t.DeletionTimestamp != nil:
			j.differ("AITenant %s is still being deleted: %s", name, sumOf(t.Status.Conditions))
		case !w.wanted[name]:
			j.differ("AITenant %s should not exist", name)
		default:
			j.tenant(t)
		}
	}
	j.existence()
	j.claims()
	j.homes()
	j.keptObjects()
	slices.Sort(j.differences)
	return j.differences
}

func (j *judgement) differ(format string, args ...any) {
	j.differences = append(j.differences, fmt.Sprintf(format, args...))
}

func (j *judgement) require(refs ...ref) {
	for _, r := range refs {
		j.required[r] = true
	}
}

func (j *judgement) allow(refs ...ref) {
	for _, r := range refs {
		j.allowed[r] = true
	}
}

// installation judges the Config and what it stands for.
func (j *judgement) installation() {
	j.require(sharedRefs()...)
	j.allow(ref{"Namespace", "", infra}, ref{"Namespace", "", stage.AITenantNamespace})
	if j.config == nil || j.config.DeletionTimestamp != nil {
		j.differ("there should be a Config")
		return
	}
	if j.config.Spec.MaasAPIEgressNetworkPolicy != v1alpha1.EgressNetworkPolicyDisabled {
		j.require(ref{policyKind, infra, egressPolicy})
	}
	want := "True PlatformReady"
	for r := range j.users {
		if j.required[r] { // A user's object has the name of one of ours.
			delete(j.required, r)
			want = "False ForeignObject"
		}
	}
	if got := readyOf(j.config.Status.Conditions, j.config.Generation); got != want {
		j.differ("Ready of the Config is %q, want %q: %s", got, want, sumOf(j.config.Status.Conditions))
	}
	if j.config.Status.ObservedGeneration != j.config.Generation {
		j.differ("the status of the Config is about generation %d of %d", j.config.Status.ObservedGeneration, j.config.Generation)
	}
}

// places are where a tenant wants to be and is.
type places struct {
	wanted, placed string
	// settled holds when it is where it wants to be, and that exists.
	settled bool
}

func (j *judgement) placesOf(t *v1alpha1.AITenant) places {
	p := places{wanted: t.Name}
	if t.Spec.Gateway != nil && t.Spec.Gateway.Name != "" {
		p.wanted = t.Spec.Gateway.Name
	}
	if t.Status.GatewayRef != nil {
		p.placed = t.Status.GatewayRef.Name
	}
	p.settled = p.placed == p.wanted && j.gateways[p.wanted] && j.holder(p.wanted) == t.Name
	return p
}

// holder is the AITenant that has the claim on a Gateway.
func (j *judgement) holder(gateway string) string {
	claim := j.objects[claimOn(gateway)]
	if claim == nil {
		return ""
	}
	name := claim.GetAnnotations()[v1alpha1.AnnotationAITenantName]
	if t := j.tenants[name]; t == nil || string(t.UID) != claim.GetAnnotations()[v1alpha1.AnnotationAITenantUID] {
		return "" // Of somebody who is gone.
	}
	return name
}

// tenant judges one that is wanted and there.
func (j *judgement) tenant(t *v1alpha1.AITenant) {
	p := j.placesOf(t)
	config := j.settings[homeOf(t.Name)]
	for _, gateway := range gatewayNames() {
		if j.leadsFrom(gateway, t.Name) {
			j.allow(claimOn(gateway))
		}
	}
	if p.settled {
		j.require(homeRefs(t.Name)...)
		j.require(rolesOf(t.Name)...)
		j.require(claimOn(p.placed))
	} else {
		j.allow(homeRefs(t.Name)...)
		j.allow(rolesOf(t.Name)...)
		j.allow(claimOn(p.placed), claimOn(p.wanted))
		if t.Name == theDefault {
			j.require(homeRefs(t.Name)...)
		}
	}
	if t.Status.ObservedGeneration != t.Generation {
		j.differ("the status of AITenant %s is about generation %d of %d", t.Name, t.Status.ObservedGeneration, t.Generation)
	}
	switch {
	case config == nil:
	case config.DeletionTimestamp != nil:
		j.differ("MaasTenantConfig of %s is still being deleted: %s", t.Name, sumOf(config.Status.Conditions))
	default:
		j.services(t, config, p)
	}
	if got, want := tenantState(t), j.wantedState(t, config, p); want != "" && got != want {
		j.differ("AITenant %s is %q, want %q: %s", t.Name, got, want, sumOf(t.Status.Conditions))
	}
}

// wantedState is what the status of an AITenant must say; empty if that depends.
func (j *judgement) wantedState(t *v1alpha1.AITenant, config *v1alpha1.MaasTenantConfig, p places) string {
	switch {
	case !j.gateways[p.wanted]:
		return "Failed False GatewayCheckFailed"
	case !p.settled:
		return "Failed False GatewayClaimFailed"
	case config == nil:
		return "" // Its absence is reported.
	case config.Annotations[v1alpha1.AnnotationManagementState] == "Removed", config.Annotations[v1alpha1.AnnotationManagementState] == "Unmanaged":
		return "Pending False TenantConfigNotReady"
	case j.anyOptedOut(t.Name):
		return ""
	default:
		return "Active True Reconciled"
	}
}

func tenantState(t *v1alpha1.AITenant) string {
	return string(t.Status.Phase) + " " + readyOf(t.Status.Conditions, t.Generation)
}

func (j *judgement) anyOptedOut(tenant string) bool {
	return slices.ContainsFunc(partsOf(tenant), func(r ref) bool {
		return j.objects[r] != nil && optedOut(j.objects[r].GetAnnotations())
	})
}

// existence compares what there is with what is required and allowed.
func (j *judgement) existence() {
	for r := range j.required {
		switch o := j.objects[r]; {
		case o == nil:
			j.differ("%s is missing", r)
		case optedOut(o.GetAnnotations()):
		case strings.Contains(contentOf(o), marker), o.GetLabels()[v1alpha1.LabelManagedBy] != v1alpha1.ManagedByValue:
			j.differ("%s is still altered", r)
		}
	}
	for r, o := range j.objects {
		switch {
		case j.required[r], j.allowed[r], j.users[r] != nil, optedOut(o.GetAnnotations()), r.kind == "Namespace" && j.isHome(r.name):
		case r.kind == jobKind && j.isOver(o):
		case o.GetDeletionTimestamp() != nil:
			j.differ("%s is still being deleted", r)
		default:
			j.differ("%s is left over", r)
		}
	}
}

// isOver tells whether a Job has revoked keys and goes by itself.
func (j *judgement) isOver(o *unstructured.Unstructured) bool {
	job, err := as[batchv1.Job](o)
	return err == nil && complete(job) && job.Spec.TTLSecondsAfterFinished != nil
}

func (j *judgement) isHome(namespace string) bool {
	for name := range j.tenants {
		if homeOf(name) == namespace {
			return true
		}
	}
	return false
}

// claims judges who has which Gateway.
func (j *judgement) claims() {
	for name, t := range j.tenants {
		p := j.placesOf(t)
		if holder := j.holder(p.wanted); holder == "" {
			j.differ("nobody has the claim on Gateway %s, which AITenant %s wants", p.wanted, name)
		}
	}
	for _, gateway := range gatewayNames() {
		claim := j.objects[claimOn(gateway)]
		if claim == nil {
			continue
		}
		name := j.holder(gateway)
		if name == "" {
			j.differ("the claim on Gateway %s is that of an AITenant which is gone", gateway)
			continue
		}
		p := j.placesOf(j.tenants[name])
		if gateway != p.wanted && (p.settled || gateway != p.placed) && !j.leadsFrom(gateway, name) {
			j.differ("AITenant %s still has the claim on Gateway %s", name, gateway)
		}
	}
}

// leadsFrom tells whether a route that is out of the operator's hands leads from a
// Gateway to the tenant's maas-api. Nobody else may have the Gateway as long as it does.
func (j *judgement) leadsFrom(gateway, tenant string) bool {
	route := j.objects[ref{routeKind, infra, "maas-api-route" + suffixOf(tenant)}]
	if route == nil || !strings.Contains(contentOf(route), `"name":"`+gateway+`"`) {
		return false
	}
	config := j.settings[homeOf(tenant)]
	return optedOut(route.GetAnnotations()) || config != nil && config.Annotations[v1alpha1.AnnotationManagementState] == "Unmanaged"
}

// homes judges the namespaces of tenants that are gone: they stay, without a mark.
func (j *judgement) homes() {
	for _, name := range append(names(), theDefault) {
		ns := j.namespaces[homeOf(name)]
		if ns == nil {
			if j.prepared[name] {
				j.differ("namespace %s, which somebody made, is gone", homeOf(name))
			}
			continue
		}
		if j.prepared[name] && ns.Labels[userLabel] != "kept" {
			j.differ("namespace %s lost a label of its own", ns.Name)
		}
		if j.tenants[name] != nil {
			continue
		}
		for _, label := range []string{v1alpha1.LabelTenant, v1alpha1.LabelTenantName, v1alpha1.LabelTenantNamespace, v1alpha1.LabelManagedByAITenant, v1alpha1.LabelManagedBy, v1alpha1.LabelGatewayAccess} {
			if ns.Labels[label] != "" {
				j.differ("namespace %s of a tenant that is gone has label %s", ns.Name, label)
			}
		}
		for _, annotation := range []string{v1alpha1.AnnotationAITenantName, v1alpha1.AnnotationAITenantUID, v1alpha1.AnnotationCreatedByAITenant} {
			if ns.Annotations[annotation] != "" {
				j.differ("namespace %s of a tenant that is gone has annotation %s", ns.Name, annotation)
			}
		}
	}
}

// keptObjects judges objects that the operator must leave alone.
func (j *judgement) keptObjects() {
	for r, uid := range j.leftAlone {
		if o := j.objects[r]; o == nil || o.GetUID() != uid || !optedOut(o.GetAnnotations()) {
			j.differ("%s had opted out and is gone or another one", r)
		}
	}
	for r, want := range j.users {
		if got := j.kept[r]; got == nil || !equality.Semantic.DeepEqual(got.Object, want.Object) {
			j.differ("%s of a user was touched: %s, want %s", r, jsonOf(got), jsonOf(want))
		}
	}
}

func readyOf(conditions []metav1.Condition, generation int64) string {
	ready := meta.FindStatusCondition(conditions, string(v1alpha1.ConditionReady))
	switch {
	case ready == nil:
		return "unknown"
	case ready.ObservedGeneration != generation:
		return "outdated"
	default:
		return string(ready.Status) + " " + ready.Reason
	}
}

func sumOf(conditions []metav1.Condition) string {
	var parts []string
	for i := range conditions {
		c := &conditions[i]
		parts = append(parts, fmt.Sprintf("%s=%s %s %q", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(parts, "; ")
}
