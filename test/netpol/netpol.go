// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netpol tells which connections NetworkPolicies allow, as a network plugin
// that implements them would. No plugin runs in the tests, so that policies can only
// be judged by what they say. It knows nothing of the objects of this project, and
// not of named ports, which it refuses.
package netpol

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// End is one end of a connection: a Pod, or something outside the cluster when it has
// no namespace.
type End struct {
	Namespace string
	Labels    map[string]string
	// Address matters to rules with address ranges only.
	Address netip.Addr
}

// Port is what a connection leads to.
type Port struct {
	Protocol corev1.Protocol
	Number   int32
}

// TCP and UDP are ports of these protocols.
func TCP(number int32) Port { return Port{Protocol: corev1.ProtocolTCP, Number: number} }

// UDP is explained at [TCP].
func UDP(number int32) Port { return Port{Protocol: corev1.ProtocolUDP, Number: number} }

// Cluster holds what decides about connections.
type Cluster struct {
	Policies []networkingv1.NetworkPolicy
	// Namespaces are labels of namespaces beside kubernetes.io/metadata.name, which
	// every namespace has.
	Namespaces map[string]map[string]string
}

// Allowed tells whether a connection is let out at one end and in at the other.
func (c Cluster) Allowed(from, to End, port Port) (bool, error) {
	out, err := c.side(from, to, port, networkingv1.PolicyTypeEgress)
	if err != nil || !out {
		return false, err
	}
	return c.side(to, from, port, networkingv1.PolicyTypeIngress)
}

// rule is an ingress or an egress rule.
type rule struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// side tells what the policies for one end say. An end without policies of the
// direction is open; otherwise one rule of one policy must match.
func (c Cluster) side(self, peer End, port Port, direction networkingv1.PolicyType) (bool, error) {
	if self.Namespace == "" {
		return true, nil
	}
	open := true
	for i := range c.Policies {
		policy := &c.Policies[i]
		selected, err := matches(&policy.Spec.PodSelector, self.Labels)
		if err != nil {
			return false, fmt.Errorf("read policy %s: %w", policy.Name, err)
		}
		if !selected || policy.Namespace != self.Namespace || !slices.Contains(directions(policy), direction) {
			continue
		}
		open = false
		for _, r := range rules(policy, direction) {
			allowed, err := c.ruleAllows(policy.Namespace, r, peer, port)
			if err != nil {
				return false, fmt.Errorf("read policy %s: %w", policy.Name, err)
			}
			if allowed {
				return true, nil
			}
		}
	}
	return open, nil
}

// directions are those a policy is about; the server fills them in like this.
func directions(policy *networkingv1.NetworkPolicy) []networkingv1.PolicyType {
	switch {
	case len(policy.Spec.PolicyTypes) > 0:
		return policy.Spec.PolicyTypes
	case len(policy.Spec.Egress) > 0:
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	default:
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	}
}

func rules(policy *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) []rule {
	var out []rule
	if direction == networkingv1.PolicyTypeEgress {
		for _, r := range policy.Spec.Egress {
			out = append(out, rule{peers: r.To, ports: r.Ports})
		}
		return out
	}
	for _, r := range policy.Spec.Ingress {
		out = append(out, rule{peers: r.From, ports: r.Ports})
	}
	return out
}

func (c Cluster) ruleAllows(namespace string, r rule, peer End, port Port) (bool, error) {
	open, err := portAllowed(r.ports, port)
	if err != nil || !open {
		return false, err
	}
	for i := range r.peers {
		is, err := c.peerIs(namespace, &r.peers[i], peer)
		if err != nil || is {
			return is, err
		}
	}
	return len(r.peers) == 0, nil
}

func portAllowed(ports []networkingv1.NetworkPolicyPort, port Port) (bool, error) {
	for _, p := range ports {
		if p.Port != nil && p.Port.Type == intstr.String {
			return false, fmt.Errorf("port %s has a name; only numbers are understood", p.Port.StrVal)
		}
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		if protocol != port.Protocol {
			continue
		}
		if p.Port == nil {
			return true, nil
		}
		first := p.Port.IntVal
		last := first
		if p.EndPort != nil {
			last = *p.EndPort
		}
		if first <= port.Number && port.Number <= last {
			return true, nil
		}
	}
	return len(ports) == 0, nil
}

// peerIs tells whether an end is a peer of a policy in the namespace.
func (c Cluster) peerIs(namespace string, p *networkingv1.NetworkPolicyPeer, end End) (bool, error) {
	if p.IPBlock != nil {
		return inBlock(p.IPBlock, end.Address)
	}
	if p.NamespaceSelector == nil && p.PodSelector == nil {
		return false, errors.New("a peer says nothing")
	}
	if end.Namespace == "" {
		return false, nil
	}
	if p.NamespaceSelector == nil && end.Namespace != namespace {
		return false, nil
	}
	for _, s := range []struct {
		selector *metav1.LabelSelector
		labels   map[string]string
	}{{p.NamespaceSelector, c.namespaceLabels(end.Namespace)}, {p.PodSelector, end.Labels}} {
		if s.selector == nil {
			continue
		}
		if ok, err := matches(s.selector, s.labels); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (c Cluster) namespaceLabels(name string) map[string]string {
	out := map[string]string{corev1.LabelMetadataName: name}
	maps.Copy(out, c.Namespaces[name])
	return out
}

func inBlock(block *networkingv1.IPBlock, address netip.Addr) (bool, error) {
	for i, text := range append([]string{block.CIDR}, block.Except...) {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return false, fmt.Errorf("read address range: %w", err)
		}
		if excluded := i > 0; network.Contains(address) == excluded {
			return false, nil
		}
	}
	return true, nil
}

func matches(selector *metav1.LabelSelector, set map[string]string) (bool, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false, fmt.Errorf("read selector: %w", err)
	}
	return s.Matches(labels.Set(set)), nil
}
