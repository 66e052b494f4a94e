// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The configuration that kuadrant-operator generates for its filter. A field that is
// not listed here is an error.
type (
	configuration struct {
		RequestData       map[string]string  `json:"requestData"`
		Services          map[string]service `json:"services"`
		ActionSets        []actionSetConfig  `json:"actionSets"`
		Observability     json.RawMessage    `json:"observability"`     // It decides nothing.
		DescriptorService string             `json:"descriptorService"` // For services of extensions, which are refused.
	}
	service struct {
		Endpoint    string  `json:"endpoint"`
		Type        string  `json:"type"`
		FailureMode string  `json:"failureMode"`
		Timeout     timeout `json:"timeout"`
		GRPCService string  `json:"grpcService"`
		GRPCMethod  string  `json:"grpcMethod"`
	}
	actionSetConfig struct {
		Name                string `json:"name"`
		RouteRuleConditions struct {
			Hostnames  []string `json:"hostnames"`
			Predicates []string `json:"predicates"`
		} `json:"routeRuleConditions"`
		Actions []actionConfig `json:"actions"`
	}
	actionConfig struct {
		Service         string            `json:"service"`
		Scope           string            `json:"scope"`
		Predicates      []string          `json:"predicates"`
		ConditionalData []conditionalData `json:"conditionalData"`
		Sources         []string          `json:"sources"`
	}
	conditionalData struct {
		Predicates []string   `json:"predicates"`
		Data       []dataItem `json:"data"`
	}
	dataItem struct {
		Static     *keyValue `json:"static"`
		Expression *keyValue `json:"expression"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
)

// The types of services that the stand-in can play. Others may be listed, but not
// used by an action.
const (
	typeAuth   = "auth"
	typeCheck  = "ratelimit-check"
	typeReport = "ratelimit-report"

	failureDeny  = "deny"
	failureAllow = "allow"
)

// defaultTimeout is what the filter takes when a service names none.
const defaultTimeout = 20 * time.Millisecond

// timeout is a duration in the notation of the configuration, which is Go's.
type timeout time.Duration

// UnmarshalJSON reads a text like 200ms.
func (t *timeout) UnmarshalJSON(text []byte) error {
	var word string
	if err := json.Unmarshal(text, &word); err != nil {
		return err
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return err
	}
	*t = timeout(d)
	return nil
}

// UnmarshalJSON also says what kind of action it is that is not known: those of
// extensions carry a type.
func (a *actionConfig) UnmarshalJSON(text []byte) error {
	var probe struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &probe); err != nil {
		return err
	}
	if probe.Type != "" {
		return fmt.Errorf("an action of type %q is not known", probe.Type)
	}
	type plain actionConfig
	return strictly(text, (*plain)(a))
}

// strictly decodes one JSON value into fields that are known.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return nil
}

// parse reads the text of the configuration.
func parse(text []byte) (*configuration, error) {
	var c configuration
	if err := strictly(text, &c); err != nil {
		return nil, err
	}
	for name, s := range c.Services {
		if s.FailureMode != failureDeny && s.FailureMode != failureAllow {
			return nil, fmt.Errorf("service %q has failure mode %q", name, s.FailureMode)
		}
	}
	return &c, nil
}
