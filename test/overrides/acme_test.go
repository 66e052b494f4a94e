// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overrides_test

import (
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/samples"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/overlay"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates"
)

// rendered are the sample objects of a template, as a distribution renders them.
func rendered(t *testing.T, id render.ID) []*unstructured.Unstructured {
	t.Helper()
	o, err := overlay.Load(os.DirFS("acme"))
	if err != nil {
		t.Fatalf("Load() error = %v", err)
	}
	references, err := images.Resolve(func(string) (string, bool) { return "", false }, nil, o.Images, false)
	if err != nil {
		t.Fatalf("Resolve() error = %v", err)
	}
	requests, err := samples.Requests()
	if err != nil {
		t.Fatalf("Requests() error = %v", err)
	}
	result, err := overlay.Verify(o, overlay.Base{Files: templates.FS, Table: desired.Components(), Images: references, Scheme: clientgoscheme.Scheme}, requests)
	if err != nil {
		t.Fatalf("Verify() error = %v", err)
	}
	// A template that changed since makes this fail: maasctl overlay rebase test/overrides/acme.
	if err := result.Err(overlay.PolicyStrict); err != nil {
		t.Fatalf("the overlay does not fit: %v", err)
	}
	requests = slices.DeleteFunc(requests, func(r render.Request) bool { return r.ID != id })
	objects := make([]*unstructured.Unstructured, 0, len(requests))
	for _, request := range requests {
		object, err := result.Engine.Render(request)
		if err != nil {
			t.Fatalf("Render() error = %v", err)
		}
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		t.Fatalf("no sample of %s", id)
	}
	return objects
}

func TestTheDistributionHasItsOwnImagesLabelsAndPriority(t *testing.T) {
	t.Parallel()
	for _, object := range rendered(t, "tenant/deployment-maas-api") {
		if got := object.GetLabels()["acme.example/edition"]; got != "enterprise" {
			t.Errorf("%s: label of the profile is %q", object.GetName(), got)
		}
		if got, _, _ := unstructured.NestedString(object.Object, "spec", "template", "spec", "priorityClassName"); got != "acme-platform" {
			t.Errorf("%s: priority class of the patch is %q", object.GetName(), got)
		}
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if err != nil || len(containers) == 0 {
			t.Fatalf("%s: containers: %v, %v", object.GetName(), containers, err)
		}
		image, _, _ := unstructured.NestedString(containers[0].(map[string]any), "image") //nolint:forcetypeassert // The kind says so.
		if want := "registry.acme.example/maas/maas-api@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"; image != want {
			t.Errorf("%s: image is %q, want %q", object.GetName(), image, want)
		}
	}
}

func TestTheDistributionAdmitsItsOwnScraperOnly(t *testing.T) {
	t.Parallel()
	for _, object := range rendered(t, "platform/networkpolicy-maas-api-allow-monitoring") {
		rules, _, err := unstructured.NestedSlice(object.Object, "spec", "ingress")
		if err != nil || len(rules) != 1 {
			t.Fatalf("ingress = %v, %v", rules, err)
		}
		peers, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), "from") //nolint:forcetypeassert // The kind says so.
		for _, peer := range peers {
			scraper, _, _ := unstructured.NestedString(peer.(map[string]any), "podSelector", "matchLabels", "acme.example/scraper") //nolint:forcetypeassert // The kind says so.
			if scraper != "true" {
				t.Errorf("%s admits %v", object.GetName(), peer)
			}
		}
	}
}
