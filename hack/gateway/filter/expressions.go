// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/parser"
)

// replyVariable holds what expressions ask of the body of the reply. No expression
// can name it.
const (
	replyVariable = "@reply"
	replyFunction = "responseBodyJSON"
)

// functions are those that the filter knows beside operators and macros: what its
// CEL library brings, string functions, and access to the body of the reply. Others,
// also such as another evaluator has, are an error.
var functions = []string{
	"bytes", "contains", "double", "duration", "endsWith", "int", "matches", "size", "startsWith", "string", "timestamp", "uint",
	"getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds",
	"charAt", "indexOf", "join", "lastIndexOf", "lowerAscii", "replace", "split", "substring", "trim", "upperAscii",
}

// attributes are those of a request that the stand-in can tell, by their root.
var attributes = map[string][]string{
	"request": {
		"headers", "host", "id", "method", "path", "protocol", "query", "referer", "scheme", "size", "time", "url_path", "useragent",
	},
	"source":      {"address", "port", "remote_address"},
	"destination": {"address", "port"},
	"connection":  {"mtls", "requested_server_name", "tls_version"},
}

// expression is a CEL expression that can be evaluated.
type expression struct {
	text    string
	program cel.Program
	// reply lists what it needs of the body of the reply, as JSON pointers.
	reply []string
	// paths are those of what it asks of the authorization server's answer.
	paths [][]string
}

// Expressions compiles and remembers expressions: generated configurations repeat
// them for every route, and change in parts.
type Expressions struct {
	env *cel.Env

	mu    sync.Mutex
	known map[string]*expression
}

// maxKnown bounds the memory of a long run.
const maxKnown = 20_000

// NewExpressions makes an empty set.
func NewExpressions() (*Expressions, error) {
	roots := make([]cel.EnvOption, 0, len(attributes))
	for root := range attributes {
		roots = append(roots, cel.Variable(root, cel.DynType))
	}
	env, err := cel.NewEnv(append(roots,
		ext.Strings(ext.StringsVersion(2)), cel.Variable(authVariable, cel.DynType), cel.Variable(replyVariable, cel.MapType(cel.StringType, cel.DynType)),
		cel.Macros(parser.NewGlobalMacro(replyFunction, 1, expandReply)),
	)...)
	if err != nil {
		return nil, fmt.Errorf("make the environment of the filter: %w", err)
	}
	return &Expressions{env: env, known: map[string]*expression{}}, nil
}

// expandReply turns responseBodyJSON("/a/b") into a look-up. Only literals can be
// looked up, because the filter collects them before there is a reply.
func expandReply(factory parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if args[0].Kind() != ast.LiteralKind || args[0].AsLiteral().Type() != types.StringType {
		return nil, factory.NewError(args[0].ID(), replyFunction+" takes a literal text")
	}
	return factory.NewCall(operators.Index, factory.NewIdent(replyVariable), args[0]), nil
}

// predicate compiles an expression that must yield a boolean.
func (e *Expressions) predicate(text string) (*expression, error) { return e.compile(text, true) }

// value compiles any expression.
func (e *Expressions) value(text string) (*expression, error) { return e.compile(text, false) }

func (e *Expressions) compile(text string, predicate bool) (*expression, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fmt.Sprint(predicate, " ", text)
	if x := e.known[key]; x != nil {
		return x, nil
	}
	checked, issues := e.env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	if kind := checked.OutputType(); predicate && !kind.IsExactType(cel.BoolType) && !kind.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("predicate %q is of type %s", text, kind)
	}
	x := &expression{text: text, paths: pathsOf(checked.NativeRep().Expr())}
	if err := x.inspect(checked.NativeRep().Expr()); err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	program, err := e.env.Program(checked)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	x.program = program
	if len(e.known) >= maxKnown {
		clear(e.known)
	}
	e.known[key] = x
	return x, nil
}

// inspect collects what is asked of the reply and refuses functions and attributes
// that are not known: a request must not be judged by something that is never there.
func (x *expression) inspect(root ast.Expr) (err error) {
	judged := map[int64]bool{} // Roots of attributes.
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		var fault error
		switch e.Kind() {
		case ast.CallKind:
			fault = x.inspectCall(e.AsCall())
		case ast.SelectKind:
			fault = inspectSelect(e.AsSelect(), judged)
		case ast.IdentKind:
			if _, ok := attributes[e.AsIdent()]; ok && !judged[e.ID()] {
				fault = fmt.Errorf("%s is used as a whole: name its attributes", e.AsIdent())
			}
		}
		err = cmp.Or(err, fault)
	}))
	return err
}

func (x *expression) inspectCall(call ast.CallExpr) error {
	name := call.FunctionName()
	if !isOperator(name) && !slices.Contains(functions, name) {
		return fmt.Errorf("the function %q is not known", name)
	}
	if args := call.Args(); name == operators.Index && args[0].Kind() == ast.IdentKind && args[0].AsIdent() == replyVariable {
		if pointer, ok := args[1].AsLiteral().(types.String); ok && !slices.Contains(x.reply, string(pointer)) {
			x.reply = append(x.reply, string(pointer))
		}
	}
	return nil
}

func inspectSelect(s ast.SelectExpr, judged map[int64]bool) error {
	root := s.Operand()
	if root.Kind() != ast.IdentKind {
		return nil
	}
	known, ok := attributes[root.AsIdent()]
	if !ok {
		return nil
	}
	judged[root.ID()] = true
	if !slices.Contains(known, s.FieldName()) {
		return fmt.Errorf("the attribute %s.%s is not known", root.AsIdent(), s.FieldName())
	}
	return nil
}

// isOperator tells the names of operators, and of what macros expand to.
func isOperator(name string) bool {
	return strings.Contains(name, "_") && !strings.ContainsAny(name, "abcdefghijklmnopqrstuvwxyz") || strings.HasPrefix(name, "@")
}

// eval evaluates the expression for a stream.
func (x *expression) eval(s *Stream) (ref.Val, error) {
	for _, pointer := range x.reply {
		if _, ok := s.reply[pointer]; !ok {
			return nil, fmt.Errorf("the reply holds no %s", pointer)
		}
	}
	seen := maps.Clone(s.variables())
	seen[authVariable] = x.known(s.auth)
	value, _, err := x.program.Eval(seen)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", x.text, err)
	}
	return value, nil
}

// holds evaluates a predicate.
func (x *expression) holds(s *Stream) (bool, error) {
	value, err := x.eval(s)
	if err != nil {
		return false, err
	}
	b, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("predicate %q yields a value of type %s", x.text, value.Type().TypeName())
	}
	return bool(b), nil
}
