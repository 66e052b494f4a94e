// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Names of services that the filter of a gateway asks.
// Source: kuadrant-operator 1.5, internal/wasm/utils.go.
const (
	// AuthService says who may pass.
	AuthService = "auth-service"
	// LimitService says whether a limit of tokens is used up.
	LimitService = "ratelimit-check-service"
)

// FailureDeny is the failure mode of a service without whose answer no request passes.
const FailureDeny = "deny"

// Service is how the filter of a gateway asks a service.
type Service struct {
	// FailureMode is what becomes of a request that the service does not answer.
	FailureMode string
	// Timeout is how long it may take; 0 when the configuration does not say it in a way
	// that is known.
	Timeout time.Duration
}

// Services are those that a configuration of a gateway names, in whatever text of JSON it
// is stored: an EnvoyFilter holds it as a text inside of the object, a WasmPlugin as a
// part of it. Nil when it names none.
func Services(stored string) map[string]Service {
	if !strings.Contains(stored, failureMode) {
		return nil
	}
	var object any
	if err := json.Unmarshal([]byte(stored), &object); err != nil {
		return nil
	}
	return servicesIn(object)
}

// failureMode is a field that every service has, and nothing else.
const failureMode = "failureMode"

// servicesIn looks for them in a part of an object.
func servicesIn(part any) map[string]Service {
	switch part := part.(type) {
	case string:
		return Services(part)
	case []any:
		for _, item := range part {
			if found := servicesIn(item); found != nil {
				return found
			}
		}
	case map[string]any:
		if found := servicesOf(part["services"]); found != nil {
			return found
		}
		for _, name := range slices.Sorted(maps.Keys(part)) {
			if found := servicesIn(part[name]); found != nil {
				return found
			}
		}
	}
	return nil
}

// servicesOf reads what may be the services; nil when it is something else.
func servicesOf(field any) map[string]Service {
	named, ok := field.(map[string]any)
	if !ok {
		return nil
	}
	var found map[string]Service
	for name, value := range named {
		service, _ := value.(map[string]any)
		mode, ok := service[failureMode].(string)
		if !ok {
			continue
		}
		if found == nil {
			found = map[string]Service{}
		}
		text, _ := service["timeout"].(string)
		timeout, err := time.ParseDuration(text)
		if err != nil {
			timeout = 0
		}
		found[name] = Service{FailureMode: mode, Timeout: timeout}
	}
	return found
}
