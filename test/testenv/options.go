// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"io"
	"path/filepath"
)

// RunLabel and RunLabelValue mark Pods of programs under test. The simulated nodes
// never complete Jobs of such Pods: that would prove work that nobody did.
const (
	RunLabel      = "app.kubernetes.io/part-of"
	RunLabelValue = "models-as-a-service"
)

// Options say what to start. The zero value is an API server without
// controllers in a temporary directory.
type Options struct {
	// Dir holds the data, certificates, logs and the state file. A relative
	// path is taken from the working directory. Data found there from an earlier
	// run is used again. Empty means a temporary directory that Stop removes.
	Dir string
	// Controllers also starts the controller-manager, the scheduler and
	// simulated nodes: garbage collection works, Deployments become available
	// and namespaces can be deleted.
	Controllers bool
	// RunPods leaves the Pods with the label [RunLabel] to somebody who runs their
	// programs, see package workload: without one they stay pending.
	RunPods bool
	// CRDs are installed before Start returns, and before the controllers
	// start: the garbage collector learns of kinds added later only after up to
	// half a minute.
	CRDs []CRDSet
	// Log receives one line per step. Nil discards them, except for what a
	// missing build has to say, which goes to standard error.
	Log io.Writer
	// Owner names the program that alone may end the instance or start another
	// in its directory; empty means that whoever knows the directory may.
	Owner string
	// KeepRunning leaves the processes behind when this one ends. It needs Dir.
	KeepRunning bool
}

func (o *Options) validate() error {
	if o.RunPods && !o.Controllers {
		return fmt.Errorf("there are no Pods to run without controllers")
	}
	if o.Dir == "" {
		if o.KeepRunning {
			return fmt.Errorf("an instance that keeps running needs a directory")
		}
		return nil
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("resolve directory: %w", err)
	}
	o.Dir = dir
	return nil
}
