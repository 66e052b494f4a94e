// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantstatus

import (
	"fmt"
	"time"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// MaxConfiguration is the size of the largest object that a cluster stores, in bytes:
// what etcd takes in one request unless it is told otherwise.
const MaxConfiguration = 1536 << 10

// hasty is a time in which Authorino, which asks maas-api, does not always have an
// answer: what Kuadrant gives it unless it is told otherwise.
const hasty = 200 * time.Millisecond

// Configuration is the object in which Kuadrant keeps what the proxies of a Gateway do
// for all its routes.
type Configuration struct {
	// Object is its kind and name, for people.
	Object string
	// Bytes is its size, as stored; 0 when it does not exist.
	Bytes int
	// Missing is a model, as "<namespace>/<name>", that it lacks although Kuadrant calls
	// the model's policies enforced; empty when there is none.
	Missing string
	// Services are how the proxies ask for a decision; nil when it does not say.
	Services map[string]kuadrant.Service
}

const configurationRemedy = "Have tenants with Gateways of their own serve some of the models, or withdraw models that are not needed."

// Warnings are given from half of what can be stored on, and when something is not in
// it. They name tenths, so that they stay the same for a while.
func (c Configuration) Warnings() []Warning {
	var out []Warning
	switch {
	case c.Missing == "":
	case c.Bytes == 0:
		out = append(out, Warning{v1alpha1.ReasonGatewayConfigurationIncomplete, fmt.Sprintf(
			"%s, which Kuadrant generates for the Gateway, does not exist, although Kuadrant calls the policies of models enforced, for instance of %s: they are open to everybody. Have Kuadrant make it anew; its log says why it did not.",
			c.Object, c.Missing)})
	default:
		out = append(out, Warning{v1alpha1.ReasonGatewayConfigurationIncomplete, fmt.Sprintf(
			"%s, which Kuadrant generates for the Gateway, lacks models whose policies Kuadrant calls enforced, for instance %s: they are open to everybody. As a rule it has become too large to be stored, and the log of Kuadrant says so. %s",
			c.Object, c.Missing, configurationRemedy)})
	}
	if c.Bytes*2 >= MaxConfiguration {
		out = append(out, Warning{v1alpha1.ReasonGatewayConfigurationLarge, fmt.Sprintf(
			"%s, which Kuadrant generates for the Gateway, has reached %d percent of the 1.5 MiB that a cluster stores of one object. Beyond that Kuadrant cannot change it any more, and still calls policies enforced: new models would be open to everybody, and changed limits would limit nobody. %s",
			c.Object, min(c.Bytes*10/MaxConfiguration, 10)*10, configurationRemedy)})
	}
	return append(out, c.unsafe()...)
}

// unsafe are warnings about settings of Kuadrant's operator for the time in which
// something that the proxies ask does not answer.
func (c Configuration) unsafe() []Warning {
	var out []Warning
	warn := func(format string) {
		out = append(out, Warning{v1alpha1.ReasonGatewayConfigurationUnsafe, fmt.Sprintf(format, c.Object)})
	}
	auth, asksAuth := c.Services[kuadrant.AuthService]
	if asksAuth && auth.FailureMode != kuadrant.FailureDeny {
		warn("%s, which Kuadrant generates for the Gateway, lets everybody pass while Authorino does not answer. Set AUTH_SERVICE_FAILURE_MODE=deny in Kuadrant's operator.")
	}
	if auth.Timeout > 0 && auth.Timeout <= hasty {
		warn("%s, which Kuadrant generates for the Gateway, gives Authorino no more than 200 ms to answer: under load requests fail with 500. Set AUTH_SERVICE_TIMEOUT in Kuadrant's operator, for instance to 5s.")
	}
	if limit, asks := c.Services[kuadrant.LimitService]; asks && limit.FailureMode != kuadrant.FailureDeny {
		warn("%s, which Kuadrant generates for the Gateway, lets requests pass uncounted while Limitador does not answer. Set RATELIMIT_CHECK_SERVICE_FAILURE_MODE=deny in Kuadrant's operator.")
	}
	return out
}
