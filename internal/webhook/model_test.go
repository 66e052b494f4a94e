// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// model is a MaaSModelRef with a tenantRef; nil leaves the field out.
func model(tenantRef any) map[string]any {
	spec := map[string]any{"modelRef": map[string]any{"kind": "ExternalModel", "name": "gpt"}}
	if tenantRef != nil {
		spec["tenantRef"] = tenantRef
	}
	return map[string]any{"apiVersion": "maas.opendatahub.io/v1alpha1", "kind": "MaaSModelRef", "metadata": map[string]any{"name": "sample"}, "spec": spec}
}

func deleted(object map[string]any) map[string]any {
	object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	return object
}

func withoutSpec(object map[string]any) map[string]any {
	delete(object, "spec")
	return object
}

func modelRequest(t *testing.T, operation admissionv1.Operation, object, old map[string]any) admission.Request {
	t.Helper()
	req := request(operation, "MaaSModelRef", "llm")
	req.Object, req.OldObject = raw(t, object), raw(t, old)
	return req
}

func TestANewTenantRefNamesAnAITenant(t *testing.T) {
	t.Parallel()
	dangling := []string{`MaaSModelRef.maas.opendatahub.io "sample"`, "spec.tenantRef", "AITenant blue does not exist in namespace ai-tenants", "create it there"}
	for name, tc := range map[string]struct {
		operation   admissionv1.Operation
		object, old map[string]any
		code        int32
		want        []string
	}{
		"none, on create":                         {admissionv1.Create, model(nil), nil, http.StatusOK, nil},
		"an empty one":                            {admissionv1.Create, model(""), nil, http.StatusOK, nil},
		"one that exists, on create":              {admissionv1.Create, model("red"), nil, http.StatusOK, nil},
		"one that does not exist, on create":      {admissionv1.Create, model("blue"), nil, refused, dangling},
		"one of another namespace":                {admissionv1.Create, model("green"), nil, refused, []string{"AITenant green does not exist in namespace ai-tenants"}},
		"one that exists, on update":              {admissionv1.Update, model("red"), model("blue"), http.StatusOK, nil},
		"one that does not exist, on update":      {admissionv1.Update, model("blue"), model("red"), refused, dangling},
		"one added by an update":                  {admissionv1.Update, model("blue"), model(nil), refused, dangling},
		"one added to an object without a spec":   {admissionv1.Update, model("blue"), withoutSpec(model(nil)), refused, dangling},
		"a dangling one is removed":               {admissionv1.Update, model(nil), model("blue"), http.StatusOK, nil},
		"a dangling one stays":                    {admissionv1.Update, model("blue"), model("blue"), http.StatusOK, nil},
		"a dangling one while being deleted":      {admissionv1.Update, deleted(model("blue")), model("red"), http.StatusOK, nil},
		"what is no name is for the schema":       {admissionv1.Update, model(5), model(5), http.StatusOK, nil},
		"an object without a spec keeps none":     {admissionv1.Update, withoutSpec(model(nil)), withoutSpec(model(nil)), http.StatusOK, nil},
		"a deletion":                              {admissionv1.Delete, nil, model("blue"), http.StatusOK, nil},
		"an object that is none, on create":       {admissionv1.Create, nil, nil, http.StatusInternalServerError, []string{"decode the object"}},
		"a stored object that is none, on update": {admissionv1.Update, model("blue"), nil, http.StatusInternalServerError, []string{"decode the stored object"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenants := both(t, aiTenant(aitenants, "red"), aiTenant("elsewhere", "green"))
			expect(t, judge(tenants.judgeModel).Handle(t.Context(), modelRequest(t, tc.operation, tc.object, tc.old)), tc.code, tc.want...)
		})
	}
}

func TestTheStatusOfAModelIsNotJudged(t *testing.T) {
	t.Parallel()
	req := modelRequest(t, admissionv1.Update, model("blue"), model(nil))
	req.SubResource = "status"
	expect(t, judge(both(t).judgeModel).Handle(t.Context(), req), http.StatusOK)
}
