// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images decides which container images the operator runs: it owns the
// table of image keys and reads their references from RELATED_IMAGE_* variables,
// which packagers and disconnected mirrors set. It must not read the environment
// itself, and nothing else may name an image.
package images
