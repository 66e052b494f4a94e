// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config owns the settings of maas-api: their flags, environment
// variables, defaults, meaning and the rules between them.
//
// It is pure. The environment and the flags that were given come in as values;
// it opens no file, knows no network and decides nothing about keys or models.
// A flag wins over the environment, and the environment over the default. What
// cannot be read, or contradicts something else, is an error and never replaced
// silently; errors never repeat a value.
package config
