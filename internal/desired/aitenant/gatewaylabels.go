// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
)

// A Gateway may admit routes only from namespaces with certain labels. The route of
// maas-api is in the infrastructure namespace, which therefore needs them. An
// annotation of that namespace keeps which label is there for which Gateways, so that
// a label goes with the last Gateway that needs it, and one that an administrator has
// set never does.

// labelFailure is an error that somebody has to resolve by hand.
func labelFailure(format string, args ...any) error {
	return apperr.Userf(v1alpha1.ReasonInfraNamespaceLabelFailed, format, args...)
}

// SelectorLabels are the labels that the listeners of a Gateway ask of namespaces.
// Expressions are not looked at: they need not have one answer.
func SelectorLabels(gateway *gwapiv1.Gateway) (map[string]string, error) {
	labels := map[string]string{}
	for i := range gateway.Spec.Listeners {
		allowed := gateway.Spec.Listeners[i].AllowedRoutes
		if allowed == nil || allowed.Namespaces == nil || allowed.Namespaces.Selector == nil ||
			allowed.Namespaces.From == nil || *allowed.Namespaces.From != gwapiv1.NamespacesFromSelector {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(allowed.Namespaces.Selector.MatchLabels)) {
			value := allowed.Namespaces.Selector.MatchLabels[key]
			if other, ok := labels[key]; ok && other != value {
				return nil, labelFailure("Listeners of Gateway %s/%s admit namespaces with different values of label %s: give them one value.", gateway.Namespace, gateway.Name, key)
			}
			labels[key] = value
		}
	}
	return labels, nil
}

// owners tells for each label set by the operator for which Gateways it is there, as
// "<namespace>/<name>".
type owners map[string][]string

// readOwners reads the annotation. Earlier releases wrote names without a namespace:
// theirs is the given one.
func readOwners(ns *corev1.Namespace, gatewayNamespace string) (owners, error) {
	text := ns.Annotations[v1alpha1.AnnotationGatewaySelectorLabels]
	o := owners{}
	if text == "" {
		return o, nil
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return nil, labelFailure("Annotation %s of namespace %s cannot be read: correct it, or remove it together with the labels set for Gateways.", v1alpha1.AnnotationGatewaySelectorLabels, ns.Name)
	}
	for key, names := range o {
		for i, name := range names {
			if !strings.Contains(name, "/") {
				names[i] = gatewayNamespace + "/" + name
			}
		}
		slices.Sort(names)
		o[key] = slices.Compact(names)
	}
	return o, nil
}

// write stores the owners, and forgets labels without one.
func (o owners) write(ns *corev1.Namespace) error {
	maps.DeleteFunc(o, func(_ string, names []string) bool { return len(names) == 0 })
	if len(o) == 0 {
		delete(ns.Annotations, v1alpha1.AnnotationGatewaySelectorLabels)
		return nil
	}
	text, err := json.Marshal(o) // Sorts by key.
	if err != nil {
		return fmt.Errorf("write the owners of labels: %w", err)
	}
	if ns.Annotations == nil {
		ns.Annotations = map[string]string{}
	}
	ns.Annotations[v1alpha1.AnnotationGatewaySelectorLabels] = string(text)
	return nil
}

// drop takes a Gateway off a label, and the label off the namespace when no other
// Gateway needs it.
func (o owners) drop(ns *corev1.Namespace, key, gateway string) {
	before := len(o[key])
	o[key] = slices.DeleteFunc(o[key], func(name string) bool { return name == gateway })
	if len(o[key]) == 0 && before > 0 {
		delete(ns.Labels, key)
	}
}

// LabelForGateway puts the labels that a Gateway asks for on the infrastructure
// namespace, and takes off those it no longer asks for. It changes the namespace in
// place unless it fails. An [apperr.UserError] means that somebody has to resolve a
// contradiction by hand.
func LabelForGateway(ns *corev1.Namespace, gateway types.NamespacedName, wanted map[string]string) error {
	o, err := readOwners(ns, gateway.Namespace)
	if err != nil {
		return err
	}
	changed := ns.DeepCopy()
	if changed.Labels == nil {
		changed.Labels = map[string]string{}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if err := o.take(changed, gateway, key, wanted[key]); err != nil {
			return err
		}
	}
	for key := range o {
		if _, ok := wanted[key]; !ok {
			o.drop(changed, key, gateway.String())
		}
	}
	if err := o.write(changed); err != nil {
		return err
	}
	*ns = *changed
	return nil
}

// take sets one label for a Gateway. What an administrator has set to the same value
// stays the administrator's.
func (o owners) take(ns *corev1.Namespace, gateway types.NamespacedName, key, value string) error {
	live, present := ns.Labels[key]
	names := o[key]
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == gateway.String() })
	switch {
	case present && live == value && len(names) == 0:
		return nil
	case present && live != value && len(names) == 0:
		return labelFailure("Gateway %s admits namespaces with %s=%s, but namespace %s has another value that the operator has not set: resolve that by hand.", gateway, key, value, ns.Name)
	case present && live != value && len(others) > 0:
		return labelFailure("Gateway %s admits namespaces with %s=%s, but namespace %s has another value for Gateway %s: give the Gateways one value.", gateway, key, value, ns.Name, others[0])
	case !present && systemLabel(key):
		return labelFailure("Gateway %s admits namespaces with label %s, which the operator does not set because it changes what Kubernetes does with a namespace: set it on namespace %s by hand, or select by another label.", gateway, key, ns.Name)
	}
	ns.Labels[key] = value
	o[key] = append(others, gateway.String())
	slices.Sort(o[key])
	return nil
}

// systemLabel holds for labels by which Kubernetes itself is configured, such as those
// of pod security.
func systemLabel(key string) bool {
	domain, _, qualified := strings.Cut(key, "/")
	if !qualified {
		return false
	}
	for _, reserved := range []string{"kubernetes.io", "k8s.io"} {
		if domain == reserved || strings.HasSuffix(domain, "."+reserved) {
			return true
		}
	}
	return false
}

// UnlabelForGateway takes off the infrastructure namespace what was there for this
// Gateway alone, in place.
func UnlabelForGateway(ns *corev1.Namespace, gateway types.NamespacedName) error {
	o, err := readOwners(ns, gateway.Namespace)
	if err != nil {
		return err
	}
	for key := range o {
		o.drop(ns, key, gateway.String())
	}
	return o.write(ns)
}
