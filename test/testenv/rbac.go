// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// rightsTimeout bounds how long the API server may take to notice new roles.
const rightsTimeout = 30 * time.Second

const (
	kindRole               = "Role"
	kindRoleBinding        = "RoleBinding"
	kindClusterRole        = "ClusterRole"
	kindClusterRoleBinding = "ClusterRoleBinding"
	kindServiceAccount     = "ServiceAccount"
)

// rbacResource returns where the API serves a kind of rights.
func rbacResource(kind string) (schema.GroupVersionResource, bool) {
	switch kind {
	case kindServiceAccount:
		return corev1.SchemeGroupVersion.WithResource("serviceaccounts"), true
	case kindRole:
		return rbacv1.SchemeGroupVersion.WithResource("roles"), true
	case kindRoleBinding:
		return rbacv1.SchemeGroupVersion.WithResource("rolebindings"), true
	case kindClusterRole:
		return rbacv1.SchemeGroupVersion.WithResource("clusterroles"), true
	case kindClusterRoleBinding:
		return rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), true
	default:
		return schema.GroupVersionResource{}, false
	}
}

// load reads the account's manifests: what an installation grants it, no more and
// no less.
func (a Account) load() ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(RepoRoot(), filepath.FromSlash(a.Manifests), "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("read %s: no manifests", a.Manifests)
	}
	manifests := []*unstructured.Unstructured{}
	for _, file := range files {
		objects, err := ReadObjects(file)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if _, ok := rbacResource(object.GetKind()); ok {
				manifests = append(manifests, object)
			}
		}
	}
	return manifests, nil
}

// grant makes the account, applies its manifests and makes the namespaces they
// belong to.
func (e *Env) grant(ctx context.Context, a Account, manifests []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(e.admin)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	account := &unstructured.Unstructured{}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindServiceAccount))
	account.SetNamespace(a.Namespace)
	account.SetName(a.Name)
	for _, object := range append([]*unstructured.Unstructured{account}, manifests...) {
		if err := ensureNamespace(ctx, client, object.GetNamespace()); err != nil {
			return err
		}
		resource, _ := rbacResource(object.GetKind())
		options := metav1.ApplyOptions{FieldManager: fieldOwner, Force: true}
		_, err := client.Resource(resource).Namespace(object.GetNamespace()).Apply(ctx, object.GetName(), object, options)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func ensureNamespace(ctx context.Context, client dynamic.Interface, name string) error {
	if name == "" {
		return nil
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	namespace.SetName(name)
	_, err := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).
		Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	return nil
}

// awaitRights waits until the API server has noticed every role bound to the
// account: its authorizer follows the objects with a small delay.
func (a Account) awaitRights(ctx context.Context, config *rest.Config, manifests []*unstructured.Unstructured) error {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	rights, err := a.sampleRights(manifests)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, rightsTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for len(rights) > 0 {
		review, err := clientset.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
			&authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &rights[0]},
			}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed {
			rights = rights[1:]
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for the right of %s to %s %s: %w",
				a.User(), rights[0].Verb, rights[0].Resource, ctx.Err()), err)
		}
	}
	return nil
}

// sampleRights returns one right of each role that is bound to the account.
func (a Account) sampleRights(manifests []*unstructured.Unstructured) ([]authorizationv1.ResourceAttributes, error) {
	var rights []authorizationv1.ResourceAttributes
	for _, object := range manifests {
		if object.GetKind() != kindRoleBinding && object.GetKind() != kindClusterRoleBinding {
			continue
		}
		binding := &rbacv1.RoleBinding{} // both kinds have the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, binding); err != nil {
			return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		for _, role := range manifests {
			if role.GetKind() != binding.RoleRef.Kind || role.GetName() != binding.RoleRef.Name || !a.bound(binding) {
				continue
			}
			right, ok, err := firstRight(role, binding.Namespace)
			if err != nil {
				return nil, err
			}
			if ok {
				rights = append(rights, right)
			}
		}
	}
	return rights, nil
}

func (a Account) bound(binding *rbacv1.RoleBinding) bool {
	for _, subject := range binding.Subjects {
		if subject.Kind == kindServiceAccount && subject.Namespace == a.Namespace && subject.Name == a.Name {
			return true
		}
	}
	return false
}

// firstRight returns the first resource right of a role, as seen in a namespace.
func firstRight(object *unstructured.Unstructured, namespace string) (authorizationv1.ResourceAttributes, bool, error) {
	role := &rbacv1.Role{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
		return authorizationv1.ResourceAttributes{}, false, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	for _, rule := range role.Rules {
		if len(rule.Resources) == 0 || len(rule.Verbs) == 0 || len(rule.APIGroups) == 0 {
			continue
		}
		right := authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0],
		}
		right.Resource, right.Subresource, _ = strings.Cut(rule.Resources[0], "/")
		if len(rule.ResourceNames) > 0 {
			right.Name = rule.ResourceNames[0]
		}
		return right, true, nil
	}
	return authorizationv1.ResourceAttributes{}, false, nil
}
