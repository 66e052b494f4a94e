// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Module is the path of the main module.
const Module = "github.com/opendatahub-io/maas-operator"

// Graph maps the import path of each package of the module, relative to the
// module, to what its non-test files import (full paths).
type Graph map[string][]string

// The layers of the design, from the bottom. A package may import packages of
// its own layer and of those below.
const (
	layerAPI = iota + 1
	layerContract
	layerMiddle
	layerTop
	layerCommand
	layerTest
)

// layers assigns packages to layers; the longest matching prefix wins.
var layers = map[string]int{
	"api":                  layerAPI,
	"internal/version":     layerAPI, // Imports nothing, may be imported by all but the API.
	"templates":            layerContract,
	"internal/entitlement": layerContract,
	"internal":             layerMiddle,
	"controllers":          layerTop,
	"internal/maasapi":     layerTop,
	"internal/webhook":     layerTop,
	"cmd":                  layerCommand,
	"test":                 layerTest,
}

// rule forbids imports to some packages.
type rule struct {
	// from lists the packages concerned, as prefixes of whole path elements
	// relative to the module.
	from []string
	// forbid lists forbidden imports as prefixes: "std" for the whole standard
	// library, "own/..." for packages of this module, anything else as it is.
	forbid []string
	// except lists prefixes that stay allowed although forbid matches them.
	except []string
	// deep extends the rule to what is reached through packages of this module.
	deep bool
	why  string
}

// everything is the prefix of every import.
const everything = ""

// rules are the forbidden arrows that layers alone do not express.
var rules = []rule{
	{
		from:   []string{"api"},
		forbid: []string{everything},
		except: []string{"std", "own/api", "k8s.io/apimachinery", "k8s.io/api", "sigs.k8s.io/gateway-api"},
		deep:   true,
		why:    "the API is imported by everybody and imports only API machinery",
	},
	{
		from:   []string{"templates"},
		forbid: []string{everything},
		except: []string{"std", "own/templates"},
		deep:   true,
		why:    "templates and their values are the contract with packagers: standard library only",
	},
	{
		from: []string{"internal/entitlement", "internal/desired", "internal/render"},
		forbid: []string{
			"k8s.io/client-go", "sigs.k8s.io/controller-runtime",
			"net/http", "github.com/jackc/pgx", "os",
		},
		deep: true,
		why:  "decisions and rendering are pure: no client, no network, no database, no files",
	},
	{
		from:   []string{"controllers"},
		forbid: []string{"own/internal/maasapi"},
		deep:   true,
		why:    "controllers and maas-api meet only in the API and the pure packages",
	},
	{
		from:   []string{"internal/maasapi"},
		forbid: []string{"own/controllers"},
		deep:   true,
		why:    "controllers and maas-api meet only in the API and the pure packages",
	},
}

// CheckImports returns one line for every import that breaks a layer or a
// rule, sorted.
func CheckImports(g Graph) []string {
	var found []string
	for _, pkg := range slices.Sorted(maps.Keys(g)) {
		found = append(found, checkLayer(g, pkg)...)
		for _, r := range rules {
			if under(pkg, r.from) {
				found = append(found, checkRule(g, pkg, r)...)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func checkLayer(g Graph, pkg string) []string {
	layer := layerOf(pkg)
	if layer == 0 {
		return []string{pkg + " belongs to no layer of the design; say in test/arch where it stands"}
	}
	var found []string
	for _, imported := range g[pkg] {
		own, ok := strings.CutPrefix(imported, Module+"/")
		if ok && layerOf(own) > layer {
			found = append(found, fmt.Sprintf("%s imports %s: arrows point from cmd down to api", pkg, own))
		}
	}
	return found
}

// checkRule walks what pkg imports, through packages of this module where the
// rule is deep, and names the way to what is forbidden.
func checkRule(g Graph, pkg string, r rule) []string {
	var found []string
	seen := map[string]bool{pkg: true}
	var walk func(path []string)
	walk = func(path []string) {
		for _, imported := range g[path[len(path)-1]] {
			own, isOwn := strings.CutPrefix(imported, Module+"/")
			name := imported
			if isOwn {
				name = "own/" + own
			}
			if matches(name, r.forbid) && !matches(name, r.except) {
				found = append(found, fmt.Sprintf("%s imports %s: %s", strings.Join(path, " -> "), imported, r.why))
				continue
			}
			if r.deep && isOwn && !seen[own] {
				seen[own] = true
				walk(append(slices.Clone(path), own))
			}
		}
	}
	walk([]string{pkg})
	return found
}

func layerOf(pkg string) int {
	best, layer := -1, 0
	for prefix, l := range layers {
		if len(prefix) > best && under(pkg, []string{prefix}) {
			best, layer = len(prefix), l
		}
	}
	return layer
}

// under says whether pkg is one of the prefixes or lies below it.
func under(pkg string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool {
		return p == everything || pkg == p || strings.HasPrefix(pkg, p+"/")
	})
}

// matches is under with the word "std" for the standard library, whose import
// paths have no dot in their first element.
func matches(name string, prefixes []string) bool {
	if slices.Contains(prefixes, "std") && !strings.HasPrefix(name, "own/") {
		first, _, _ := strings.Cut(name, "/")
		if !strings.Contains(first, ".") {
			return true
		}
	}
	return under(name, prefixes)
}
