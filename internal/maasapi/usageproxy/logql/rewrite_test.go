// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package logql

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"text/scanner"
)

var ann = Restriction{Namespace: "mon", User: "ann"}

func TestEverySelectorIsNarrowed(t *testing.T) {
	t.Parallel()
	const own, only = `{kubernetes_namespace_name="mon"`, ` | user_id="ann"`
	for name, tc := range map[string]struct{ query, want string }{
		"a selector":           {`{a="b"}`, own + `, a="b"}` + only},
		"an empty selector":    {`{}`, own + `}` + only},
		"several matchers":     {`{a="b",c!="d" , e=~"f|g", h!~"i"}`, own + `, a="b", c!="d", e=~"f|g", h!~"i"}` + only},
		"a matcher of its own": {`{kubernetes_namespace_name=~".*"}`, own + `, kubernetes_namespace_name=~".*"}` + only},
		"a filter of its own":  {`{a="b"} | user_id="bob"`, own + `, a="b"}` + only + ` | user_id = "bob"`},
		"line filters":         {`{a="b"} |= "x" !~ "y" |> "<_>"`, own + `, a="b"}` + only + ` |= "x" !~ "y" |> "<_>"`},
		"a negative filter":    {`{a="b"} != "x"`, own + `, a="b"}` + only + ` != "x"`},
		"braces in strings":    {`{a="}"} |= "{b=\"c\"}"`, own + `, a="}"}` + only + ` |= "{b=\"c\"}"`},
		"backquotes":           {"{a=`b}`} |= `{\"`", own + `, a="b}"}` + only + ` |= "{\""`},
		"a comment":            {"{a=\"b\"} # } or {\n| json", own + `, a="b"}` + only + ` | json`},
		"a comment at the end": {`{a="b"} # | json`, own + `, a="b"}` + only},
		"a hash in a string":   {`{a="#"}`, own + `, a="#"}` + only},
		"a metric": {
			`sum by (model) (rate({a="b"} | json [5m]))`,
			`sum by( model ) ( rate( ` + own + `, a="b"}` + only + ` | json [5m] ) )`,
		},
		"a bare range": {`count_over_time({a="b"}[1h])`, `count_over_time( ` + own + `, a="b"}` + only + ` [1h] )`},
		"two selectors": {
			`count_over_time({a="b"}[1h]) / count_over_time({c="d"}[1h])`,
			`count_over_time( ` + own + `, a="b"}` + only + ` [1h] ) / count_over_time( ` + own + `, c="d"}` + only + ` [1h] )`,
		},
		"unwrap behind a range": {`sum_over_time({a="b"}[1h] | unwrap tokens)`, `sum_over_time( ` + own + `, a="b"}` + only + ` [1h] | unwrap tokens )`},
		"a number":              {`topk(10, rate({}[1m])) > -1.5e-3`, `topk( 10 , rate( ` + own + `}` + only + ` [1m] ) ) > -1.5e-3`},
		"parser flags":          {`{a="b"} | logfmt --strict --keep-empty`, own + `, a="b"}` + only + ` | logfmt --strict --keep-empty`},
		"an offset":             {`rate({}[1m] offset 5m)`, `rate( ` + own + `}` + only + ` [1m] offset 5m )`},
		"no selector":           {`vector(1)`, `vector( 1 )`},
		"parentheses":           {`({a="b"})`, `( ` + own + `, a="b"}` + only + ` )`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ann.Rewrite(tc.query)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(tc.want), " ") {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			narrowed(t, got, ann)
		})
	}
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		query string
		want  error
	}{
		"widening with or":             {`{a="b"} or user_id="bob"`, errBehind},
		"widening with a comma":        {`{a="b"}, user_id="bob"`, errBehind},
		"widening with and":            {`{a="b"} and user_id="bob"`, errBehind},
		"widening without anything":    {`{a="b"} user_id="bob"`, errBehind},
		"widening behind a comment":    {"{a=\"b\"} # x\nor user_id=\"bob\"", errBehind},
		"a comparison behind":          {`{a="b"} == "c"`, errBehind},
		"two selectors in a row":       {`{a="b"} {c="d"}`, errBehind},
		"a selector in a selector":     {`{a="b", {c="d"}}`, errSelector},
		"or in a selector":             {`{a="b" or c="d"}`, errSelector},
		"a trailing comma":             {`{a="b",}`, errSelector},
		"a selector without a value":   {`{a}`, errSelector},
		"a string for a name":          {`{"a"="b"}`, errSelector},
		"a selector that goes on":      {`{a="b"`, errSelector},
		"a brace too many":             {`{a="b"}}`, errBehind},
		"a brace alone":                {`}`, errUnterminated},
		"a parenthesis too many":       {`{a="b"})`, errUnterminated},
		"a parenthesis too few":        {`({a="b"}`, errUnterminated},
		"a string that goes on":        {`{a="b}`, errUnterminated},
		"a backquote that goes on":     {"{a=`b}", errUnterminated},
		"a range that goes on":         {`rate({}[5m)`, errUnterminated},
		"a range with something in it": {`rate({}[5m] | json [{a="b"}])`, errRange},
		"a range that is none":         {`rate({}[{a="b"}])`, errRange},
		"an empty range":               {`rate({}[])`, errRange},
		"a subquery":                   {`rate({}[5m:1m])`, errRange},
		"a stage behind a range":       {`rate({}[5m] | json)`, errOrder},
		"a comment of another kind":    {`{a="b"} // | json`, errCharacter},
		"a comment between":            {`{a="b"} | json /* } */`, errCharacter},
		"slashes":                      {`1 // 2`, errCharacter},
		"two signs":                    {`1 --1`, errCharacter},
		"a flag that goes on":          {`{a="b"} | logfmt --strictly`, errCharacter},
		"a single quote":               {`{a='b'}`, errCharacter},
		"a semicolon":                  {`{a="b"};`, errCharacter},
		"a dollar":                     {`rate({}[5m]) > $x`, errCharacter},
		"a letter of another script":   {`{ä="b"}`, errCharacter},
		"a zero byte":                  {"{a=\"b\"}\x00", errCharacter},
		"a space of another kind":      {"{a=\"b\"}\u00a0| json", errCharacter},
		"a vertical tab":               {"{a=\"b\"}\v| json", errCharacter},
		"no text":                      {"{a=\"\xff\"}", errEncoding},
		"an escape of no text":         {`{a="\xff"}`, errString},
		"an unknown escape":            {`{a="\d"}`, errString},
		"a line in a string":           {"{a=\"b\nc\"}", errString},
		"too long":                     {`{a="` + strings.Repeat("b", maxQuery) + `"}`, errQueryLength},
		"too many words":               {strings.Repeat("1 ", maxQuery/2) + `1`, errQueryLength},
		"too deep":                     {strings.Repeat("(", maxDepth+1) + strings.Repeat(")", maxDepth+1), errDepth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ann.Rewrite(tc.query)
			if err == nil {
				t.Fatalf("passed as %s", got)
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

func TestSelectorsOfLabels(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":          `{kubernetes_namespace_name="mon"}`,
		"{}":        `{kubernetes_namespace_name="mon"}`,
		`{a="b"} #`: `{kubernetes_namespace_name="mon", a="b"}`,
	} {
		got, err := ann.Selector(query)
		if err != nil || got != want {
			t.Errorf("%q gives %q, error %v", query, got, err)
		}
	}
	for _, query := range []string{`rate({}[5m])`, `{a="b"} | json`, `{a="b"} or {c="d"}`, `{a="b"`, `a`, `# x`} {
		if got, err := ann.Selector(query); err == nil {
			t.Errorf("%q passed as %s", query, got)
		}
	}
}

func TestNamesAreQuoted(t *testing.T) {
	t.Parallel()
	for _, user := range []string{`a" or user_id!="`, "a`b", "a\\", "a\nb", "ä", "system:serviceaccount:a:b", "\u2028"} {
		r := Restriction{Namespace: `n"`, User: user}
		got, err := r.Rewrite(`sum(rate({a="b"} | json [5m]))`)
		if err != nil {
			t.Fatal(err)
		}
		narrowed(t, got, r)
	}
}

// narrowed reads a query with the scanner that the log store's own lexer is built
// on, in its default mode, and checks that each selector has the matcher, and behind
// it the filter, and behind that nothing that could belong to it.
func narrowed(tb testing.TB, query string, r Restriction) {
	tb.Helper()
	words := scan(tb, query)
	for i, word := range words {
		if word != "{" {
			continue
		}
		expect(tb, query, words[i+1:], namespaceLabel, "=", strconv.Quote(r.Namespace))
		end := i
		for words[end] != "}" {
			end++
		}
		expect(tb, query, words[end+1:], "|", userLabel, "=", strconv.Quote(r.User))
		switch next := words[end+5]; next {
		case "", "|", "!", "[", ")":
		default:
			tb.Fatalf("%s\ngoes on with %q behind the filter", query, next)
		}
	}
}

func expect(tb testing.TB, query string, words []string, want ...string) {
	tb.Helper()
	for i, word := range want {
		if words[i] != word {
			tb.Fatalf("%s\nhas %q in place of %q", query, words[i], word)
		}
	}
}

// scan returns the words, strings quoted in one way, and some empty ones behind them.
func scan(tb testing.TB, query string) []string {
	tb.Helper()
	var s scanner.Scanner
	s.Init(strings.NewReader(query))
	s.Error = func(_ *scanner.Scanner, text string) { tb.Fatalf("%s\ncannot be read: %s", query, text) }
	var words []string
	for kind := s.Scan(); kind != scanner.EOF; kind = s.Scan() {
		text := s.TokenText()
		switch kind {
		case scanner.String, scanner.RawString:
			value, err := strconv.Unquote(text)
			if err != nil {
				tb.Fatalf("%s\nhas string %s: %v", query, text, err)
			}
			text = strconv.Quote(value)
		case scanner.Char, scanner.Comment, '#', '\'':
			tb.Fatalf("%s\nhas %q", query, text)
		}
		words = append(words, text)
	}
	return append(words, make([]string, 8)...)
}

func FuzzRewrite(f *testing.F) {
	for _, seed := range []string{
		`{a="b"} | json | x > 5`, `sum by (a) (rate({a=~"b.*"}[5m]))`, "{a=`}`} # }\n|= \"{\"", `{a="b"} or user_id="bob"`,
		`{a="b"} /* } */ | json`, `topk(5, {} | unwrap x [1h] offset -5m)`, `{a="\""} != "}"`, `1e-5 --strict // x`, `[5m]{`, `{a='b'}`,
	} {
		f.Add(seed, "ann")
	}
	f.Fuzz(func(t *testing.T, query, user string) {
		r := Restriction{Namespace: "mon", User: user}
		if user == "" || strings.ToValidUTF8(user, "") != user {
			return
		}
		got, err := r.Rewrite(query)
		if err != nil {
			return
		}
		// Numbers of this scanner have other forms; they are of no importance.
		narrowed(t, withoutNumbers(t, got), r)
		if selector, err := r.Selector(query); err == nil {
			narrowed(t, selector+r.Filter(), r)
		}
	})
}

// withoutNumbers replaces what follows a digit outside of strings, which the scanner
// of Go may find fault with where the log store reads a duration.
func withoutNumbers(tb testing.TB, query string) string {
	tb.Helper()
	tokens, err := lex(query)
	if err != nil {
		tb.Fatalf("%s\ncannot be read again: %v", query, err)
	}
	var out strings.Builder
	for _, t := range tokens {
		switch t.kind {
		case tokenNumber:
			out.WriteString(" 1")
		case tokenRange:
			out.WriteString(" [ 1 ]")
		default:
			out.WriteString(" " + t.text)
		}
	}
	return out.String()
}
