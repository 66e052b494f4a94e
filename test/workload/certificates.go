// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
)

// CertificateMaker is something that makes serving certificates.
type CertificateMaker string

const (
	// ServiceCA is OpenShift's: it fills the Secret that a Service asks for by its
	// annotation service.beta.openshift.io/serving-cert-secret-name, and puts a
	// ConfigMap openshift-service-ca.crt into every namespace.
	ServiceCA CertificateMaker = "service-ca"
	// CertManager fills the Secrets of Certificates, whose CRD must be there. Its
	// issuers are one, and always willing.
	CertManager CertificateMaker = "cert-manager"
)

// CABundleName is the name of the ConfigMap with the authority of OpenShift's
// service CA in every namespace, CABundleKey the key in it.
const (
	CABundleName = "openshift-service-ca.crt"
	CABundleKey  = "service-ca.crt"
)

const (
	annotationServingCert = "service.beta.openshift.io/serving-cert-secret-name"
	annotationService     = "service.beta.openshift.io/originating-service-name"
	annotationServiceUID  = "service.beta.openshift.io/originating-service-uid"
	annotationInject      = "service.beta.openshift.io/inject-cabundle"

	keyCA    = "ca.crt"
	loopback = "127.0.0.1"
)

// maker makes what is missing.
type maker interface {
	make(ctx context.Context) error
}

// makers are those that were asked for.
type makers struct {
	runner *Runner
	all    []maker
	manage *certManager
	poke   chan struct{}
}

func (r *Runner) makers(config *rest.Config, known informers.SharedInformerFactory) (*makers, error) {
	m := &makers{runner: r, poke: make(chan struct{}, 1)}
	for _, which := range r.options.Certificates {
		switch which {
		case ServiceCA:
			core := known.Core().V1()
			m.all = append(m.all, &serviceCA{
				runner: r, services: core.Services().Lister(), namespaces: core.Namespaces().Lister(),
			})
		case CertManager:
			manager, err := newCertManager(r, config)
			if err != nil {
				return nil, err
			}
			m.manage = manager
			m.all = append(m.all, manager)
		default:
			return nil, fmt.Errorf("nothing is known here of %s, which shall make certificates", which)
		}
	}
	return m, nil
}

// wake has everything looked at.
func (m *makers) wake() {
	select {
	case m.poke <- struct{}{}:
	default:
	}
}

// start makes what is missing whenever something changed.
func (m *makers) start(ctx, life context.Context, work *sync.WaitGroup) error {
	if m.manage != nil {
		if err := m.manage.start(ctx, life, m.wake); err != nil {
			return err
		}
	}
	if len(m.all) == 0 {
		return nil
	}
	work.Go(func() {
		retry := time.NewTimer(0)
		defer retry.Stop()
		for {
			select {
			case <-life.Done():
				return
			case <-m.poke:
			case <-retry.C:
			}
			for _, maker := range m.all {
				if err := maker.make(life); err != nil && life.Err() == nil {
					m.runner.logf("making certificates: %v", err)
					retry.Reset(retryPause)
				}
			}
		}
	})
	return nil
}

// pair is a certificate with its key and its authority, in PEM.
type pair struct{ cert, key, ca []byte }

// issue makes a certificate for names of a Service, and for where it is here.
func (r *Runner) issue(name string, hosts ...string) (pair, error) {
	issued, err := r.options.Env.IssueCertificate("workload-"+name, append(slices.Clip(hosts), loopback)...)
	if err != nil {
		return pair{}, err
	}
	var p pair
	for file, into := range map[string]*[]byte{issued.CertFile: &p.cert, issued.KeyFile: &p.key, issued.CAFile: &p.ca} {
		if *into, err = os.ReadFile(file); err != nil {
			return pair{}, fmt.Errorf("read certificate: %w", err)
		}
	}
	return p, nil
}

// serviceCA plays OpenShift's service CA.
type serviceCA struct {
	runner     *Runner
	services   corelisters.ServiceLister
	namespaces corelisters.NamespaceLister
}

func (s *serviceCA) make(ctx context.Context) error {
	services, err := s.services.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	var errs []error
	for _, service := range services {
		if service.Annotations[annotationServingCert] != "" && service.DeletionTimestamp == nil {
			errs = append(errs, s.serve(ctx, service))
		}
	}
	return errors.Join(append(errs, s.bundles(ctx))...)
}

// serve fills the Secret of a Service, unless there is another of that name.
func (s *serviceCA) serve(ctx context.Context, service *corev1.Service) error {
	name := service.Annotations[annotationServingCert]
	secret, err := s.runner.secrets.Secrets(service.Namespace).Get(name)
	if err == nil {
		ours := secret.Annotations[annotationServiceUID] == string(service.UID)
		if !ours || (len(secret.Data[corev1.TLSCertKey]) > 0 && len(secret.Data[corev1.TLSPrivateKeyKey]) > 0) {
			return nil
		}
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Secret %s/%s: %w", service.Namespace, name, err)
	}
	host := service.Name + "." + service.Namespace + ".svc"
	made, err := s.runner.issue(service.Namespace+"-"+name, host, host+".cluster.local")
	if err != nil {
		return err
	}
	wanted := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: name,
			Annotations: map[string]string{annotationService: service.Name, annotationServiceUID: string(service.UID)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID,
			}},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: made.cert, corev1.TLSPrivateKeyKey: made.key},
	}
	return s.runner.store(ctx, secret, wanted)
}

// store creates a Secret, or replaces the contents of one.
func (r *Runner) store(ctx context.Context, old, wanted *corev1.Secret) error {
	secrets := r.client.CoreV1().Secrets(wanted.Namespace)
	var err error
	if old == nil || old.Name == "" {
		_, err = secrets.Create(ctx, wanted, metav1.CreateOptions{})
	} else {
		changed := old.DeepCopy()
		changed.Data = wanted.Data
		for key, value := range wanted.Annotations {
			metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
		}
		_, err = secrets.Update(ctx, changed, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) && !goingNamespace(err) {
		return fmt.Errorf("store Secret %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	return nil // What was changed in between is looked at again.
}

// goingNamespace says that nothing can be created because the namespace is deleted.
func goingNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err)
}

// bundles puts the authority into every namespace, and where an annotation wants it.
func (s *serviceCA) bundles(ctx context.Context) error {
	file, err := s.runner.options.Env.ServerAuthority()
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}
	namespaces, err := s.namespaces.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	var errs []error
	for _, namespace := range namespaces {
		_, err := s.runner.maps.ConfigMaps(namespace.Name).Get(CABundleName)
		if namespace.DeletionTimestamp == nil && apierrors.IsNotFound(err) {
			errs = append(errs, s.publish(ctx, namespace.Name, string(authority)))
		}
	}
	all, err := s.runner.maps.List(labels.Everything())
	for _, object := range all {
		if object.Annotations[annotationInject] == "true" && object.Data[CABundleKey] != string(authority) {
			changed := object.DeepCopy()
			changed.Data = map[string]string{CABundleKey: string(authority)}
			_, err := s.runner.client.CoreV1().ConfigMaps(object.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
			if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				errs = append(errs, fmt.Errorf("store ConfigMap %s/%s: %w", object.Namespace, object.Name, err))
			}
		}
	}
	return errors.Join(append(errs, err)...)
}

func (s *serviceCA) publish(ctx context.Context, namespace, authority string) error {
	wanted := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: CABundleName, Annotations: map[string]string{annotationInject: "true"}},
		Data:       map[string]string{CABundleKey: authority},
	}
	_, err := s.runner.client.CoreV1().ConfigMaps(namespace).Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) && !goingNamespace(err) {
		return fmt.Errorf("store ConfigMap %s/%s: %w", namespace, CABundleName, err)
	}
	return nil
}
