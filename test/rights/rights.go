// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rights computes what roles allow, from the objects alone: what an account
// holds, what the roles a program writes grant, and what of the latter the former
// lacks. The API server refuses to let anybody grant what they do not hold, and says
// so only when it happens. It also computes from an audit log what an account needed.
// It must not know which account it is.
package rights

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Right is one verb on one kind of resource.
type Right struct {
	Group, Resource, Verb string
	// Name is the only object it is about; empty means all.
	Name string
	// Namespace is the only namespace it counts in; empty means all, and what is in
	// no namespace.
	Namespace string
}

func (r Right) String() string {
	resource := r.Resource
	if r.Group != "" {
		resource += "." + r.Group
	}
	text := r.Verb + " " + resource
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

// Covers tells whether who holds r may do what the other right allows.
func (r Right) Covers(other Right) bool {
	return r.Group == other.Group && r.Resource == other.Resource && r.Verb == other.Verb &&
		(r.Name == "" || r.Name == other.Name) && (r.Namespace == "" || r.Namespace == other.Namespace)
}

// Manifests reads the objects in the files of a directory, seen from the root of the
// repository.
func Manifests(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(testenv.RepoRoot(), filepath.FromSlash(dir), "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("read %s: no manifests", dir)
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		objects, err := testenv.ReadObjects(file)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// Granted expands the Roles and ClusterRoles among objects. It refuses what it cannot
// compare: wildcards, aggregation and addresses that are no resources.
func Granted(objects []*unstructured.Unstructured) ([]Right, error) {
	var out []Right
	for _, object := range objects {
		if object.GetKind() != "Role" && object.GetKind() != "ClusterRole" {
			continue
		}
		granted, err := expand(object)
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		out = append(out, granted...)
	}
	return sorted(out), nil
}

// Held are the rights that bindings among objects give to a ServiceAccount. A binding
// to a role that is not among them is an error.
func Held(objects []*unstructured.Unstructured, namespace, account string) ([]Right, error) {
	roles := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		roles[object.GetKind()+"/"+object.GetNamespace()+"/"+object.GetName()] = object
	}
	var out []Right
	for _, object := range objects {
		if object.GetKind() != "RoleBinding" && object.GetKind() != "ClusterRoleBinding" {
			continue
		}
		var binding rbacv1.RoleBinding // Both kinds have the same fields.
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding); err != nil {
			return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		subject := rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: account}
		if !slices.Contains(binding.Subjects, subject) {
			continue
		}
		from := ""
		if binding.RoleRef.Kind == "Role" {
			from = binding.Namespace
		}
		role := roles[binding.RoleRef.Kind+"/"+from+"/"+binding.RoleRef.Name]
		if role == nil {
			return nil, fmt.Errorf("read %s %s: there is no %s %s", object.GetKind(), object.GetName(), binding.RoleRef.Kind, binding.RoleRef.Name)
		}
		granted, err := expand(role)
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", role.GetKind(), role.GetName(), err)
		}
		for _, right := range granted {
			right.Namespace = binding.Namespace
			out = append(out, right)
		}
	}
	return sorted(out), nil
}

// Missing are the wanted rights that nothing held covers.
func Missing(wanted, held []Right) []Right {
	return slices.DeleteFunc(slices.Clone(wanted), func(want Right) bool {
		return slices.ContainsFunc(held, func(have Right) bool { return have.Covers(want) })
	})
}

// expand returns the rights in a Role or ClusterRole.
func expand(object *unstructured.Unstructured) ([]Right, error) {
	var role rbacv1.ClusterRole // A Role has the same rules.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
		return nil, err
	}
	if role.AggregationRule != nil {
		return nil, fmt.Errorf("it aggregates other roles")
	}
	var out []Right
	for _, rule := range role.Rules {
		if len(rule.NonResourceURLs) > 0 {
			return nil, fmt.Errorf("a rule is about addresses: %v", rule.NonResourceURLs)
		}
		for _, part := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs) {
			if strings.Contains(part, "*") {
				return nil, fmt.Errorf("a rule has the wildcard %q", part)
			}
		}
		out = append(out, product(rule, object.GetNamespace())...)
	}
	return out, nil
}

// product returns every combination of a rule's parts.
func product(rule rbacv1.PolicyRule, namespace string) []Right {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var out []Right
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					out = append(out, Right{Group: group, Resource: resource, Verb: verb, Name: name, Namespace: namespace})
				}
			}
		}
	}
	return out
}

func sorted(rights []Right) []Right {
	slices.SortFunc(rights, func(a, b Right) int {
		return cmp.Or(
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace),
		)
	})
	return slices.Compact(rights)
}
