// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// eagerPeriod is how often a probe is asked that is not content yet, and
	// maxPeriod how often at least one that says whether a container is ready.
	eagerPeriod = 100 * time.Millisecond
	maxPeriod   = time.Second
	// minTimeout is for a machine that is busy with much else.
	minTimeout = 5 * time.Second

	defaultPeriod   = 10
	defaultFailures = 3
)

// probe is a probe of a container that runs.
type probe struct {
	spec *corev1.Probe
	// content is its verdict. That of a liveness probe is so at first.
	content bool
	// failed says that a container has to end because of it.
	failed bool

	due                 time.Time
	successes, failures int32
}

// newProbe returns the state of a probe at the start of a container; nil if there is
// none.
func newProbe(spec *corev1.Probe, content bool) *probe {
	if spec == nil {
		return nil
	}
	p := &probe{spec: spec, content: content}
	if content { // A kubelet waits before any probe; those who wait for readiness need not.
		p.due = time.Now().Add(seconds(spec.InitialDelaySeconds))
	}
	return p
}

// period is the pause to the next question.
func (p *probe) period(eager bool) time.Duration {
	declared := seconds(cmp.Or(p.spec.PeriodSeconds, defaultPeriod))
	switch {
	case !eager:
		return declared
	case p.content:
		return min(declared, maxPeriod)
	default:
		return min(declared, eagerPeriod)
	}
}

// ask asks if that is due, and says when it is next.
func (p *probe) ask(ctx context.Context, c *corev1.Container, ports map[int32]string, eager bool) (next time.Duration, why error) {
	if wait := time.Until(p.due); wait > 0 {
		return wait, nil
	}
	ctx, cancel := context.WithTimeout(ctx, max(seconds(p.spec.TimeoutSeconds), minTimeout))
	defer cancel()
	why = handle(ctx, &p.spec.ProbeHandler, c, ports)
	if why == nil {
		p.successes, p.failures = p.successes+1, 0
		p.content = p.content || p.successes >= max(p.spec.SuccessThreshold, 1)
	} else {
		p.successes, p.failures = 0, p.failures+1
		if p.failures >= cmp.Or(p.spec.FailureThreshold, defaultFailures) {
			p.content, p.failed = false, true
		}
	}
	next = p.period(eager)
	p.due = time.Now().Add(next)
	return next, why
}

// handle asks once.
func handle(ctx context.Context, h *corev1.ProbeHandler, c *corev1.Container, ports map[int32]string) error {
	switch {
	case h.HTTPGet != nil:
		return get(ctx, h.HTTPGet, c, ports)
	case h.TCPSocket != nil:
		address, err := portHere(h.TCPSocket.Port, c, ports)
		if err != nil {
			return err
		}
		connection, err := new(net.Dialer).DialContext(ctx, "tcp4", address)
		if err != nil {
			return err
		}
		return connection.Close()
	default:
		return fmt.Errorf("its kind is not understood here")
	}
}

func get(ctx context.Context, h *corev1.HTTPGetAction, c *corev1.Container, ports map[int32]string) error {
	address, err := portHere(h.Port, c, ports)
	if err != nil {
		return err
	}
	scheme := "http"
	if h.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	path := h.Path
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+path, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/workload")
	for _, header := range h.HTTPHeaders {
		request.Header.Add(header.Name, header.Value)
		if http.CanonicalHeaderKey(header.Name) == "Host" {
			request.Host = header.Value
		}
	}
	// As a kubelet: certificates are not looked at.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // It was only read.
	const enough = 10 << 10
	_, _ = io.CopyN(io.Discard, response.Body, enough)
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", response.StatusCode)
	}
	return nil
}

// portHere is the address here of a port in the Pod, which may be the name of a port
// that the container declares.
func portHere(port intstr.IntOrString, c *corev1.Container, ports map[int32]string) (string, error) {
	number := port.IntVal
	if port.Type == intstr.String {
		for i := range c.Ports {
			if c.Ports[i].Name == port.StrVal {
				number = c.Ports[i].ContainerPort
			}
		}
		if number == 0 {
			return "", fmt.Errorf("couldn't find port: %s", port.StrVal)
		}
	}
	if address := ports[number]; address != "" {
		return address, nil
	}
	return "", fmt.Errorf("connect to port %d: connection refused", number)
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
