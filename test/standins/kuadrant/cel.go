// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// dialect names the environment that would evaluate an expression.
type dialect int

const (
	// dialectGatewayAuth is the gateway's filter deciding whether to call
	// the authorisation service.
	dialectGatewayAuth dialect = iota
	// dialectGatewayLimit is the gateway's filter behind authorisation.
	dialectGatewayLimit
	// dialectGatewayLimitAnonymous is the same without any AuthPolicy on the route.
	dialectGatewayLimitAnonymous
	// dialectAuthorino is the authorisation service.
	dialectAuthorino
)

// maxCachedResults bounds the memory of a checker in long runs.
const maxCachedResults = 20_000

// checker parses and type-checks expressions and remembers the results.
type checker struct {
	envs map[dialect]*cel.Env

	mu      sync.Mutex
	results map[checkKey]error
}

type checkKey struct {
	dialect   dialect
	predicate bool
	text      string
}

func newChecker() (*checker, error) {
	c := &checker{envs: map[dialect]*cel.Env{}, results: map[checkKey]error{}}
	extra := map[dialect][]string{
		dialectGatewayAuth:           {"auth"},
		dialectGatewayLimit:          {"auth", "ratelimit"},
		dialectGatewayLimitAnonymous: {"ratelimit"},
	}
	for d, names := range extra {
		env, err := gatewayEnv(names)
		if err != nil {
			return nil, fmt.Errorf("build gateway CEL environment: %w", err)
		}
		c.envs[d] = env
	}
	env, err := authorinoEnv()
	if err != nil {
		return nil, fmt.Errorf("build Authorino CEL environment: %w", err)
	}
	c.envs[dialectAuthorino] = env
	return c, nil
}

// check reports why text cannot be used; predicates must be able to yield a boolean.
func (c *checker) check(d dialect, text string, predicate bool) error {
	key := checkKey{dialect: d, predicate: predicate, text: text}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err, known := c.results[key]; known {
		return err
	}
	if len(c.results) >= maxCachedResults {
		clear(c.results)
	}
	err := compile(c.envs[d], text, predicate)
	c.results[key] = err
	return err
}

func compile(env *cel.Env, text string, predicate bool) error {
	ast, issues := env.Parse(text)
	if issues.Err() != nil {
		return issues.Err()
	}
	checked, issues := env.Check(ast)
	if issues.Err() != nil {
		return issues.Err()
	}
	if !predicate {
		return nil
	}
	if out := checked.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) && !out.IsExactType(cel.AnyType) {
		return fmt.Errorf("a predicate must be a boolean, this is %s", out)
	}
	return nil
}

// gatewayEnv is shaped like the environment in which kuadrant-operator checks
// the predicates it hands to the gateway's filter.
func gatewayEnv(extra []string) (*cel.Env, error) {
	opts := []cel.EnvOption{ext.Strings()}
	for _, name := range append([]string{"request", "source", "destination", "connection"}, extra...) {
		opts = append(opts, cel.Variable(name, cel.AnyType))
	}
	for name, id := range map[string]string{
		"requestBodyJSON":  "request_body_json_string",
		"responseBodyJSON": "response_body_json_string",
	} {
		opts = append(opts, cel.Function(name, cel.Overload(id, []*cel.Type{cel.StringType}, cel.AnyType,
			cel.UnaryBinding(func(ref.Val) ref.Val { return nil })))) // checked here, never evaluated
	}
	return cel.NewEnv(opts...)
}

// authorinoEnv is shaped like the environment in which Authorino compiles the
// expressions of an AuthConfig.
func authorinoEnv() (*cel.Env, error) {
	opts := []cel.EnvOption{ext.Strings(), cel.OptionalTypes()}
	for _, name := range []string{"metadata", "request", "source", "destination", "auth"} {
		opts = append(opts, cel.Variable(name, cel.ObjectType("google.protobuf.Struct")))
	}
	return cel.NewEnv(opts...)
}

// checkAll returns the joined errors of the expressions of one engine.
func (c *checker) checkAll(exprs []expression, authBound bool) (gateway []error, authorino error) {
	var errs []error
	for _, e := range exprs {
		d := e.dialect
		if d == dialectGatewayLimit && !authBound {
			d = dialectGatewayLimitAnonymous
		}
		err := c.check(d, e.text, e.predicate)
		switch {
		case err == nil:
		case d == dialectAuthorino:
			errs = append(errs, fmt.Errorf("%s: %w", e.path, err))
		default:
			gateway = append(gateway, err)
		}
	}
	return gateway, errors.Join(errs...)
}
