// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// statementsOfAllTenants may touch keys of any tenant.
var statementsOfAllTenants = map[string]bool{"purgeKeys": true}

// constants returns the texts of the constants of this package by name, with the
// constants that they consist of.
func constants(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	expressions := map[string]ast.Expr{}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok {
				for i, value := range spec.Values {
					expressions[spec.Names[i].Name] = value
				}
			}
			return true
		})
	}
	for name, expression := range expressions {
		if text, ok := textOf(expression, expressions); ok {
			texts[name] = text
		}
	}
	return texts
}

// textOf evaluates a constant text.
func textOf(e ast.Expr, named map[string]ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		if value, ok := named[e.Name]; ok {
			return textOf(value, named)
		}
	case *ast.BinaryExpr:
		left, ok := textOf(e.X, named)
		right, also := textOf(e.Y, named)
		return left + right, ok && also
	}
	return "", false
}

func TestEveryStatementAboutKeysNamesTheTenant(t *testing.T) {
	t.Parallel()
	table := regexp.MustCompile(`(?i)\b(FROM|INTO|UPDATE|JOIN)\s+(api_keys|api_key_tombstones)\b`)
	found := 0
	for name, statement := range constants(t) {
		uses := len(table.FindAllString(statement, -1))
		if uses == 0 || statementsOfAllTenants[name] || name == "purgeTombstones" {
			continue
		}
		found++
		bound := strings.Count(statement, "tenant = $1")
		if name == "insertKey" {
			bound = strings.Count(statement, "INTO api_keys (tenant, ") * strings.Count(statement, "SELECT $1, ")
		}
		if bound < uses {
			t.Errorf("%s touches keys %d times, and names the tenant %d times:\n%s", name, uses, bound, statement)
		}
	}
	if found < 14 {
		t.Errorf("only %d statements about keys were found", found)
	}
}

func TestStatementsAreBuiltFromConstantsOnly(t *testing.T) {
	t.Parallel()
	// One place puts numbers into a statement, which has no parameters then.
	allowed := map[string]bool{"connect.go": true}
	formatted := regexp.MustCompile(`(?i)Sprintf\("[^"]*\b(select|insert|update|delete|set)\b`)
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") || allowed[file.Name()] {
			continue
		}
		content, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if formatted.Match(content) {
			t.Errorf("%s formats a statement", file.Name())
		}
	}
}

// planOf returns how the server would run a statement.
func planOf(t *testing.T, conn *pgx.Conn, statement string, args ...any) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "EXPLAIN "+statement, append([]any{pgx.QueryExecModeDescribeExec}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
	return strings.Join(lines, "\n")
}

func TestStatementsOnLargeTablesUseTheirIndexes(t *testing.T) {
	t.Parallel()
	url := routes[0].database(t)
	conn := sqlConn(t, url)
	earlier(t, conn, earlierVersion)
	populate(t, conn, 20_000)
	migrated(t, url)
	execute(t, conn, "UPDATE api_keys SET status = status WHERE id < 'id-11'; UPDATE api_keys SET purge_after = now() WHERE id = 'id-1'")
	execute(t, conn, "VACUUM ANALYZE api_keys")
	_, position := load(t, open(t, url))
	noBounds := make([]any, 20)
	noBounds[0], noBounds[4], noBounds[15], noBounds[16] = tenant, true, 50, 0
	with := func(at int, value any) []any {
		args := append([]any{}, noBounds...)
		args[at-1] = value
		return args
	}
	for name, tc := range map[string]struct {
		statement string
		args      []any
		index     string
	}{
		"look-up": {lookUpKey, []any{tenant, digest("none").String()}, "idx_api_keys_key_hash_tenant"},
		"changes": {readChanges, []any{tenant, int64(position.Xid), position.Snapshot, position.Database}, "idx_api_keys_tenant_changed"},
		"get":     {getKey, []any{tenant, "id-1"}, "api_keys_pkey"},
		"revoke":  {revokeKey, []any{tenant, "id-1"}, "api_keys_pkey"},
		"usage":   {writeUsage, []any{tenant, []string{"id-1"}, []any{now()}}, "api_keys_pkey"},
		"count by user": {
			countActive, []any{tenant, "user-1", ""}, "idx_api_keys_tenant_username_created",
		},
		"revoke by subscription":  {revokeActive, []any{tenant, "", "sub-1"}, "idx_api_keys_tenant_subscription"},
		"clean up":                {deleteExpiredEphemeral, []any{tenant, 1000}, "idx_api_keys_tenant_ephemeral"},
		"purge":                   {purgeKeys, []any{1000}, "idx_api_keys_purge_after"},
		"list the tenant":         {searchKeys + byCreatedDescending, noBounds, "idx_api_keys_tenant_created"},
		"list a user":             {searchKeys + byCreatedDescending, with(2, "user-1"), "idx_api_keys_tenant_username_created"},
		"list a subscription":     {searchKeys + byCreatedDescending, with(4, "sub-1"), "idx_api_keys_tenant_subscription"},
		"list by a rare label":    {searchKeys + byNameAscending, with(6, map[string]string{"team": "5"}), "idx_api_keys_labels_gin"},
		"end a tenant of no keys": {endTenant, []any{"none", reasonDeleted, 1.0}, "idx_api_keys_"},
	} {
		plan := planOf(t, conn, tc.statement, tc.args...)
		if !strings.Contains(plan, tc.index) || strings.Contains(plan, "Seq Scan on api_keys") {
			t.Errorf("%s does not use %s:\n%s", name, tc.index, plan)
		}
	}
}

func TestTheAllowListKnowsEveryOrder(t *testing.T) {
	t.Parallel()
	for _, by := range []apikey.SortField{"", apikey.SortCreatedAt, apikey.SortName, apikey.SortExpiresAt, apikey.SortLastUsedAt} {
		for _, ascending := range []bool{true, false} {
			if _, allowed := searchStatement(by, ascending); !allowed {
				t.Errorf("%q, ascending %t is refused", by, ascending)
			}
		}
	}
}
