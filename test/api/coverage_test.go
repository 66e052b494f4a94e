// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allConstraints lists the rules of all CRDs in a fixed order.
func allConstraints(t *testing.T) []constraint {
	t.Helper()
	crds, err := loadCRDs()
	if err != nil {
		t.Fatal(err)
	}
	var all []constraint
	for _, k := range slices.Sorted(maps.Keys(crds)) {
		all = append(all, constraints(k, crds[k])...)
	}
	return all
}

// chosenBounds are the bounds design decisions name. Each needs a row of its own with
// values at and beyond the bound.
var chosenBounds = []constraint{
	{authPolicy, "spec.modelRefs", "maxItems", int64(128)},
	{subscription, "spec.modelRefs", "maxItems", int64(128)},
	{subscription, "spec.modelRefs[].tokenRateLimits", "maxItems", int64(8)},
	{authPolicy, "spec.subjects.groups", "maxItems", int64(256)},
	{authPolicy, "spec.subjects.users", "maxItems", int64(256)},
	{subscription, "spec.owner.groups", "maxItems", int64(256)},
	{subscription, "spec.owner.users", "maxItems", int64(256)},
	{authPolicy, "spec.subjects.groups[].name", "maxLength", int64(253)},
	{subscription, "spec.owner.groups[].name", "maxLength", int64(253)},
	{authPolicy, "spec.subjects.users[]", "maxLength", int64(320)},
	{subscription, "spec.owner.users[]", "maxLength", int64(320)},
	{authPolicy, "spec.meteringMetadata.labels", "maxProperties", int64(32)},
	{subscription, "spec.tokenMetadata.labels", "maxProperties", int64(32)},
	{subscription, "spec.modelRefs[].tokenRateLimits[].limit", "minimum", int64(1)},
	{subscription, "spec.modelRefs[].tokenRateLimits[].limit", "maximum", int64(1_000_000_000)},
	{tenantConfig, "spec.apiKeys.deletionRetentionDays", "minimum", int64(1)},
}

func TestEveryConstraintHasARow(t *testing.T) {
	t.Parallel()
	_, uncovered := derived(allConstraints(t), handwritten())
	for _, c := range uncovered {
		t.Errorf("no row for %s: add one to the rules, with what it accepts and refuses", c)
	}
}

func TestEveryRowCoversAConstraint(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range allConstraints(t) {
		known[c.id()] = true
	}
	for _, row := range handwritten() {
		for _, id := range row.covered() {
			if !known[id] {
				t.Errorf("row %s %q covers %q, which no CRD has", row.kind, row.name, id)
			}
		}
	}
}

func TestChosenBoundsAndAllCELRulesAndPatternsHaveHandwrittenRows(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, row := range handwritten() {
		for _, id := range row.covered() {
			covered[id] = true
		}
	}
	all := allConstraints(t)
	wanted := slices.Clone(chosenBounds)
	for _, c := range all {
		if c.keyword == "cel" || c.keyword == "pattern" {
			wanted = append(wanted, c)
		}
	}
	for _, c := range wanted {
		if !slices.Contains(all, c) {
			t.Errorf("the CRDs lack %s", c)
		}
		if !covered[c.id()] {
			t.Errorf("no handwritten row for %s", c)
		}
	}
}

func TestEveryRowAcceptsAndRefusesSomething(t *testing.T) {
	t.Parallel()
	all := allConstraints(t)
	rows := handwritten()
	more, _ := derived(all, rows)
	names := map[string]bool{}
	for _, row := range slices.Concat(rows, more) {
		if len(row.accepts) == 0 || len(row.refuses) == 0 || row.message == "" {
			t.Errorf("row %s %q needs accepted values, refused values and a message", row.kind, row.name)
		}
		if name := string(row.kind) + row.name; names[name] {
			t.Errorf("row %s %q exists twice", row.kind, row.name)
		} else {
			names[name] = true
		}
	}
}

// The API server lets stored objects break a rule that is new only below a field that
// does not change. At the root everything changes, so that rules there must look at
// the old object, and nothing there can be required.
func TestRootHasNoRuleThatBlocksStoredObjects(t *testing.T) {
	t.Parallel()
	crds, err := loadCRDs()
	if err != nil {
		t.Fatal(err)
	}
	for k, crd := range crds {
		root := rootSchema(crd)
		if len(root.Required) > 0 {
			t.Errorf("%s requires %v at the root: use a rule with optionalOldSelf", k, root.Required)
		}
		for _, v := range root.XValidations {
			if v.OptionalOldSelf == nil || !*v.OptionalOldSelf {
				t.Errorf("%s has the rule %q at the root without optionalOldSelf", k, v.Rule)
			}
		}
	}
}

func TestNoCRDIsLargerThan256KiB(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(crdDirectory(), "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 256<<10 {
			t.Errorf("%s has %d bytes", filepath.Base(file), info.Size())
		}
	}
}

func TestReasonsInStatusAreFree(t *testing.T) {
	t.Parallel()
	for _, c := range allConstraints(t) {
		if c.keyword == "enum" && filepath.Ext(c.path) == ".reason" {
			t.Errorf("%s: reasons must not be an enum, new ones may be added", c)
		}
	}
}

func TestNamesAndShapeOfTheCRDs(t *testing.T) {
	t.Parallel()
	type shape struct {
		Plural, Scope string
		ShortNames    []string
		Columns       []string
	}
	want := map[kind]shape{
		modelRef:     {"maasmodelrefs", "Namespaced", nil, []string{"Phase", "Reason", "Policies", "Endpoint", "HTTPRoute", "Gateway", "Age", "Governed (wide)"}},
		authPolicy:   {"maasauthpolicies", "Namespaced", nil, []string{"Phase", "Age", "AuthPolicies (wide)"}},
		subscription: {"maassubscriptions", "Namespaced", nil, []string{"Phase", "Priority", "Age"}},
		externalModel: {
			"externalmodels", "Namespaced", nil, []string{"Provider", "TargetModel", "Endpoint", "Phase", "Age"},
		},
		aiTenant:          {"aitenants", "Namespaced", []string{"ait"}, []string{"Phase", "Ready", "Degraded", "Tenant Namespace", "Gateway", "Age"}},
		tenantConfig:      {"maastenantconfigs", "Namespaced", nil, []string{"Phase", "Ready", "Reason", "Degraded", "Age", "InfraNamespace (wide)"}},
		tenant:            {"tenants", "Namespaced", nil, []string{"Ready", "Reason", "Age"}},
		config:            {"configs", "Cluster", []string{"maasconfig"}, []string{"Ready", "Reason", "Age"}},
		inferenceModel:    {"externalmodels", "Namespaced", nil, []string{"Phase", "Age"}},
		inferenceProvider: {"externalproviders", "Namespaced", nil, []string{"Provider", "Endpoint", "Phase", "Age"}},
	}
	crds, err := loadCRDs()
	if err != nil {
		t.Fatal(err)
	}
	got := map[kind]shape{}
	for k, crd := range crds {
		s := shape{Plural: crd.Spec.Names.Plural, Scope: string(crd.Spec.Scope), ShortNames: crd.Spec.Names.ShortNames}
		for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			name := column.Name
			if column.Priority > 0 {
				name += " (wide)"
			}
			s.Columns = append(s.Columns, name)
		}
		got[k] = s
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CRDs (-want +got):\n%s", diff)
	}
}
