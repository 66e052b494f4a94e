// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// statusWrites is how often a subscription's status is written from its
// creation on until it is Active.
const statusWrites = 2

// floor is how long the server takes for creating subscriptions and writing
// the status of each twice when nothing else happens and nobody decides
// anything: the operator must not run. Afterwards they are gone again.
func (w *world) floor(ctx context.Context, n int, key types.NamespacedName) (time.Duration, error) {
	began := time.Now()
	err := w.each(ctx, n, func(ctx context.Context, i int) error {
		s := subscription(fmt.Sprintf("s-%04d", i), i, key)
		if err := w.create(ctx, s); err != nil {
			return err
		}
		for range statusWrites {
			before := s.DeepCopy()
			s.Status.ObservedGeneration++
			s.Status.RateLimitIdentity = v1alpha1.RateLimitIdentityShort
			if err := w.stage.Admin.Status().Patch(ctx, s, client.MergeFrom(before)); err != nil {
				return fmt.Errorf("patch status of %s: %w", s.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	return took, w.unsubscribe(ctx)
}
