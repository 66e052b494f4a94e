// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	annotationCertificate = "cert-manager.io/certificate-name"
	annotationNames       = "cert-manager.io/alt-names"
)

func certificates() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
}

// certManager plays cert-manager.
type certManager struct {
	runner   *Runner
	client   dynamic.Interface
	informer informers.GenericInformer
}

func newCertManager(r *Runner, config *rest.Config) (*certManager, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	return &certManager{runner: r, client: client, informer: factory.ForResource(certificates())}, nil
}

func (m *certManager) start(ctx, life context.Context, wake func()) error {
	if _, err := m.client.Resource(certificates()).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return fmt.Errorf("list Certificates, which cert-manager is to serve: %w", err)
	}
	if _, err := m.informer.Informer().AddEventHandler(onChange(func(any) { wake() })); err != nil {
		return fmt.Errorf("follow Certificates: %w", err)
	}
	m.runner.work.Go(func() { m.informer.Informer().Run(life.Done()) })
	if !cache.WaitForCacheSync(ctx.Done(), m.informer.Informer().HasSynced) {
		return errors.New("follow Certificates: the control plane does not answer in time")
	}
	return nil
}

func (m *certManager) make(ctx context.Context) error {
	all, err := m.informer.Lister().List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Certificates: %w", err)
	}
	var errs []error
	for _, o := range all {
		if certificate, ok := o.(*unstructured.Unstructured); ok && certificate.GetDeletionTimestamp() == nil {
			errs = append(errs, m.fill(ctx, certificate))
		}
	}
	return errors.Join(errs...)
}

// fill makes the Secret of a Certificate, again when its names changed.
func (m *certManager) fill(ctx context.Context, certificate *unstructured.Unstructured) error {
	namespace := certificate.GetNamespace()
	name, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	hosts, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	if err != nil || name == "" || len(hosts) == 0 {
		return fmt.Errorf("read Certificate %s/%s: it names no Secret or no host", namespace, certificate.GetName())
	}
	secret, err := m.runner.secrets.Secrets(namespace).Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	names := strings.Join(hosts, ",")
	if err == nil && secret.Annotations[annotationNames] == names && len(secret.Data[corev1.TLSCertKey]) > 0 {
		return m.ready(ctx, certificate)
	}
	made, err := m.runner.issue(namespace+"-"+name, hosts...)
	if err != nil {
		return err
	}
	return m.runner.store(ctx, secret, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Annotations: map[string]string{annotationCertificate: certificate.GetName(), annotationNames: names},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: made.cert, corev1.TLSPrivateKeyKey: made.key, keyCA: made.ca},
	})
}

// ready says so in the status.
func (m *certManager) ready(ctx context.Context, certificate *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] == "Ready" && condition["status"] == "True" && condition["observedGeneration"] == certificate.GetGeneration() {
			return nil
		}
	}
	changed := certificate.DeepCopy()
	err := unstructured.SetNestedSlice(changed.Object, []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "Ready", "message": "Certificate is up to date and has not expired",
		"observedGeneration": certificate.GetGeneration(), "lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
	}}, "status", "conditions")
	if err != nil {
		return fmt.Errorf("change the status of Certificate %s/%s: %w", changed.GetNamespace(), changed.GetName(), err)
	}
	_, err = m.client.Resource(certificates()).Namespace(changed.GetNamespace()).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the status of Certificate %s/%s: %w", changed.GetNamespace(), changed.GetName(), err)
	}
	return nil
}
