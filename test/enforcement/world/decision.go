// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import "time"

// What became of a request in the gateway, as a [Decision] tells.
const (
	// Passed requests went on to their backend.
	Passed = "passed"
	// Unmatched requests went on because no generated configuration is for them,
	// Unconfigured ones because there is none at all.
	Unmatched    = "unmatched"
	Unconfigured = "unconfigured"
	// Denied requests were refused by Authorino, Limited ones by a limit.
	Denied  = "denied"
	Limited = "limited"
	// Failed requests were refused because something failed that must not.
	Failed = "failed"
)

// Decision is what the gateway did with a request.
type Decision struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"time"`
	Path      string    `json:"path"`
	ActionSet string    `json:"actionSet"`
	Outcome   string    `json:"outcome"`
	Status    int       `json:"status"`
	Error     string    `json:"error"`
	Steps     []Step    `json:"steps"`
	// Reply tells how a reply ended that was waited for: "complete", "aborted", "empty".
	Reply string `json:"reply"`
}

// Step is one action of the generated configuration.
type Step struct {
	// Service is the name of who was asked, Type what kind: "auth",
	// "ratelimit-check" or "ratelimit-report".
	Service string `json:"service"`
	Type    string `json:"type"`
	Scope   string `json:"scope"`
	// Sources are the policies that the action was generated for.
	Sources []string `json:"sources"`
	// Result is "skipped", "allowed", "denied", "within", "over", "reported" or "failed".
	Result string `json:"result"`
	Error  string `json:"error"`
	Status int    `json:"status"`
	// Headers are the names of those that Authorino had set for the upstream.
	Headers []string `json:"headers"`
	// Metadata is what Authorino made known of the caller, for limits and telemetry.
	Metadata map[string]any `json:"metadata"`
	// Descriptors and Hits are what the limiter was asked, Limits what came of it.
	Descriptors []map[string]string `json:"descriptors"`
	Hits        uint64              `json:"hits"`
	Limits      []Use               `json:"limits"`
}

// Use is the state of a counter: before a check, after a report.
type Use struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Max       uint64            `json:"max"`
	Seconds   int               `json:"seconds"`
	Variables map[string]string `json:"variables"`
	Value     uint64            `json:"value"`
	Over      bool              `json:"over"`
	Ends      *time.Time        `json:"ends"`
}

// StepsOf are the actions of a type.
func (d *Decision) StepsOf(kind string) []Step {
	var found []Step
	if d != nil {
		for _, s := range d.Steps {
			if s.Type == kind {
				found = append(found, s)
			}
		}
	}
	return found
}

// Metadata is all that Authorino made known of the caller.
func (d *Decision) Metadata() map[string]any {
	for _, s := range d.StepsOf("auth") {
		if s.Metadata != nil {
			return s.Metadata
		}
	}
	return nil
}

// Identity is what limits and telemetry know of the caller as auth.identity.
func (d *Decision) Identity() map[string]any {
	identity, _ := d.Metadata()["identity"].(map[string]any)
	return identity
}
