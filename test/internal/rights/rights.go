// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rights compares what a program may do on the API server with what it
// did: the rights in its manifests with the requests in the audit log. It must not
// know which program it is.
package rights

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// Right is one verb on one resource: "group/resource verb".
type Right string

func right(group, resource, verb string) Right { return Right(group + "/" + resource + " " + verb) }

// on is the right without its verb.
func (r Right) on() string {
	resource, _, _ := strings.Cut(string(r), " ")
	return resource
}

// Granted expands the roles and cluster roles in files whose paths, seen from the
// root of the repository, match a pattern. It refuses wildcards.
func Granted(pattern string) ([]Right, error) {
	files, err := filepath.Glob(filepath.Join(testenv.RepoRoot(), filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("read rights: no files match %s", pattern)
	}
	var out []Right
	for _, file := range files {
		objects, err := testenv.ReadObjects(file)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
				continue
			}
			var role rbacv1.Role // Both kinds have the same rules.
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			for _, rule := range role.Rules {
				expanded, err := expand(rule)
				if err != nil {
					return nil, fmt.Errorf("read %s: %w", file, err)
				}
				out = append(out, expanded...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func expand(rule rbacv1.PolicyRule) ([]Right, error) {
	var out []Right
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if group == "*" || resource == "*" || verb == "*" {
					return nil, fmt.Errorf("the right to %s %s/%s is a wildcard", verb, group, resource)
				}
				out = append(out, right(group, resource, verb))
			}
		}
	}
	return out, nil
}

// Used are the rights that the requests of a program needed.
func Used(events []audit.Event) []Right {
	used := sets.New[Right]()
	for _, e := range events {
		if e.Resource == "" {
			continue // Discovery and the like, which everybody may use.
		}
		resource := e.Resource
		if e.Subresource != "" {
			resource += "/" + e.Subresource
		}
		used.Insert(right(e.APIGroup, resource, e.Verb))
	}
	return sets.List(used)
}

// Idle are the granted rights that were not used and have no excuse. Whoever
// streams a list through a watch needs the right to list all the same, for servers
// that cannot do that.
func Idle(granted, used []Right, excused map[Right]string) []Right {
	var idle []Right
	for _, r := range granted {
		informed := strings.HasSuffix(string(r), " list") && slices.Contains(used, Right(r.on()+" watch"))
		if !slices.Contains(used, r) && !informed && excused[r] == "" {
			idle = append(idle, r)
		}
	}
	return idle
}
