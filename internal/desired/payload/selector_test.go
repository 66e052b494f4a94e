// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package payload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// TestSelectorsKeepProcessorsApart has weakness W-5. A Deployment never takes the pods of
// another one for its own, because those name their owner; but an autoscaler counts all
// that its selector finds, and with another autoscaler over the same pods scales nothing.
func TestSelectorsKeepProcessorsApart(t *testing.T) {
	t.Parallel()
	templates := map[render.ID]render.ID{payload.DeploymentTemplate: payload.ServiceTemplate, payload.PreDeploymentTemplate: payload.PreServiceTemplate}
	for _, openshift := range []bool{true, false} {
		for _, own := range names() {
			for deployment, service := range templates {
				selectors := map[render.ID]labels.Selector{
					service:    labels.SelectorFromSet(object[corev1.Service](t, input(own, openshift), service).Spec.Selector),
					deployment: labels.SelectorFromSet(object[appsv1.Deployment](t, input(own, openshift), deployment).Spec.Selector.MatchLabels),
				}
				for _, other := range names() {
					for another := range templates {
						pods := object[appsv1.Deployment](t, input(other, openshift), another).Spec.Template.Labels
						for id, selector := range selectors {
							if got, want := selector.Matches(labels.Set(pods)), own == other && deployment == another; got != want {
								t.Errorf("%s of %s selects %s of %s: %t", id, own, another, other, got)
							}
						}
					}
				}
			}
		}
	}
}

// TestSelectorsStayAsTheyWere: a Deployment's selector cannot be changed, and those of the
// default tenant are older than the label that tells instances apart.
func TestSelectorsStayAsTheyWere(t *testing.T) {
	t.Parallel()
	app := func(name, component, application string) map[string]string {
		return map[string]string{"app": name, v1alpha1.LabelComponent: component, v1alpha1.LabelName: application, v1alpha1.LabelPartOf: "models-as-a-service"}
	}
	instance := func(name, instance string) map[string]string {
		return map[string]string{"app": name, v1alpha1.LabelTenantInstance: instance}
	}
	for name, tc := range map[string]struct {
		tenant    string
		openshift bool
		want, pre map[string]string
	}{
		"default tenant on OpenShift": {tenancy.DefaultName, true, app("payload-processing", "api", "maas-api"), app("payload-pre-processing", "api", "maas-api")},
		"default tenant elsewhere": {
			tenancy.DefaultName, false,
			app("payload-processing", "payload-processing", "payload-processing"), app("payload-pre-processing", "payload-processing", "payload-processing"),
		},
		"another on OpenShift": {"red-team", true, instance("payload-processing", "payload-processing-red-team"), instance("payload-pre-processing", "payload-pre-processing-red-team")},
		"another elsewhere":    {"red-team", false, instance("payload-processing", "payload-processing-red-team"), instance("payload-pre-processing", "payload-pre-processing-red-team")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for id, want := range map[render.ID]map[string]string{payload.DeploymentTemplate: tc.want, payload.PreDeploymentTemplate: tc.pre} {
				d := object[appsv1.Deployment](t, input(tc.tenant, tc.openshift), id)
				if diff := cmp.Diff(want, d.Spec.Selector.MatchLabels); diff != "" {
					t.Errorf("%s (-want +got):\n%s", id, diff)
				}
				if !labels.SelectorFromSet(d.Spec.Selector.MatchLabels).Matches(labels.Set(d.Spec.Template.Labels)) || d.Spec.Template.Labels[v1alpha1.LabelTenantInstance] != d.Name {
					t.Errorf("%s: pods have %v", id, d.Spec.Template.Labels)
				}
			}
		})
	}
}
