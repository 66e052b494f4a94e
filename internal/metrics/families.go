// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Type is the type of a metric family.
type Type string

// Types of metric families.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Family describes the metrics of one name, for the program and its
// documentation alike.
type Family struct {
	Name   string
	Type   Type
	Labels []string
	// Help is one line, a full sentence.
	Help string
}

// Names of the families.
const (
	reconcileTotal     = "maas_reconcile_total"
	applyTotal         = "maas_apply_total"
	applyRequestsTotal = "maas_apply_requests_total"
	driftRepairsTotal  = "maas_drift_repairs_total"
	enforcementDelay   = "maas_enforcement_delay_seconds"
	refusedEntries     = "maas_refused_entries"

	generatedObjects      = "maas_generated_objects"
	generatedBytes        = "maas_generated_bytes"
	generatedLargestBytes = "maas_generated_largest_bytes"
	limitSets             = "maas_limit_sets"
	limitSetMembers       = "maas_limit_set_members"
	limitSetLargest       = "maas_limit_set_largest_members"
	predicateLargest      = "maas_limit_predicate_largest_characters"
	subjectsLargest       = "maas_auth_policy_largest_subjects"
	gatewayPolicies       = "maas_gateway_policies"
	gatewayLimits         = "maas_gateway_limits"
	gatewayBytes          = "maas_gateway_policy_bytes"
	configurationBytes    = "maas_gateway_configuration_bytes"
)

// Names of the labels.
const (
	labelController       = "controller"
	labelKind             = "kind"
	labelOutcome          = "outcome"
	labelOperation        = "operation"
	labelRequest          = "request"
	labelReason           = "reason"
	labelGatewayNamespace = "gateway_namespace"
	labelGatewayName      = "gateway_name"
)

// Families lists every metric of this package, in the order of the
// documentation.
func Families() []Family {
	kind := []string{labelKind}
	gateway := []string{labelGatewayNamespace, labelGatewayName}
	return []Family{
		{reconcileTotal, Counter, []string{labelController, labelKind, labelOutcome}, "Reconciles that ended, by what they came to."},
		{applyTotal, Counter, []string{labelKind, labelOperation, labelOutcome}, "Generated objects brought to their desired state or deleted, by what that took."},
		{applyRequestsTotal, Counter, []string{labelKind, labelRequest}, "Requests sent to the API server to apply or delete generated objects."},
		{driftRepairsTotal, Counter, kind, "Generated objects written again because somebody else had changed or deleted them."},
		{enforcementDelay, Histogram, kind, "Time from a change of an object until the gateway enforces it, once per generation."},
		{refusedEntries, Gauge, []string{labelKind, labelReason}, "Models named by objects of this kind for which the object has no effect and callers are refused until somebody acts."},
		{generatedObjects, Gauge, kind, "Generated objects that exist and are managed."},
		{generatedBytes, Gauge, kind, "Size of all generated objects together, as sent to the API server."},
		{generatedLargestBytes, Gauge, kind, "Size of the largest generated object, as sent to the API server."},
		{limitSets, Gauge, nil, "Limits in all generated policies, each for the subscriptions of a model that share their rates."},
		{limitSetMembers, Gauge, nil, "Members of all limits together; a subscription counts once per model."},
		{limitSetLargest, Gauge, nil, "Members of the limit that has the most."},
		{predicateLargest, Gauge, nil, "Length of the longest predicate of a limit; the newest members of a limit are left out when it would exceed 50000."},
		{subjectsLargest, Gauge, nil, "Distinct users and groups of the model that has the most; above 256 the model's policy no longer holds them."},
		{gatewayPolicies, Gauge, gateway, "Generated policies on the routes of a gateway, for which its policy engine computes one configuration."},
		{gatewayLimits, Gauge, gateway, "Limits on the routes of a gateway, without those of 0 for requests of nobody."},
		{gatewayBytes, Gauge, gateway, "Size of the generated policies on the routes of a gateway, as sent to the API server."},
		{configurationBytes, Gauge, gateway, "Size of the object in which the policy engine keeps the configuration of a gateway, as last read; a cluster stores 1572864 bytes of it at most."},
	}
}

// families are [Families] by name.
func families() map[string]Family {
	out := map[string]Family{}
	for _, f := range Families() {
		out[f.Name] = f
	}
	return out
}

func (f Family) counter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, f.Labels)
}

func (f Family) histogram(buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.Name, Help: f.Help, Buckets: buckets}, f.Labels)
}

func (f Family) desc() *prometheus.Desc {
	return prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
}
