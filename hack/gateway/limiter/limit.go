// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Spec is an entry of spec.limits of a Limitador object.
type Spec struct {
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	MaxValue   uint64   `json:"max_value"`
	Seconds    int      `json:"seconds"`
	Conditions []string `json:"conditions"`
	Variables  []string `json:"variables"`
}

// ParseSpecs reads a JSON list of limits. A field that is not known is an error.
func ParseSpecs(text []byte) ([]Spec, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var out []Spec
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("read limits: %w", err)
	}
	return out, nil
}

// identity tells limits apart: their largest value and their name do not.
func (s Spec) identity() string {
	conditions, variables := slices.Sorted(slices.Values(s.Conditions)), slices.Sorted(slices.Values(s.Variables))
	return fmt.Sprintf("%q %d %q %q", s.Namespace, s.Seconds, slices.Compact(conditions), slices.Compact(variables))
}

// limit is a Spec that can be evaluated.
type limit struct {
	Spec
	id         string
	conditions []cel.Program
	variables  map[string]cel.Program // By their text.
}

// environment is what conditions and variables see: the descriptors of the request
// and the name of the limit.
func environment() (*cel.Env, error) {
	env, err := cel.NewEnv(
		cel.Variable("descriptors", cel.ListType(cel.MapType(cel.StringType, cel.StringType))),
		cel.Variable("limit", cel.MapType(cel.StringType, cel.DynType)),
	)
	if err != nil {
		return nil, fmt.Errorf("make the environment of limits: %w", err)
	}
	return env, nil
}

func compile(env *cel.Env, s Spec) (*limit, error) {
	if s.Namespace == "" || s.Seconds <= 0 {
		return nil, fmt.Errorf("limit %q of namespace %q with %d seconds cannot be counted", s.Name, s.Namespace, s.Seconds)
	}
	l := &limit{Spec: s, id: s.identity(), variables: map[string]cel.Program{}}
	for _, text := range s.Conditions {
		program, kind, err := programOf(env, text)
		if err == nil && !kind.IsAssignableType(cel.BoolType) {
			err = fmt.Errorf("it is of type %s, not bool", kind)
		}
		if err != nil {
			return nil, fmt.Errorf("condition %q of limit %q of namespace %q: %w", text, s.Name, s.Namespace, err)
		}
		l.conditions = append(l.conditions, program)
	}
	for _, text := range s.Variables {
		program, _, err := programOf(env, text)
		if err != nil {
			return nil, fmt.Errorf("variable %q of limit %q of namespace %q: %w", text, s.Name, s.Namespace, err)
		}
		l.variables[text] = program
	}
	return l, nil
}

func programOf(env *cel.Env, text string) (cel.Program, *cel.Type, error) {
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, nil, err
	}
	program, err := env.Program(ast)
	return program, ast.OutputType(), err
}

// resolve returns the values of the limit's variables; ok is false if the limit does
// not apply.
func (l *limit) resolve(descriptors []map[string]string) (values map[string]string, ok bool, err error) {
	name := any(l.Name)
	if l.Name == "" {
		name = types.NullValue
	}
	input := map[string]any{"descriptors": descriptors, "limit": map[string]any{"name": name, "id": types.NullValue}}
	for i, condition := range l.conditions {
		value, found, err := evaluate(condition, input)
		if err != nil {
			return nil, false, fmt.Errorf("condition %q: %w", l.Conditions[i], err)
		}
		if !found || value != types.True {
			return nil, false, nil
		}
	}
	values = map[string]string{}
	for text, variable := range l.variables {
		value, found, err := evaluate(variable, input)
		if err != nil {
			return nil, false, fmt.Errorf("variable %q: %w", text, err)
		}
		if !found {
			return nil, false, nil
		}
		if values[text], err = scalar(value); err != nil {
			return nil, false, fmt.Errorf("variable %q: %w", text, err)
		}
	}
	return values, true, nil
}

// evaluate tells a key that is missing, which only means that a limit does not
// apply, from every other failure.
func evaluate(program cel.Program, input map[string]any) (value ref.Val, found bool, err error) {
	value, _, err = program.Eval(input)
	if err != nil && strings.HasPrefix(err.Error(), "no such key") {
		return nil, false, nil
	}
	return value, err == nil, err
}

// scalar writes a value as part of a counter.
func scalar(value ref.Val) (string, error) {
	switch v := value.(type) {
	case types.String:
		return string(v), nil
	case types.Int:
		return strconv.FormatInt(int64(v), 10), nil
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10), nil
	case types.Double:
		return strconv.FormatFloat(float64(v), 'f', -1, 64), nil
	case types.Bool:
		return strconv.FormatBool(bool(v)), nil
	case types.Null:
		return "null", nil
	default:
		return "", errors.New("its value is of type " + value.Type().TypeName())
	}
}

func (l *limit) window() time.Duration { return time.Duration(l.Seconds) * time.Second }
