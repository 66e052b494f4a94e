// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dbsecret

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

const (
	from = "opendatahub"
	to   = "odh-ai-gateway-infra"
)

func secret(namespace, address string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "maas-db-config", Labels: map[string]string{"theirs": "yes"}},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{"DB_CONNECTION_URL": []byte(address), "OTHER": []byte("not copied")},
	}
}

// cluster is an API server with Secrets, and a log.
func cluster(hooks interceptor.Funcs, existing ...client.Object) (client.Client, context.Context, *bytes.Buffer) {
	var logged bytes.Buffer
	log := funcr.New(func(prefix, args string) { logged.WriteString(prefix + args + "\n") }, funcr.Options{})
	return fakecluster.Holding(scheme.Scheme, existing...).WithInterceptorFuncs(hooks).Build(), ctrl.LoggerInto(context.Background(), log), &logged
}

func read(t *testing.T, c client.Client, namespace string) *corev1.Secret {
	t.Helper()
	found := &corev1.Secret{}
	err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "maas-db-config"}, found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// E-24.
func TestTheSecretIsCopiedWithAnAddressThatResolves(t *testing.T) {
	t.Parallel()
	c, ctx, logged := cluster(interceptor.Funcs{}, secret(from, "postgresql://maas:s3cret@postgres:5432/maas?sslmode=require"))
	if err := Copy(ctx, Options{Client: c, Reader: c, From: from, To: to}); err != nil {
		t.Fatal(err)
	}
	got := read(t, c, to)
	if got == nil {
		t.Fatal("there is no copy")
	}
	want := map[string]string{"DB_CONNECTION_URL": "postgresql://maas:s3cret@postgres.opendatahub.svc.cluster.local:5432/maas?sslmode=require"}
	data := map[string]string{}
	for key, value := range got.Data {
		data[key] = string(value)
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"app.kubernetes.io/managed-by": "maas-controller", "app.kubernetes.io/part-of": "maas-controller"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if got.Annotations["maas.opendatahub.io/migrated-from"] != from || got.Type != corev1.SecretTypeOpaque {
		t.Errorf("annotations %v, type %s", got.Annotations, got.Type)
	}
	if source := read(t, c, from); source == nil || len(source.Data) != 2 {
		t.Errorf("the source became %v", source)
	}
	// E-29: what may hold a password is not shown at all.
	if !strings.Contains(logged.String(), `"hostQualified"=true`) || strings.Contains(logged.String(), "s3cret") || strings.Contains(logged.String(), "postgres") {
		t.Errorf("logged %q", logged)
	}
}

func TestNothingIsCopied(t *testing.T) {
	t.Parallel()
	both := []client.Object{secret(from, "postgres://postgres/old"), secret(to, "postgres://postgres/new")}
	for name, test := range map[string]struct {
		from, to string
		existing []client.Object
		want     string // The address in the target namespace afterwards.
	}{
		"when there already is one":       {from: from, to: to, existing: both, want: "postgres://postgres/new"}, // E-26
		"on a fresh installation":         {from: from, to: to},                                                  // E-27
		"without a namespace of its own":  {from: from, to: "", existing: both[:1]},                              // E-28
		"within one namespace":            {from: to, to: to, existing: both[1:], want: "postgres://postgres/new"},
		"from a namespace without a name": {from: "", to: to, existing: both[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writes := 0
			c, ctx, _ := cluster(interceptor.Funcs{Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				writes++
				return c.Apply(ctx, o, opts...)
			}}, test.existing...)
			if err := Copy(ctx, Options{Client: c, Reader: c, From: test.from, To: test.to}); err != nil || writes != 0 {
				t.Fatalf("err = %v, %d writes", err, writes)
			}
			if got := read(t, c, to); (got == nil) != (test.want == "") || got != nil && string(got.Data["DB_CONNECTION_URL"]) != test.want {
				t.Errorf("the target is %v, want %q", got, test.want)
			}
		})
	}
}

func TestASecretWithoutAnAddressIsAnError(t *testing.T) {
	t.Parallel()
	c, ctx, _ := cluster(interceptor.Funcs{}, secret(from, ""))
	err := Copy(ctx, Options{Client: c, Reader: c, From: from, To: to})
	if !errors.Is(err, ErrNoAddress) || read(t, c, to) != nil {
		t.Fatalf("err = %v", err)
	}
	if !strings.Contains(err.Error(), from+"/maas-db-config") {
		t.Errorf("%q does not name the Secret", err)
	}
}

func TestWhoeverCopiesFirstWins(t *testing.T) {
	t.Parallel()
	c, ctx, _ := cluster(interceptor.Funcs{Apply: func(ctx context.Context, c client.WithWatch, _ runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
		if err := c.Create(ctx, secret(to, "postgres://postgres/theirs")); err != nil {
			return err
		}
		return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "maas-db-config", errors.New("there is one"))
	}}, secret(from, "postgres://postgres/ours"))
	if err := Copy(ctx, Options{Client: c, Reader: c, From: from, To: to}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, c, to); string(got.Data["DB_CONNECTION_URL"]) != "postgres://postgres/theirs" {
		t.Errorf("the target is %v", got)
	}
}

func TestWithoutTheRightNothingFails(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "maas-db-config", errors.New("no"))
	for name, hooks := range map[string]interceptor.Funcs{
		"to read": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return denied
		}},
		"to create": {Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return denied
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ctx, logged := cluster(hooks, secret(from, "postgres://maas:s3cret@postgres/maas"))
			if err := Copy(ctx, Options{Client: c, Reader: c, From: from, To: to}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(logged.String(), "administrator") || strings.Contains(logged.String(), "s3cret") {
				t.Errorf("logged %q", logged)
			}
		})
	}
}

func TestAFailureIsAnError(t *testing.T) {
	t.Parallel()
	down := apierrors.NewInternalError(errors.New("down"))
	c, _, _ := cluster(interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return down
	}})
	err := Copy(logr.NewContext(t.Context(), logr.Discard()), Options{Client: c, Reader: c, From: from, To: to})
	if !apierrors.IsInternalError(err) {
		t.Errorf("err = %v", err)
	}
}
