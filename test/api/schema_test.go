// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// constraint is one rule of a CRD, found in its schema.
type constraint struct {
	kind    kind
	path    string // As in field: "spec.modelRefs[].name"; empty for the object itself.
	keyword string // A JSON schema keyword; "cel" for x-kubernetes-validations.
	value   any    // The bound for keywords with a number, the message of a CEL rule.
}

func (c constraint) String() string {
	return fmt.Sprintf("%s %s %s %v", c.kind, c.path, c.keyword, c.value)
}

// kind names a kind of either group; ExternalModel exists in both.
type kind string

const (
	modelRef          kind = "MaaSModelRef.maas"
	authPolicy        kind = "MaaSAuthPolicy.maas"
	subscription      kind = "MaaSSubscription.maas"
	externalModel     kind = "ExternalModel.maas"
	aiTenant          kind = "AITenant.maas"
	tenantConfig      kind = "MaasTenantConfig.maas"
	tenant            kind = "Tenant.maas"
	config            kind = "Config.maas"
	inferenceModel    kind = "ExternalModel.inference"
	inferenceProvider kind = "ExternalProvider.inference"
)

func crdDirectory() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "config", "crd", "bases")
}

// loadCRDs reads the generated CRDs.
func loadCRDs() (map[kind]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(crdDirectory(), "*.yaml"))
	if err != nil {
		return nil, err
	}
	crds := map[kind]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, crd); err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
		group, _, _ := strings.Cut(crd.Spec.Group, ".")
		crds[kind(crd.Spec.Names.Kind+"."+group)] = crd
	}
	return crds, nil
}

func rootSchema(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// constraints lists all rules of a CRD in a fixed order, but for those of the
// standard condition type.
func constraints(k kind, crd *apiextensionsv1.CustomResourceDefinition) []constraint {
	var found []constraint
	walk(rootSchema(crd), "", func(path string, s *apiextensionsv1.JSONSchemaProps) {
		for _, c := range keywords(s) {
			c.kind, c.path = k, strings.TrimPrefix(path+c.path, ".")
			found = append(found, c)
		}
	})
	return found
}

// walk visits a schema and all schemas in it.
func walk(s *apiextensionsv1.JSONSchemaProps, path string, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	if path == "status.conditions" {
		return
	}
	visit(path, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		walk(&property, strings.TrimPrefix(path+"."+name, "."), visit)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(s.Items.Schema, path+"[]", visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(s.AdditionalProperties.Schema, path+"{}", visit)
	}
}

// keywords lists the rules of one schema, without those of the schemas in it.
func keywords(s *apiextensionsv1.JSONSchemaProps) []constraint {
	var found []constraint
	for _, name := range s.Required {
		found = append(found, constraint{path: "." + name, keyword: "required"})
	}
	if len(s.Enum) > 0 {
		found = append(found, constraint{keyword: "enum"})
	}
	if s.Pattern != "" {
		found = append(found, constraint{keyword: "pattern"})
	}
	for keyword, bound := range map[string]*int64{
		"minLength": s.MinLength, "maxLength": s.MaxLength,
		"minItems": s.MinItems, "maxItems": s.MaxItems,
		"minProperties": s.MinProperties, "maxProperties": s.MaxProperties,
	} {
		if bound != nil {
			found = append(found, constraint{keyword: keyword, value: *bound})
		}
	}
	for keyword, bound := range map[string]*float64{"minimum": s.Minimum, "maximum": s.Maximum} {
		if bound != nil {
			found = append(found, constraint{keyword: keyword, value: int64(*bound)})
		}
	}
	slices.SortFunc(found, func(a, b constraint) int {
		return strings.Compare(a.keyword+a.path, b.keyword+b.path)
	})
	for _, rule := range s.XValidations {
		found = append(found, constraint{keyword: "cel", value: rule.Message})
	}
	return found
}

// permissive returns a copy of a CRD without any rule, as a release without rules
// would have had it.
func permissive(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	walk(rootSchema(crd), "", func(_ string, s *apiextensionsv1.JSONSchemaProps) {
		s.Required, s.Enum, s.Pattern, s.XValidations = nil, nil, "", nil
		s.MinLength, s.MaxLength, s.MinItems, s.MaxItems = nil, nil, nil, nil
		s.MinProperties, s.MaxProperties, s.Minimum, s.Maximum = nil, nil, nil, nil
	})
	return crd
}
