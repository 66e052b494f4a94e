// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import "testing"

func TestConfigurationsAreThoseOfGatewaysOfTenants(t *testing.T) {
	t.Parallel()
	const family = "maas_gateway_configuration_bytes"
	f := newFixture(t)
	red, blue := key("ai-tenant-red", "default-tenant"), key("ai-tenant-blue", "default-tenant")
	f.SetConfiguration(red, key("gateways", "red"), 1000)
	f.SetConfiguration(blue, key("gateways", "blue"), 2000)
	f.SetConfiguration(red, key("gateways", "scarlet"), 3000)
	f.want(t, `
		maas_gateway_configuration_bytes{gateway_name="blue",gateway_namespace="gateways"} 2000
		maas_gateway_configuration_bytes{gateway_name="scarlet",gateway_namespace="gateways"} 3000
	`, family)
	f.SetConfiguration(blue, key("gateways", "scarlet"), 10)
	f.want(t, `maas_gateway_configuration_bytes{gateway_name="scarlet",gateway_namespace="gateways"} 3000`, family)
	f.ForgetConfiguration(red)
	f.want(t, `maas_gateway_configuration_bytes{gateway_name="scarlet",gateway_namespace="gateways"} 10`, family)
}
