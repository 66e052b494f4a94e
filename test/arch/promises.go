// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// makeWords matches targets and NAME=VALUE pairs.
const makeWords = "(?: [A-Za-z_-]+(?:=[^\\s`]*)?)+"

var (
	phonyLine  = regexp.MustCompile(`(?m)^\.PHONY: ([a-z-]+)$`)
	helpLine   = regexp.MustCompile(`(?m)^([a-z-]+):[^#=\n]* ## \S.*$`)
	targetLine = regexp.MustCompile(`(?m)^([a-z-]+):(?:[^=\n]|$)`)
	// makeCall finds calls of make as people write them: in backquotes, or as
	// a line of their own, with or without a remark.
	makeCall = regexp.MustCompile("(?m)`make(" + makeWords + ")`|^\\s*(?:step )?make(" + makeWords + ")\\s*(?:#.*)?$")
)

// CheckMakefile names targets that are not phony, lack the line "make help"
// prints, or are declared phony without existing.
func CheckMakefile(files map[string][]byte) []string {
	makefile := string(files["Makefile"])
	phony, help, targets := names(phonyLine, makefile), names(helpLine, makefile), names(targetLine, makefile)
	var found []string
	for _, t := range targets {
		if !slices.Contains(phony, t) {
			found = append(found, "Makefile: target "+t+" is not declared .PHONY")
		}
		if !slices.Contains(help, t) {
			found = append(found, "Makefile: target "+t+" has no help line")
		}
	}
	for _, t := range phony {
		if !slices.Contains(targets, t) {
			found = append(found, "Makefile: .PHONY names "+t+", which does not exist")
		}
	}
	if len(targets) == 0 || targets[0] != "help" {
		found = append(found, "Makefile: help is not the first target")
	}
	return found
}

// CheckTargetsNamed names calls of make in documents, scripts and CI that ask
// for a target that does not exist.
func CheckTargetsNamed(files map[string][]byte) []string {
	targets := names(targetLine, string(files["Makefile"]))
	return each(files, func(name string, _ []byte) bool {
		return slices.Contains([]string{".md", ".sh"}, path.Ext(name)) || strings.HasPrefix(name, ".ci/")
	}, func(name string, content []byte) []string {
		var found []string
		for _, call := range makeCall.FindAllStringSubmatch(string(content), -1) {
			for word := range strings.FieldsSeq(call[1] + call[2]) {
				if !strings.Contains(word, "=") && word != "TARGET" && !slices.Contains(targets, word) {
					found = append(found, name+": there is no target "+word)
				}
			}
		}
		return found
	})
}

func names(pattern *regexp.Regexp, text string) []string {
	matches := pattern.FindAllStringSubmatch(text, -1)
	found := make([]string, 0, len(matches))
	for _, m := range matches {
		found = append(found, m[1])
	}
	return found
}

// project is what CheckProject reads of the file PROJECT.
type project struct {
	Repo      string `json:"repo"`
	Resources []struct {
		API struct {
			Namespaced bool `json:"namespaced"`
		} `json:"api"`
		Domain  string `json:"domain"`
		Group   string `json:"group"`
		Kind    string `json:"kind"`
		Version string `json:"version"`
		Path    string `json:"path"`
	} `json:"resources"`
}

// crd is what CheckProject reads of a CustomResourceDefinition.
type crd struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name string `json:"name"`
		} `json:"versions"`
	} `json:"spec"`
}

// CheckProject names differences between the kinds of the file PROJECT, which
// tools of Operator SDK read, and those of the generated CRDs.
func CheckProject(files map[string][]byte) []string {
	var p project
	if err := yaml.Unmarshal(files["PROJECT"], &p); err != nil {
		return []string{fmt.Sprintf("PROJECT does not parse: %v", err)}
	}
	var listed, defined []string
	for _, r := range p.Resources {
		listed = append(listed, kindLine(r.Kind, r.Group+"."+r.Domain, r.Version, r.API.Namespaced))
		dir, ok := strings.CutPrefix(r.Path, p.Repo+"/")
		if !ok || !slices.ContainsFunc(slices.Sorted(maps.Keys(files)), func(f string) bool { return path.Dir(f) == dir }) {
			listed[len(listed)-1] += " in missing package " + r.Path
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Dir(name) != "config/crd/bases" {
			continue
		}
		var c crd
		if err := yaml.Unmarshal(files[name], &c); err != nil {
			return []string{fmt.Sprintf("%s does not parse: %v", name, err)}
		}
		for _, v := range c.Spec.Versions {
			defined = append(defined, kindLine(c.Spec.Names.Kind, c.Spec.Group, v.Name, c.Spec.Scope == "Namespaced"))
		}
	}
	var found []string
	for _, k := range listed {
		if !slices.Contains(defined, k) {
			found = append(found, "PROJECT lists "+k+", which no CRD defines")
		}
	}
	for _, k := range defined {
		if !slices.Contains(listed, k) {
			found = append(found, "PROJECT does not list "+k)
		}
	}
	return found
}

func kindLine(kind, group, version string, namespaced bool) string {
	scope := "cluster-scoped"
	if namespaced {
		scope = "namespaced"
	}
	return fmt.Sprintf("%s %s.%s/%s", scope, kind, group, version)
}

// role is what CheckRole reads of a Role or ClusterRole.
type role struct {
	Kind  string `json:"kind"`
	Rules []struct {
		Resources     []string `json:"resources"`
		ResourceNames []string `json:"resourceNames"`
		Verbs         []string `json:"verbs"`
	} `json:"rules"`
}

// CheckRole names rules of config/rbac that grant more than anybody can
// review: wildcards, and verbs by which the manager could widen its own rights.
func CheckRole(files map[string][]byte) []string {
	return each(files, func(name string, _ []byte) bool {
		return path.Dir(name) == "config/rbac" && path.Ext(name) == ".yaml"
	}, func(name string, content []byte) []string {
		var found []string
		for doc := range strings.SplitSeq(string(content), "\n---") {
			var r role
			if err := yaml.Unmarshal([]byte(doc), &r); err != nil {
				return []string{fmt.Sprintf("%s does not parse: %v", name, err)}
			}
			for _, rule := range r.Rules {
				for _, word := range slices.Concat(rule.Resources, rule.Verbs) {
					if slices.Contains([]string{"*", "bind", "escalate", "impersonate"}, word) {
						found = append(found, fmt.Sprintf("%s: %s grants %q", name, r.Kind, word))
					}
				}
			}
		}
		return found
	})
}

// changeNote is the form of the files in .changelog.
type changeNote struct {
	Kind   string `json:"kind"`
	Area   string `json:"area"`
	Note   string `json:"note"`
	Issues []int  `json:"issues"`
	// Detail is for what an administrator must know or do; optional.
	Detail string `json:"detail,omitempty"`
}

// changeKinds are the allowed kinds of change notes.
var changeKinds = []string{"breaking", "deprecation", "feature", "enhancement", "fix"}

// CheckChangeNotes names change notes that do not follow .changelog/TEMPLATE.yaml.
func CheckChangeNotes(files map[string][]byte) []string {
	return each(files, func(name string, _ []byte) bool {
		return path.Dir(name) == ".changelog" && path.Ext(name) == ".yaml"
	}, func(name string, content []byte) []string {
		var n changeNote
		if err := yaml.UnmarshalStrict(content, &n); err != nil {
			return []string{fmt.Sprintf("%s does not parse: %v", name, err)}
		}
		switch {
		case !slices.Contains(changeKinds, n.Kind):
			return []string{fmt.Sprintf("%s: kind is none of %s", name, strings.Join(changeKinds, ", "))}
		case n.Area == "", n.Note == "", len(n.Issues) == 0:
			return []string{name + ": area, note and issues must be set"}
		case !strings.HasSuffix(n.Note, "."):
			return []string{name + ": note is not a full sentence"}
		}
		return nil
	})
}

// gap finds words for a policy that is deleted and built again, which ours never
// are: they are changed in place.
var gap = regexp.MustCompile(`(?i)\b(?:delet\w+|remov\w+)[ ,]+(?:and |then |and then )+(?:re-?buil\w+|re-?creat\w+|built again|created again)`)

// CheckNoGap names lines of documents that tell readers of a policy that is
// deleted and built again. What a user does to an object of their own is not meant.
func CheckNoGap(files map[string][]byte) []string {
	return each(files, func(name string, _ []byte) bool { return path.Ext(name) == ".md" }, func(name string, content []byte) []string {
		var found []string
		for i, line := range strings.Split(string(content), "\n") {
			if gap.MatchString(line) && strings.Contains(strings.ToLower(line), "polic") {
				found = append(found, fmt.Sprintf("%s:%d says that a policy is deleted and built again; it is changed in place", name, i+1))
			}
		}
		return found
	})
}
