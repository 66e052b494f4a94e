// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	startTimeout = 15 * time.Minute
	// noticeTimeout bounds how long the API server may take to notice a new role.
	noticeTimeout = 30 * time.Second
)

// TestTheClusterTakesEverythingFromTheOperator applies what is rendered as the
// operator, with the rights of its manifests and no others: the schemas and rules of
// the real CRDs, and the checks of the server on what is granted and bound, are part
// of the test. Roles are really written, because a binding needs them; the rest is a
// dry run.
func TestTheClusterTakesEverythingFromTheOperator(t *testing.T) {
	t.Parallel()
	admin, operator := startCluster(t)
	for name, written := range map[string][]*unstructured.Unstructured{
		platform.OpenShift: rendered(t, platform.OpenShift), platform.Kubernetes: rendered(t, platform.Kubernetes), "golden files": rolesFirst(golden(t)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ensureNamespaces(t, admin, written)
			for _, object := range written {
				applied(t, operator, object)
			}
		})
	}
	t.Run("but no role with more than the operator holds", func(t *testing.T) {
		t.Parallel()
		for _, document := range objects(
			t,
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: more}, rules: [{apiGroups: [""], resources: [nodes], verbs: [delete]}]}`,
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: more}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}`,
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: more}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}`,
		) {
			if err := apply(t, operator, document, client.DryRunAll); !apierrors.IsForbidden(err) {
				t.Errorf("apply of %s %s: error = %v, want forbidden", document.GetKind(), document.GetName(), err)
			}
		}
	})
}

// startCluster starts an API server with all kinds that are rendered, and returns
// clients of its administrator and of the operator.
func startCluster(t *testing.T) (admin, operator client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	env, err := testenv.Start(ctx, testenv.Options{
		CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.Istio, testenv.CertManager, testenv.Prometheus, testenv.Perses, testenv.OpenTelemetry, testenv.Stacks}, Log: os.Stderr,
	})
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	if admin, err = client.New(env.AdminConfig(), client.Options{}); err != nil {
		t.Fatalf("make a client: %v", err)
	}
	config, err := env.OperatorConfig(ctx)
	if err != nil {
		t.Fatalf("get the rights of the operator: %v", err)
	}
	lenient, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return admin, client.WithFieldValidation(lenient, metav1.FieldValidationStrict)
}

// rolesFirst puts roles in front of what binds them.
func rolesFirst(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		switch {
		case isRole(a) && !isRole(b):
			return -1
		case isRole(b) && !isRole(a):
			return 1
		}
		return 0
	})
	return objects
}

func isRole(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Role" || object.GetKind() == "ClusterRole"
}

func ensureNamespaces(t *testing.T, admin client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		if object.GetNamespace() == "" {
			continue
		}
		err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("create namespace: %v", err)
		}
	}
}

// applied applies an object as the operator does. A binding waits until the server
// knows the role it has just accepted.
func applied(t *testing.T, operator client.Client, object *unstructured.Unstructured) {
	t.Helper()
	id := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
	switch {
	case isRole(object):
		if err := apply(t, operator, object); err != nil {
			t.Errorf("the API server refuses %s: %v", id, err)
		}
	case strings.HasSuffix(object.GetKind(), "RoleBinding"):
		gomega.NewWithT(t).Eventually(func() error { return apply(t, operator, object, client.DryRunAll) }).
			WithTimeout(noticeTimeout).Should(gomega.Succeed(), "%s", id)
	default:
		if err := apply(t, operator, object, client.DryRunAll); err != nil {
			t.Errorf("the API server refuses %s: %v", id, err)
		}
	}
}

func apply(t *testing.T, operator client.Client, object *unstructured.Unstructured, options ...client.ApplyOption) error {
	t.Helper()
	options = append(options, client.FieldOwner(v1alpha1.FieldOwner), client.ForceOwnership)
	return operator.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), options...)
}
