// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// services judges what runs for a tenant, and the status that tells of it.
func (j *judgement) services(t *v1alpha1.AITenant, config *v1alpha1.MaasTenantConfig, p places) {
	if edit, ok := j.edits[t.Name]; ok && edit.uid == config.UID && !equality.Semantic.DeepEqual(edit.spec, config.Spec) {
		j.differ("MaasTenantConfig of %s lost what was written to it: %s, want %s", t.Name, jsonOf(config.Spec), jsonOf(edit.spec))
	}
	if config.Annotations[v1alpha1.AnnotationAITenantUID] != string(t.UID) {
		j.differ("MaasTenantConfig of %s is marked for another AITenant", t.Name)
	}
	want, phases := "", []v1alpha1.TenantPhase{}
	switch state := config.Annotations[v1alpha1.AnnotationManagementState]; {
	case state == "Unmanaged":
		j.allow(partsOf(t.Name)...)
		want, phases = "False ManagementStateIdle", append(phases, "")
	case state == "Removed":
		want, phases = "False Removed", append(phases, v1alpha1.TenantPhasePending)
		j.emptyInventory(t.Name, config)
	case p.placed == "":
		j.allow(partsOf(t.Name)...) // It is nowhere yet.
		return
	case !j.gateways[p.placed]:
		j.allow(servicesOf(t.Name)...)
		want, phases = "False GatewayNotReady", append(phases, v1alpha1.TenantPhasePending)
	default:
		j.require(partsOf(t.Name)...)
		j.contents(t, config, p.placed)
		j.inventory(t.Name, config)
		if !j.anyOptedOut(t.Name) {
			want, phases = "True Reconciled", append(phases, v1alpha1.TenantPhaseActive, v1alpha1.TenantPhaseDegraded)
		}
	}
	got := readyOf(config.Status.Conditions, config.Generation)
	if want != "" && (got != want || !slices.Contains(phases, config.Status.Phase)) {
		j.differ("MaasTenantConfig of %s is %q, want %q in a phase of %q: %s", t.Name, string(config.Status.Phase)+" "+got, want, phases, sumOf(config.Status.Conditions))
	}
	if config.Status.ObservedGeneration != config.Generation {
		j.differ("the status of MaasTenantConfig of %s is about generation %d of %d", t.Name, config.Status.ObservedGeneration, config.Generation)
	}
}

// inventory compares the recorded objects with those there are.
func (j *judgement) inventory(tenant string, config *v1alpha1.MaasTenantConfig) {
	recorded := map[ref]bool{}
	for _, e := range config.Status.Inventory {
		recorded[ref{e.Kind, e.Namespace, e.Name}] = true
	}
	for _, r := range partsOf(tenant) {
		if !recorded[r] {
			j.differ("%s is not on the inventory of %s", r, tenant)
		}
		delete(recorded, r)
	}
	for r := range recorded {
		j.differ("%s is on the inventory of %s", r, tenant)
	}
}

func (j *judgement) emptyInventory(tenant string, config *v1alpha1.MaasTenantConfig) {
	for _, e := range config.Status.Inventory {
		r := ref{e.Kind, e.Namespace, e.Name}
		if o := j.objects[r]; o == nil || !optedOut(o.GetAnnotations()) {
			j.differ("%s is still on the inventory of %s, which is removed", r, tenant)
		}
	}
}

// marker is in everything that is altered by hand.
const marker = "altered-by-hand"

// contents looks into the objects of a tenant that is managed.
func (j *judgement) contents(t *v1alpha1.AITenant, config *v1alpha1.MaasTenantConfig, gateway string) {
	for _, r := range partsOf(t.Name) {
		o := j.objects[r]
		if o == nil || optedOut(o.GetAnnotations()) {
			continue
		}
		if got := o.GetLabels()[v1alpha1.LabelTenantName]; got != t.Name {
			j.differ("%s has the label of tenant %q", r, got)
		}
		text := contentOf(o)
		for _, want := range holds(r, t, config, gateway) {
			if !strings.Contains(text, want) {
				j.differ("%s lacks %s", r, want)
			}
		}
		if r.kind == authKind && r.namespace == infra && t.Spec.OIDC == nil && strings.Contains(text, "issuer.example.com") {
			j.differ("%s still admits a provider", r)
		}
	}
}

// holds are texts that an object must have in it.
func holds(r ref, t *v1alpha1.AITenant, config *v1alpha1.MaasTenantConfig, gateway string) []string {
	member := func(key string, value any) string { return fmt.Sprintf("%q:%s", key, jsonOf(value)) }
	variable := func(name, value string) string {
		return "{" + member("name", name) + "," + member("value", value) + "}"
	}
	switch {
	case r.kind == authKind && r.namespace == infra:
		if t.Spec.OIDC != nil {
			return []string{t.Spec.OIDC.IssuerURL}
		}
		return nil
	case r.kind == authKind, r.kind == limitKind:
		return []string{member("name", gateway)}
	case r.kind == routeKind:
		return []string{member("name", gateway), member("name", "maas-api"+suffixOf(t.Name))}
	case r.kind == destinationKind:
		return []string{"maas-api" + suffixOf(t.Name) + "." + infra}
	case r.kind == deploymentKind:
		days, replicas := int32(90), 1
		if keys := config.Spec.APIKeys; keys != nil && keys.MaxExpirationDays != nil {
			days = *keys.MaxExpirationDays
		}
		if n, err := strconv.Atoi(config.Annotations[v1alpha1.AnnotationMaasAPIReplicas]); err == nil {
			replicas = n
		}
		return []string{
			member("replicas", replicas), variable("TENANT_UID", string(t.UID)), variable("GATEWAY_NAME", gateway),
			variable("API_KEY_MAX_EXPIRATION_DAYS", strconv.Itoa(int(days))),
		}
	default:
		return nil
	}
}

// contentOf is an object without what the server and other programs keep in it.
func contentOf(o *unstructured.Unstructured) string {
	bare := o.DeepCopy()
	bare.SetManagedFields(nil)
	delete(bare.Object, "status")
	return jsonOf(bare.Object)
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
