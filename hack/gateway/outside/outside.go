// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outside is a STAND-IN for what Istio makes of the objects that lead a gateway
// out of the cluster: Services of type ExternalName, which stand for a host, ServiceEntries,
// which make the host's ports known, and DestinationRules, which say whether TLS is spoken
// and whom the certificate must be of. It executes these objects and nothing else: a host
// that no ServiceEntry makes known is not reached, and without a DestinationRule there is
// no TLS. What it does not understand of an object is an error.
//
// Of several objects for one host that the gateway sees, the oldest counts.
package outside

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Objects are those of the cluster, of all namespaces.
type Objects struct {
	Services, ServiceEntries, DestinationRules []*unstructured.Unstructured
}

// Way is how a provider is reached.
type Way struct {
	// Host and Port are the provider's.
	Host string
	Port int
	// TLS tells whether it is spoken. ServerName is what is sent as such, and of Names one
	// must be in the certificate; without Names any certificate of a known authority will do.
	TLS        bool
	ServerName string
	Names      []string
}

// Mesh is what a gateway knows of the world outside.
type Mesh struct {
	// aliases are the hosts that Services stand for, by <namespace>/<name>.
	aliases map[string]string
	entries map[string]entry
	rules   map[string]rule
}

// The parts of the objects that are understood.
type (
	metadata struct {
		Namespace string    `json:"namespace"`
		Name      string    `json:"name"`
		Created   time.Time `json:"creationTimestamp"`
	}
	service struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Type         string `json:"type"`
			ExternalName string `json:"externalName"`
		} `json:"spec"`
	}
	entry struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Hosts      []string `json:"hosts"`
			ExportTo   []string `json:"exportTo"`
			Location   string   `json:"location"`
			Resolution string   `json:"resolution"`
			Ports      []struct {
				Number   int    `json:"number"`
				Protocol string `json:"protocol"`
			} `json:"ports"`
		} `json:"spec"`
	}
	rule struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Host          string   `json:"host"`
			ExportTo      []string `json:"exportTo"`
			TrafficPolicy struct {
				TLS               *tlsSettings `json:"tls"`
				PortLevelSettings []struct {
					Port struct {
						Number int `json:"number"`
					} `json:"port"`
					TLS *tlsSettings `json:"tls"`
				} `json:"portLevelSettings"`
			} `json:"trafficPolicy"`
		} `json:"spec"`
	}
	tlsSettings struct {
		Mode            string   `json:"mode"`
		SNI             string   `json:"sni"`
		SubjectAltNames []string `json:"subjectAltNames"`
	}
)

// Compile makes of all objects what a gateway of a namespace knows.
func Compile(all Objects, namespace string) (*Mesh, error) {
	m := &Mesh{aliases: map[string]string{}, entries: map[string]entry{}, rules: map[string]rule{}}
	services, err := decode[service](all.Services)
	if err != nil {
		return nil, err
	}
	for _, s := range services {
		if s.Spec.Type == "ExternalName" {
			m.aliases[s.Metadata.Namespace+"/"+s.Metadata.Name] = s.Spec.ExternalName
		}
	}
	entries, err := decode[entry](all.ServiceEntries)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b entry) int { return older(a.Metadata, b.Metadata) })
	for _, e := range entries {
		for _, host := range e.Spec.Hosts {
			if _, known := m.entries[host]; !known && visible(e.Spec.ExportTo, e.Metadata.Namespace, namespace) {
				m.entries[host] = e
			}
		}
	}
	rules, err := decode[rule](all.DestinationRules)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rules, func(a, b rule) int { return older(a.Metadata, b.Metadata) })
	for _, r := range rules {
		if _, known := m.rules[r.Spec.Host]; !known && visible(r.Spec.ExportTo, r.Metadata.Namespace, namespace) {
			m.rules[r.Spec.Host] = r
		}
	}
	return m, nil
}

// Find tells how what a Service, <namespace>/<name>, stands for is reached at a port. It
// returns false for a Service that stands for nothing outside.
func (m *Mesh) Find(service string, port int) (way Way, outside bool, err error) {
	host, outside := m.aliases[service]
	if !outside {
		return Way{}, false, nil
	}
	e, known := m.entries[host]
	switch {
	case !known:
		return Way{}, true, fmt.Errorf("no ServiceEntry that the gateway sees makes host %s known", host)
	case e.Spec.Location != "MESH_EXTERNAL" || e.Spec.Resolution != "DNS":
		return Way{}, true, fmt.Errorf("ServiceEntry %s/%s: location %q and resolution %q are unknown to the stand-in", e.Metadata.Namespace, e.Metadata.Name, e.Spec.Location, e.Spec.Resolution)
	}
	way = Way{Host: host, Port: port}
	found := false
	for _, p := range e.Spec.Ports {
		found = found || p.Number == port
	}
	if !found {
		return Way{}, true, fmt.Errorf("ServiceEntry %s/%s has no port %d of host %s", e.Metadata.Namespace, e.Metadata.Name, port, host)
	}
	err = m.rules[host].secure(&way)
	return way, true, err
}

// secure says what the rule of the host says about TLS at the port.
func (r rule) secure(way *Way) error {
	settings := r.Spec.TrafficPolicy.TLS
	for _, at := range r.Spec.TrafficPolicy.PortLevelSettings {
		if at.Port.Number == way.Port {
			settings = at.TLS
		}
	}
	switch {
	case settings == nil || settings.Mode == "DISABLE":
		return nil
	case settings.Mode != "SIMPLE":
		return fmt.Errorf("DestinationRule %s/%s: TLS mode %q is unknown to the stand-in", r.Metadata.Namespace, r.Metadata.Name, settings.Mode)
	}
	way.TLS, way.ServerName, way.Names = true, settings.SNI, settings.SubjectAltNames
	return nil
}

// visible tells whether a gateway sees an object that is exported.
func visible(exportTo []string, of, gateway string) bool {
	return len(exportTo) == 0 || slices.Contains(exportTo, "*") || slices.Contains(exportTo, gateway) || slices.Contains(exportTo, ".") && of == gateway
}

func older(a, b metadata) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
}

func decode[T any](objects []*unstructured.Unstructured) ([]T, error) {
	out := make([]T, len(objects))
	for i, object := range objects {
		text, err := object.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &out[i])
		}
		if err != nil {
			return nil, fmt.Errorf("read %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
	}
	return out, nil
}
