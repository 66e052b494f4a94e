// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CacheOf returns a cache with the metadata of one object and nothing else, for what
// the manager's cache leaves out on purpose. It starts with the manager's, also in a
// process that does not lead.
func CacheOf(mgr ctrl.Manager, object *metav1.PartialObjectMetadata, key types.NamespacedName) (cache.Cache, error) {
	one, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{object: {Namespaces: map[string]cache.Config{
			key.Namespace: {FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name)},
		}}},
		DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("create a cache for %s %s: %w", object.Kind, key, err)
	}
	if err := mgr.Add(cacheRunnable{one}); err != nil {
		return nil, fmt.Errorf("add the cache for %s %s: %w", object.Kind, key, err)
	}
	return one, nil
}

// cacheRunnable has the manager start a cache before the controllers. Any other
// runnable would wait until the process leads.
type cacheRunnable struct{ cache.Cache }

// GetCache marks a runnable as a cache.
func (c cacheRunnable) GetCache() cache.Cache { return c.Cache }
