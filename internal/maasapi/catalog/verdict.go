// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"time"
)

// outcome is what asking a model came to.
type outcome string

const (
	// outcomeAdmitted: the model let the caller in, or needs no asking.
	outcomeAdmitted outcome = "admitted"
	// outcomeRefused: the model, or the gateway before it, turned the caller away.
	outcomeRefused outcome = "refused"
	// outcomeFailed: a server error, again and again.
	outcomeFailed outcome = "failed"
	// outcomeTimeout: no answer within the time of one try.
	outcomeTimeout outcome = "timeout"
	// outcomeUnreachable: no connection, or one that broke.
	outcomeUnreachable outcome = "unreachable"
	// outcomeUntrusted: the certificate is not the one of the URL's host.
	outcomeUntrusted outcome = "untrusted"
	// outcomeOpen: the destination has failed so often that it is left in peace.
	outcomeOpen outcome = "breaker_open"
	// outcomeNoGateway: nobody knows where the gateway is.
	outcomeNoGateway outcome = "no_gateway"
	// outcomeCancelled: the time of the listing was up, or nobody waits for it.
	outcomeCancelled outcome = "cancelled"
)

func outcomes() []outcome {
	return []outcome{
		outcomeAdmitted, outcomeRefused, outcomeFailed, outcomeTimeout, outcomeUnreachable, outcomeUntrusted,
		outcomeOpen, outcomeNoGateway, outcomeCancelled,
	}
}

// final tells whether the model was asked to the end, so that the verdict may be
// remembered.
func (o outcome) final() bool {
	return o != outcomeOpen && o != outcomeNoGateway && o != outcomeCancelled
}

// certain tells whether it is known if the caller may use the model.
func (o outcome) certain() bool { return o == outcomeAdmitted || o == outcomeRefused }

// verdict is an outcome and when it was found.
type verdict struct {
	outcome outcome
	at      time.Time
}

func (v verdict) admitted() bool { return v.outcome == outcomeAdmitted }
