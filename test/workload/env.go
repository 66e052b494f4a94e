// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
)

// content reads Secrets and ConfigMaps of a Pod's namespace.
type content interface {
	// secret and configMap return what is in an object. The error of one that does not
	// exist is as of the API.
	secret(name string) (map[string][]byte, error)
	configMap(name string) (map[string][]byte, error)
}

// environment returns the variables of a container.
func environment(pod *corev1.Pod, c *corev1.Container, from content) (map[string]string, error) {
	env := map[string]string{}
	for i := range c.EnvFrom {
		values, prefix, err := envFrom(&c.EnvFrom[i], from)
		if err != nil {
			return nil, err
		}
		for name, value := range values {
			env[prefix+name] = string(value)
		}
	}
	for i := range c.Env {
		e := &c.Env[i]
		if e.ValueFrom == nil {
			env[e.Name] = expand(e.Value, env)
			continue
		}
		value, found, err := valueFrom(pod, c, e.ValueFrom, from)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", e.Name, err)
		}
		if found {
			env[e.Name] = value
		}
	}
	return env, nil
}

func envFrom(source *corev1.EnvFromSource, from content) (values map[string][]byte, prefix string, err error) {
	switch {
	case source.SecretRef != nil:
		values, err = optional(isTrue(source.SecretRef.Optional), source.SecretRef.Name, from.secret)
	case source.ConfigMapRef != nil:
		values, err = optional(isTrue(source.ConfigMapRef.Optional), source.ConfigMapRef.Name, from.configMap)
	}
	return values, source.Prefix, err
}

// optional reads an object that need not exist.
func optional(may bool, name string, read func(string) (map[string][]byte, error)) (map[string][]byte, error) {
	values, err := read(name)
	if may && apierrors.IsNotFound(err) {
		return nil, nil
	}
	return values, err
}

func valueFrom(pod *corev1.Pod, c *corev1.Container, source *corev1.EnvVarSource, from content) (value string, found bool, err error) {
	switch {
	case source.SecretKeyRef != nil:
		ref := source.SecretKeyRef
		values, err := optional(isTrue(ref.Optional), ref.Name, from.secret)
		if value, found := values[ref.Key]; found || err != nil || isTrue(ref.Optional) {
			return string(value), found, err
		}
		return "", false, fmt.Errorf("couldn't find key %s in Secret %s/%s", ref.Key, pod.Namespace, ref.Name)
	case source.ConfigMapKeyRef != nil:
		ref := source.ConfigMapKeyRef
		values, err := optional(isTrue(ref.Optional), ref.Name, from.configMap)
		if value, found := values[ref.Key]; found || err != nil || isTrue(ref.Optional) {
			return string(value), found, err
		}
		return "", false, fmt.Errorf("couldn't find key %s in ConfigMap %s/%s", ref.Key, pod.Namespace, ref.Name)
	case source.FieldRef != nil:
		value, err := field(pod, source.FieldRef.FieldPath)
		return value, true, err
	case source.ResourceFieldRef != nil:
		value, err := resourceField(c, source.ResourceFieldRef)
		return value, true, err
	default:
		return "", false, fmt.Errorf("its source is of a kind that is not understood here")
	}
}

// field is a part of a Pod that the downward API offers.
func field(pod *corev1.Pod, path string) (string, error) {
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return pod.Status.PodIP, nil
	case "status.hostIP", "status.hostIPs":
		return pod.Status.HostIP, nil
	}
	for prefix, values := range map[string]map[string]string{
		"metadata.labels['": pod.Labels, "metadata.annotations['": pod.Annotations,
	} {
		if key, ok := strings.CutPrefix(path, prefix); ok {
			return values[strings.TrimSuffix(key, "']")], nil
		}
	}
	return "", fmt.Errorf("field %s is not offered here", path)
}

// resourceField is a limit or a request of a container. What is not limited is so by
// the node, of which this is none.
func resourceField(c *corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	kind, name, _ := strings.Cut(ref.Resource, ".")
	list := map[string]corev1.ResourceList{"limits": c.Resources.Limits, "requests": c.Resources.Requests}[kind]
	quantity, found := list[corev1.ResourceName(name)]
	if !found || (ref.ContainerName != "" && ref.ContainerName != c.Name) {
		return "", fmt.Errorf("resource %s is not offered here", ref.Resource)
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	// Both in thousandths, rounded up.
	amount, by := quantity.MilliValue(), cmp.Or(divisor.MilliValue(), 1)
	return fmt.Sprint((amount + by - 1) / by), nil
}

func isTrue(b *bool) bool { return b != nil && *b }
