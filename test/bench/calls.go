// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"time"

	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// Groups of the API that calls are counted in.
const (
	maasGroup     = "maas.opendatahub.io"
	kuadrantGroup = "kuadrant.io"
)

// calls are requests of the operator.
type calls []audit.Event

// callsSince returns what the operator asked for after a mark. Open watches
// and the renewal of its lease are no work and do not count.
func callsSince(log *audit.Log, mark audit.Mark) (calls, error) {
	lease := audit.ByResource("coordination.k8s.io", "leases")
	return log.After(mark, audit.ByUser(testenv.OperatorUser), audit.Not(audit.ByVerb(audit.VerbWatch)), audit.Not(lease))
}

// count is the number of calls that pass all filters.
func (c calls) count(filters ...audit.Filter) float64 {
	return float64(len(c.where(filters...)))
}

func (c calls) where(filters ...audit.Filter) calls {
	var out calls
next:
	for i := range c {
		for _, f := range filters {
			if !f(&c[i]) {
				continue next
			}
		}
		out = append(out, c[i])
	}
	return out
}

// last is when the latest call was finished.
func (c calls) last() time.Time {
	var latest time.Time
	for i := range c {
		if c[i].Finished.After(latest) {
			latest = c[i].Finished
		}
	}
	return latest
}

// millis are how long the server took for each call.
func (c calls) millis() []float64 {
	out := make([]float64, 0, len(c))
	for i := range c {
		out = append(out, float64(c[i].Finished.Sub(c[i].Received))/float64(time.Millisecond))
	}
	return out
}

// The calls that are bounded: what was written. Refused calls stand in a row of
// their own; a dry run costs the server as much as a write.
func limitWrites() audit.Filter {
	return all(audit.IsWrite(), audit.Succeeded(), audit.ByResource(kuadrantGroup, "tokenratelimitpolicies"))
}

func accessWrites() audit.Filter {
	return all(audit.IsWrite(), audit.Succeeded(), audit.ByResource(kuadrantGroup, "authpolicies"))
}

func subscriptionStatusWrites() audit.Filter {
	return all(audit.IsWrite(), audit.Succeeded(), audit.ByResource(maasGroup, "maassubscriptions/status"))
}

func modelStatusWrites() audit.Filter {
	return all(audit.IsWrite(), audit.Succeeded(), audit.ByResource(maasGroup, "maasmodelrefs/status"))
}

func dryRuns() audit.Filter { return audit.Not(audit.Stored()) }

func refused() audit.Filter { return audit.Not(audit.Succeeded()) }

func all(filters ...audit.Filter) audit.Filter {
	return func(e *audit.Event) bool {
		for _, f := range filters {
			if !f(e) {
				return false
			}
		}
		return true
	}
}

// storedWrites are writes that are no dry runs and no Events.
func storedWrites() audit.Filter {
	return all(audit.IsWrite(), audit.Stored(), audit.Not(audit.IsEvent()))
}
