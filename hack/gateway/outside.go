// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/opendatahub-io/maas-operator/hack/gateway/outside"
)

// What leads out of a cluster.
var (
	serviceResource = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	entryResource   = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "serviceentries"}
	ruleResource    = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "destinationrules"}
)

// dialTimeout bounds a connection and its handshake.
const dialTimeout = 10 * time.Second

// placesFlag collects --outside: where hosts outside of the cluster really are. It takes
// the place of the resolver.
type placesFlag map[string]string

// String lists the hosts that are known.
func (f placesFlag) String() string { return strings.Join(slices.Sorted(maps.Keys(f)), ", ") }

// Set adds <host>:<port>=<address>.
func (f *placesFlag) Set(text string) error {
	name, address, found := strings.Cut(text, "=")
	if _, _, err := net.SplitHostPort(name); !found || err != nil {
		return fmt.Errorf("write <host>:<port>=127.0.0.1:<port>, not %q", text)
	}
	if err := onlyLoopback("the place of a host", address); err != nil {
		return err
	}
	if *f == nil {
		*f = placesFlag{}
	}
	(*f)[name] = address
	return nil
}

// exits lead to hosts outside of the cluster, as the objects of Istio say.
type exits struct {
	places placesFlag
	// authorities are those that the gateway trusts without being told; nil for the
	// system's.
	authorities *x509.CertPool
	present     atomic.Pointer[outside.Mesh]
	log         *slog.Logger
}

// watch keeps what leads out like the objects of the API server.
func (e *exits) watch(ctx context.Context, client dynamic.Interface, namespace string) error {
	informers := map[string]cache.SharedIndexInformer{}
	for _, resource := range []schema.GroupVersionResource{serviceResource, entryResource, ruleResource} {
		informers[nameOf(resource)] = dynamicinformer.NewFilteredDynamicInformer(client, resource, "", 0, cache.Indexers{}, nil).Informer()
	}
	of := func(resource schema.GroupVersionResource) (all []*unstructured.Unstructured) {
		for _, found := range informers[nameOf(resource)].GetStore().List() {
			if object, ok := found.(*unstructured.Unstructured); ok {
				all = append(all, object)
			}
		}
		return all
	}
	return follow(ctx, func() {
		mesh, err := outside.Compile(outside.Objects{Services: of(serviceResource), ServiceEntries: of(entryResource), DestinationRules: of(ruleResource)}, namespace)
		if err != nil {
			e.log.Error("What leads out of the cluster cannot be read", "error", err)
			return
		}
		e.present.Store(mesh)
	}, informers)
}

// find tells how a backend of a route, <namespace>/<name>:<port>, is reached when it
// stands for a host outside; nil when it does not.
func (e *exits) find(backend string) (*outside.Way, error) {
	if e == nil {
		return nil, nil //nolint:nilnil // Documented: it does not.
	}
	service, text, _ := strings.Cut(backend, ":")
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("backend %s has no port", backend)
	}
	mesh := e.present.Load()
	if mesh == nil {
		return nil, errors.New("nothing that leads out of the cluster could be read: the log says why")
	}
	way, out, err := mesh.Find(service, port)
	if err != nil || !out {
		return nil, err
	}
	return &way, nil
}

// transport connects the way that the objects say, and to nobody else.
func (e *exits) transport(way *outside.Way) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		name := net.JoinHostPort(way.Host, strconv.Itoa(way.Port))
		address := e.places[name]
		if address == "" {
			return nil, fmt.Errorf("the stand-in does not know where %s is: name it with --outside", name)
		}
		connection, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
		if err != nil || !way.TLS {
			return connection, err
		}
		secure := tls.Client(connection, e.settings(way))
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("speak TLS with %s: %w", name, err), connection.Close())
		}
		return secure, nil
	}}
}

// settings verify as a proxy does: the certificate is of a known authority, and has one
// of the names, if any are asked for. The name that is sent need not be one of them.
func (e *exits) settings(way *outside.Way) *tls.Config {
	return &tls.Config{
		ServerName: way.ServerName, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection does it.
		VerifyConnection: func(state tls.ConnectionState) error {
			intermediates := x509.NewCertPool()
			for _, certificate := range state.PeerCertificates[1:] {
				intermediates.AddCert(certificate)
			}
			leaf := state.PeerCertificates[0]
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: e.authorities, Intermediates: intermediates}); err != nil {
				return err
			}
			if len(way.Names) > 0 && !slices.ContainsFunc(way.Names, func(name string) bool { return leaf.VerifyHostname(name) == nil }) {
				return fmt.Errorf("the certificate is of none of %v", way.Names)
			}
			return nil
		},
	}
}
