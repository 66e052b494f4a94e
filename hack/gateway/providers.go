// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// What payload processing looks at.
var (
	externalResource  = schema.GroupVersionResource{Group: "maas.opendatahub.io", Version: "v1alpha1", Resource: "externalmodels"}
	inferenceResource = schema.GroupVersionResource{Group: "inference.opendatahub.io", Version: "v1alpha1", Resource: "externalmodels"}
	providerResource  = schema.GroupVersionResource{Group: "inference.opendatahub.io", Version: "v1alpha1", Resource: "externalproviders"}
	secretResource    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

const (
	// managedLabel is the label by which payload processing finds a Secret, keyField where
	// the API key is in it.
	managedLabel = "inference.llm-d.ai/ipp-managed"
	keyField     = "api-key"
)

// errNoCredential is what payload processing answers 500 with.
var errNoCredential = errors.New("credentials not found")

// providers play what payload processing does behind the filter, for requests to models
// of providers: it looks up the API key of the provider and adds it. It takes nothing
// away, so that what the filter has let pass of the client's shows.
type providers struct{ client dynamic.Interface }

// admit adds the API key of the provider behind a route. Others are left alone.
func (p *providers) admit(ctx context.Context, route *httpRoute, header http.Header) error {
	if p == nil {
		return nil
	}
	owner := route.owner("ExternalModel")
	if owner == nil {
		return nil
	}
	namespace := route.Metadata.Namespace
	provider, name, err := p.described(ctx, namespace, owner)
	if err != nil {
		return err
	}
	secret, err := p.client.Resource(secretResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || secret.GetLabels()[managedLabel] != "true" {
		return errNoCredential
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", keyField)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return errNoCredential
	}
	switch provider {
	case "anthropic":
		header.Set("X-Api-Key", string(key))
	case "azure-openai":
		header.Set("Api-Key", string(key))
	default:
		header.Set("Authorization", bearerPrefix+string(key))
	}
	return nil
}

// described are the provider of a model and the name of the Secret with its API key, as an
// ExternalModel of either group says.
func (p *providers) described(ctx context.Context, namespace string, owner *ownerRef) (provider, secret string, err error) {
	get := func(resource schema.GroupVersionResource, name string) (map[string]any, error) {
		object, err := p.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read what describes a provider: %w", err)
		}
		return object.Object, nil
	}
	text := func(object map[string]any, path ...string) string {
		found, _, _ := unstructured.NestedString(object, path...)
		return found
	}
	if group, _, _ := strings.Cut(owner.APIVersion, "/"); group == externalResource.Group {
		model, err := get(externalResource, owner.Name)
		return text(model, "spec", "provider"), text(model, "spec", "credentialRef", "name"), err
	}
	model, err := get(inferenceResource, owner.Name)
	if err != nil {
		return "", "", err
	}
	bindings, _, _ := unstructured.NestedSlice(model, "spec", "externalProviderRefs")
	for _, each := range bindings {
		binding, _ := each.(map[string]any)
		if weight, found, _ := unstructured.NestedInt64(binding, "weight"); found && weight == 0 {
			continue
		}
		described, err := get(providerResource, text(binding, "ref", "name"))
		return text(described, "spec", "provider"), cmp.Or(text(binding, "auth", "secretRef", "name"), text(described, "spec", "auth", "secretRef", "name")), err
	}
	return "", "", errNoCredential
}
