// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import "k8s.io/apimachinery/pkg/types"

// configuration is what is known of the configuration of a tenant's gateway.
type configuration struct {
	gateway types.NamespacedName
	bytes   int
}

// SetConfiguration takes note of the size of the object in which the policy engine keeps
// the configuration of a tenant's gateway; the key is the MaasTenantConfig's. Without
// one the size is zero.
func (m *Metrics) SetConfiguration(key, gateway types.NamespacedName, bytes int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.configurations[key] = configuration{gateway: gateway, bytes: bytes}
}

// ForgetConfiguration is called when a tenant is gone.
func (m *Metrics) ForgetConfiguration(key types.NamespacedName) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.configurations, key)
}

// configurationSamples are the gauges of gateways' configurations; the mutex is held.
// While a gateway changes hands two tenants may name it.
func (m *Metrics) configurationSamples() []sample {
	largest := map[types.NamespacedName]int{}
	for _, c := range m.configurations {
		largest[c.gateway] = max(largest[c.gateway], c.bytes)
	}
	out := make([]sample, 0, len(largest))
	for key, bytes := range largest {
		out = append(out, sample{configurationBytes, []string{key.Namespace, key.Name}, float64(bytes)})
	}
	return out
}
