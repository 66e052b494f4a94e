// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import "sigs.k8s.io/controller-runtime/pkg/client"

// ReadDefinitions has CustomResourceDefinitions read from r, as SetupWithManager does
// from the cache.
func (o *OptionalAPIs) ReadDefinitions(r client.Reader) { o.definitions = r }
