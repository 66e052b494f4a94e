// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests tests what config/ installs: that the manager accepts the
// arguments of its own Deployment, and that a real API server accepts the whole
// of config/default. It must not test what the operator does once it runs.
package manifests
