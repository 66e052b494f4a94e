// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	webhookAuthority = "webhook-ca"
	// webhookCert is the name, without extension, of the files in a Secret of type
	// kubernetes.io/tls.
	webhookCert = "tls"
)

// webhookResource returns where the API serves a kind of webhook configuration.
func webhookResource(kind string) (schema.GroupVersionResource, bool) {
	switch kind {
	case "ValidatingWebhookConfiguration":
		return admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"), true
	case "MutatingWebhookConfiguration":
		return admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"), true
	default:
		return schema.GroupVersionResource{}, false
	}
}

// InstallWebhooks makes the API server ask the webhooks of config/webhook, which
// some program serves on the given address. The configurations are the shipped ones
// but for the way there: no network leads to a Service here, so they name a URL and
// trust an authority of this instance. It returns the directory with that program's
// certificate, new at every call, as its Secret would be mounted.
//
// The API server takes the change up within a moment.
func (e *Env) InstallWebhooks(ctx context.Context, address string) (certDir string, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("install webhooks: %w", err)
	}
	ca, certDir, err := e.issueWebhookCertificate(host)
	if err != nil {
		return "", err
	}
	configurations, err := loadWebhooks()
	if err != nil {
		return "", err
	}
	client, err := dynamic.NewForConfig(e.admin)
	if err != nil {
		return "", fmt.Errorf("make client: %w", err)
	}
	for _, c := range configurations {
		if err := callURL(c, "https://"+address, ca); err != nil {
			return "", err
		}
		resource, _ := webhookResource(c.GetKind())
		// Not by applying: what an installation wrote before names a Service too.
		if err := storeObject(ctx, client.Resource(resource), c); err != nil {
			return "", fmt.Errorf("store %s %s: %w", c.GetKind(), c.GetName(), err)
		}
	}
	return certDir, nil
}

// RemoveWebhooks makes the API server ask no webhooks of config/webhook any more.
func (e *Env) RemoveWebhooks(ctx context.Context) error {
	configurations, err := loadWebhooks()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(e.admin)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	for _, c := range configurations {
		resource, _ := webhookResource(c.GetKind())
		err := client.Resource(resource).Delete(ctx, c.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s: %w", c.GetKind(), c.GetName(), err)
		}
	}
	return nil
}

// issueWebhookCertificate writes a certificate for a server on a host, and returns
// the authority that signed it.
func (e *Env) issueWebhookCertificate(host string) (ca []byte, dir string, err error) {
	authority, err := loadOrCreateAuthority(e.pkiDir(), webhookAuthority)
	if err != nil {
		return nil, "", err
	}
	pair, err := authority.server(host)
	if err != nil {
		return nil, "", err
	}
	dir = filepath.Join(e.dir, "webhook-certs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("create %s: %w", dir, err)
	}
	return authority.pem, dir, pair.write(dir, webhookCert)
}

// loadWebhooks reads the webhook configurations in config/webhook.
func loadWebhooks() ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(RepoRoot(), "config", "webhook", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read config/webhook: %w", err)
	}
	var configurations []*unstructured.Unstructured
	for _, file := range files {
		objects, err := ReadObjects(file)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if _, ok := webhookResource(object.GetKind()); ok {
				configurations = append(configurations, object)
			}
		}
	}
	if len(configurations) == 0 {
		return nil, fmt.Errorf("read config/webhook: no webhook configuration")
	}
	return configurations, nil
}

// callURL replaces the Service of every webhook of a configuration by the same
// path below a URL.
func callURL(configuration *unstructured.Unstructured, url string, ca []byte) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("read %s: %w", configuration.GetName(), err)
	}
	for i, w := range webhooks {
		webhook, ok := w.(map[string]any)
		if !ok {
			return fmt.Errorf("read %s: webhook %d is no object", configuration.GetName(), i)
		}
		path, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil || !found {
			return fmt.Errorf("read %s: webhook %d names no path of a Service", configuration.GetName(), i)
		}
		webhook["clientConfig"] = map[string]any{"url": url + path, "caBundle": base64.StdEncoding.EncodeToString(ca)}
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}
