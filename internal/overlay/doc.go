// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package overlay owns what packagers downstream change about the product without
// changing its code: image references, a distribution profile, patches on rendered
// objects, replaced templates and further ones. It reads them from a file system that
// is there when the process starts, never from the API server, checks them against
// the templates of this release, and builds the engine that renders with them.
//
//	images.yaml                            image references by key
//	profile.yaml                           name, labels, components that are left out
//	patches/*.yaml                         changes of rendered objects
//	templates/<component>/<file>.yaml.tmpl a replaced template, pinned to its base
//	templates/extra/<file>.yaml.tmpl       a further object, declared in extra.yaml
//	extra.yaml                             kinds of the further objects
//
// The package holds no client and decides nothing about objects that packagers may
// not decide: their identity and the rights of the operator stay what they are.
package overlay
