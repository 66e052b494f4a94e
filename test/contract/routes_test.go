// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/callback"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/discovery"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/keyapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/openapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/server"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// router is what a feature of the service is to its route table.
type router interface{ Routes() []httpapi.Route }

// probes asks for the routes of health on the public listener.
type probes struct{ *server.Health }

func (p probes) Routes() []httpapi.Route { return p.Health.Routes(httpapi.Public) }

// features returns everything that has routes, by the name of its type. What it
// would need to answer is left out.
func features(t *testing.T) map[string]router {
	t.Helper()
	document, err := openapi.New()
	if err != nil {
		t.Fatal(err)
	}
	validate, err := callback.NewValidate(callback.ValidateOptions{
		Keys: noKeys{}, Usage: noKeys{}, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	selection, err := callback.NewSelect(nil, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]router)
	for _, feature := range []router{
		document, validate, selection, keyapi.Handlers{}, discovery.Models{}, discovery.Subscriptions{}, discovery.Tenants{},
	} {
		out[strings.TrimPrefix(fmt.Sprintf("%T", feature), "*")] = feature
	}
	out["server.Health"] = probes{server.NewHealth(slog.New(slog.DiscardHandler))}
	return out
}

func TestEveryRouteIsDescribedAndServed(t *testing.T) {
	t.Parallel()
	public, internal := documents(t)
	served := map[httpapi.Audience][]string{}
	for _, feature := range features(t) {
		for _, route := range feature.Routes() {
			served[route.Audience] = append(served[route.Audience], route.Method+" "+route.Pattern)
		}
	}
	for audience, described := range map[httpapi.Audience][]string{httpapi.Public: public.Operations(), httpapi.Internal: internal.Operations()} {
		slices.Sort(served[audience])
		if diff := cmp.Diff(described, served[audience]); diff != "" {
			t.Errorf("routes of audience %d (-described +served):\n%s", audience, diff)
		}
	}
}

// A feature that is written and forgotten here would escape the comparison.
func TestEveryFeatureWithRoutesIsCompared(t *testing.T) {
	t.Parallel()
	var found []string
	source(t, "internal/maasapi", func(pkg string, file *ast.File) {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Recv == nil || function.Name.Name != "Routes" {
				continue
			}
			receiver := function.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			found = append(found, pkg+"."+receiver.(*ast.Ident).Name)
		}
	})
	slices.Sort(found)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(features(t))), found); diff != "" {
		t.Errorf("types with routes (-compared +found):\n%s", diff)
	}
}

// source visits the files below a directory of the repository, without tests.
func source(t *testing.T, dir string, visit func(pkg string, file *ast.File)) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(filepath.Join(testenv.RepoRoot(), dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		visit(file.Name.Name, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// member is a member of a JSON object as a struct has it.
type member struct {
	name     string
	optional bool // It may be left out.
}

// bodies returns the members of every struct with JSON tags in a directory, by
// "package.type".
func bodies(t *testing.T, dirs ...string) map[string][]member {
	t.Helper()
	out := make(map[string][]member)
	for _, dir := range dirs {
		source(t, dir, func(pkg string, file *ast.File) {
			ast.Inspect(file, func(node ast.Node) bool {
				declared, ok := node.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if structure, ok := declared.Type.(*ast.StructType); ok {
					if members := membersOf(structure); len(members) > 0 {
						out[pkg+"."+declared.Name.Name] = members
					}
				}
				return false
			})
		})
	}
	return out
}

func membersOf(structure *ast.StructType) []member {
	var members []member
	for _, field := range structure.Fields.List {
		if field.Tag == nil {
			continue
		}
		tag, ok := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Lookup("json")
		if name, rest, _ := strings.Cut(tag, ","); ok && name != "-" {
			members = append(members, member{name: name, optional: strings.Contains(rest, "omitempty")})
		}
	}
	return members
}
