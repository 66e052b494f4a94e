// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parts makes, for tests, the parts of the operator that many of them stand
// on, as its program makes them: the scheme of its types, and the engine with all its
// templates. It knows no controller and starts nothing.
package parts

import (
	"errors"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates"
)

// Scheme knows the kinds that the operator reads and writes by their Go types.
func Scheme(tb testing.TB) *runtime.Scheme {
	tb.Helper()
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), inferencev1alpha1.AddToScheme(scheme), gwapiv1.Install(scheme))
	if err != nil {
		tb.Fatalf("build the scheme: %v", err)
	}
	return scheme
}

// engine is one for all tests of a package: it cannot be changed, and takes long to make.
var engine = sync.OnceValues(func() (*render.Engine, error) {
	return render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
})

// Engine renders the templates, with the images of a development build.
func Engine(tb testing.TB) *render.Engine {
	tb.Helper()
	e, err := engine()
	if err != nil {
		tb.Fatalf("make the engine: %v", err)
	}
	return e
}
