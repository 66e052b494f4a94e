// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package payload_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// trials are the objects of a tenant that has all it can have, one of each template, by
// their template.
func trials() map[render.ID]render.Request {
	in := input("red-team", true)
	in.Settings.RunAsUser = []int64{65532}
	in.Config.Spec.PayloadProcessing = &v1alpha1.PayloadProcessingConfig{Autoscaling: &v1alpha1.PayloadAutoscalingConfig{}}
	all := map[render.ID]render.Request{}
	for _, r := range requests(in) {
		if v, ok := r.Values.(values.PayloadFilter); ok {
			v.Unprocessed = v.Unprocessed[:2] // More of the same would only take time.
			r.Values = v
		}
		if v, ok := r.Values.(values.PayloadDeployment); ok {
			v.Replicas = []int64{1}
			r.Values = v
		}
		all[r.ID] = r
	}
	return all
}

// options say of which fields not every text is a good name or label, and which have no
// place in an object.
func options(r render.Request) []rendertest.Option {
	refused := []string{"Meta.Name", "Meta.Namespace", "Meta.Labels{}"}
	var unused []string
	switch r.Values.(type) {
	case values.PayloadDeployment:
		refused = append(refused, "Selector{}", "PodLabels{}")
		if r.ID == payload.PreDeploymentTemplate {
			unused = []string{"Tenant.GatewayName", "Tenant.GatewayNamespace", "Tenant.Namespace"}
		}
	case values.PayloadService:
		refused = append(refused, "Selector{}")
	case values.PayloadReaderBinding:
		refused, unused = []string{"Meta.Name", "Meta.Labels{}"}, []string{"Meta.Namespace"}
	case values.PayloadFilter:
		unused = []string{"PreProcessing", "Processing"} // They stand inside of another text.
	}
	return []rendertest.Option{rendertest.Refused(refused...), rendertest.Derived(unused...)}
}

func TestNoTextChangesAnObject(t *testing.T) {
	t.Parallel()
	for id, request := range trials() {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			rendertest.Hostile(t, parts.Engine(t), request, options(request)...)
		})
	}
}

func FuzzFilterTemplate(f *testing.F) {
	request := trials()[payload.FilterTemplate]
	rendertest.Fuzz(f, parts.Engine(f), request, options(request)...)
}
