// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"
)

const (
	// deletionTimeoutVariable bounds how long the deletion of an AITenant may take.
	deletionTimeoutVariable = "AITENANT_DELETION_TIMEOUT"
	defaultDeletionTimeout  = 10 * time.Minute

	// manifestsVariable chose a directory of manifests in earlier releases.
	manifestsVariable = "MAAS_PLATFORM_MANIFESTS"
)

// variables reads a variable of the environment, as os.LookupEnv does.
type variables func(name string) (string, bool)

// environment is what the manager reads from the environment, and what an
// administrator should hear about it. A timeout that cannot be read is the default:
// it comes from a Deployment that somebody else may write, and must not keep the
// operator from starting. Source: the tenants' earlier operator.
func (c *Config) environment(variable variables) (notes []string) {
	c.DeletionTimeout = defaultDeletionTimeout
	if text, set := variable(deletionTimeoutVariable); set && text != "" {
		timeout, err := time.ParseDuration(text)
		if err != nil || timeout < 0 {
			notes = append(notes, fmt.Sprintf("%s is %q, no duration such as 10m, or 0 to wait for ever: using %s", deletionTimeoutVariable, text, defaultDeletionTimeout))
		} else {
			c.DeletionTimeout = timeout
		}
	}
	if text, set := variable(manifestsVariable); set && text != "" {
		notes = append(notes, manifestsVariable+" is set and has no effect: templates are part of the program")
	}
	return notes
}
