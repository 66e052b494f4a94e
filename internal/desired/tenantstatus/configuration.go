// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantstatus

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// MaxConfiguration is the size of the largest object that a cluster stores, in bytes:
// what etcd takes in one request unless it is told otherwise.
const MaxConfiguration = 1536 << 10

// Configuration is the object in which Kuadrant keeps what the proxies of a Gateway do
// for all its routes.
type Configuration struct {
	// Object is its kind and name, for people.
	Object string
	// Bytes is its size, as stored.
	Bytes int
}

// Warning is given from half of what can be stored on. It names tenths, so that it stays
// the same for a while.
func (c Configuration) Warning() (Warning, bool) {
	if c.Bytes*2 < MaxConfiguration {
		return Warning{}, false
	}
	percent := min(c.Bytes*10/MaxConfiguration, 10) * 10
	return Warning{v1alpha1.ReasonGatewayConfigurationLarge, fmt.Sprintf(
		"%s, which Kuadrant generates for the Gateway, has reached %d percent of the 1.5 MiB that a cluster stores of one object. Beyond that Kuadrant cannot change it any more, and still calls policies enforced: new models would be open to everybody, and changed limits would limit nobody. Have tenants with Gateways of their own serve some of the models, or withdraw models that are not needed.",
		c.Object, percent)}, true
}
