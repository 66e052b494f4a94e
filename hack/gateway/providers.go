// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// What payload processing looks at.
var (
	externalResource = schema.GroupVersionResource{Group: "maas.opendatahub.io", Version: "v1alpha1", Resource: "externalmodels"}
	secretResource   = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
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
	model := route.owner("ExternalModel")
	if model == "" {
		return nil
	}
	namespace := route.Metadata.Namespace
	external, err := p.client.Resource(externalResource).Namespace(namespace).Get(ctx, model, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read ExternalModel: %w", err)
	}
	name, _, _ := unstructured.NestedString(external.Object, "spec", "credentialRef", "name")
	secret, err := p.client.Resource(secretResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || secret.GetLabels()[managedLabel] != "true" {
		return errNoCredential
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", keyField)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return errNoCredential
	}
	switch provider, _, _ := unstructured.NestedString(external.Object, "spec", "provider"); provider {
	case "anthropic":
		header.Set("X-Api-Key", string(key))
	case "azure-openai":
		header.Set("Api-Key", string(key))
	default:
		header.Set("Authorization", bearerPrefix+string(key))
	}
	return nil
}
