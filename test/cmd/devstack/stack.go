// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/internal/samples"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// owner keeps others from ending the control plane of a stack.
const owner = "devstack"

const (
	// The limits are for a machine that is busy with much else; on an idle one
	// everything together takes less than half a minute.
	startTimeout    = 15 * time.Minute
	childTimeout    = 3 * time.Minute
	convergeTimeout = 5 * time.Minute
	readyPoll       = 100 * time.Millisecond
)

// stack is a control plane with everything around it.
type stack struct {
	layout layout
	// keep leaves everything running when this process ends.
	keep bool
	// controller tells whether maas-controller is part of the stack, service whether
	// maas-api is, with what it needs: PostgreSQL, a gateway and a model.
	controller, service bool
	// engines tells whether the real Kuadrant and Authorino carry policies out.
	engines bool
	// binaries are programs to run as maas-controller and maas-api; for one that is
	// missing it is the one the stack was started with.
	binaries map[string]string
	progress *progress

	env   *testenv.Env
	state *state
	// started lists what this process started, in order; only that is ended
	// when the start fails.
	started []func() error
	// visited is the visit that was made, if one was.
	visited *visit
	// giveUp ends a start for which there is no hope.
	giveUp context.CancelCauseFunc
}

// start brings up whatever does not run yet and waits until the samples are in
// force. When it fails, what it started is ended again.
func (s *stack) start(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ctx, s.giveUp = context.WithCancelCause(ctx)
	begun := false
	defer func() {
		if err != nil {
			err = errors.Join(reason(ctx, err), s.abandon(begun))
		}
		s.giveUp(nil)
	}()
	if err := s.layout.create(); err != nil {
		return err
	}
	if s.state, err = s.layout.readState(); err != nil {
		return err
	}
	if s.engines {
		if err := s.checkEngines(ctx); err != nil {
			return err
		}
	}
	s.state.Engines = s.engines
	if !s.state.anyAlive() {
		s.state.Addresses = map[string]string{} // Somebody else may have them now.
	}
	begun = true
	for _, step := range s.steps() {
		if step.skip {
			continue
		}
		if err := s.progress.step(step.what, func() error { return step.work(ctx) }); err != nil {
			return err
		}
	}
	if err := s.writeSettings(ctx, defaultTenant); err != nil {
		return err
	}
	return s.remember()
}

// step is one part of a start.
type step struct {
	what string
	skip bool
	work func(context.Context) error
}

func (s *stack) steps() []step {
	return []step{
		{what: "Starting the control plane", work: s.startControlPlane},
		{what: "Starting PostgreSQL", skip: !s.service, work: s.startDatabase},
		{what: "Starting the stand-ins for Kuadrant, the gateway controller and KServe", skip: s.engines, work: s.startStandins},
		{what: "Starting the stand-ins for the gateway controller, KServe and the operators of Authorino and Limitador", skip: !s.engines, work: s.startStandins},
		{what: "Starting Kuadrant's operator", skip: !s.engines, work: s.startKuadrant},
		{what: "Starting Authorino", skip: !s.engines, work: s.startAuthorino},
		{what: "Starting the provider of OIDC tokens, and logging in " + callerName, skip: !s.engines, work: s.startProvider},
		{what: "Taking the webhooks of maas-controller away", skip: s.controller, work: s.removeWebhooks},
		{what: "Applying config/manager, whose Pod only pretends to run", work: s.applyManager},
		{what: "Applying the Gateway and the namespaces of config/samples", work: s.preparePlatform},
		{what: "Starting maas-controller under its own ServiceAccount", skip: !s.controller, work: s.startController},
		{what: "Writing the Secret with the database's address", skip: !s.controller, work: s.provideDatabase},
		{what: "Starting what runs maas-api as the operator's Deployments say", work: s.startPods},
		{what: "Waiting until the operator has set up the default tenant", skip: !s.controller, work: s.awaitBootstrap},
		{what: "Having the default tenant accept tokens of the provider", skip: !s.engines, work: s.acceptTokens},
		{what: "Applying config/samples", skip: !s.controller, work: s.applySamples},
		{what: "Starting the simulator of the sample model", skip: !s.callable(), work: s.startModel},
		{what: "Starting the stand-in for the gateway", skip: !s.callable(), work: s.startGateways},
		{what: "Waiting until everything is in force", skip: !s.controller, work: s.converge},
		{what: "Making a key and calling the model with it", skip: !s.callable(), work: func(ctx context.Context) error {
			return s.visitModel(ctx, defaultTenant)
		}},
		{what: "Waiting until the example requests are answered as they should be", skip: !s.engines, work: s.awaitExamples},
	}
}

// callable tells whether somebody answers calls: maas-api is there, and the operator
// that asks for it.
func (s *stack) callable() bool { return s.service && s.controller }

// startPods starts what runs Pods, once it is known where gateways are.
func (s *stack) startPods(ctx context.Context) error {
	return errors.Join(s.placeGateways(ctx), s.startWorkload(ctx))
}

// attach finds the parts of a stack that an earlier command left running.
func (s *stack) attach() error {
	var err error
	if s.state, err = s.layout.readState(); err != nil {
		return err
	}
	if s.env, err = testenv.Attach(s.layout.controlPlane()); err != nil {
		return fmt.Errorf("%w: start the stack with `make up`", err)
	}
	s.engines = s.state.Engines // Only up and run are told.
	return nil
}

// complete tells whether every part of the stack runs.
func (s *stack) complete() bool {
	if s.attach() != nil {
		return false
	}
	for _, name := range children() {
		if s.has(name) && s.state.alive(name) == nil {
			return false
		}
	}
	return true
}

// has tells whether a child is part of the stack.
func (s *stack) has(name string) bool {
	switch name {
	case processStandins, processWorkload:
		return true
	case processController:
		return s.controller
	case processDatabase:
		return s.service
	case processNames, processKuadrant, processAuthorino, processProvider:
		return s.engines
	default:
		return s.callable()
	}
}

func (s *stack) startStandins(ctx context.Context) error {
	if runs, err := s.runsAlready(ctx, processStandins); runs || err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	for _, stale := range []string{s.layout.ready(processStandins), s.layout.stallFile()} {
		if err := os.RemoveAll(stale); err != nil {
			return fmt.Errorf("remove a file of an earlier run: %w", err)
		}
	}
	args := []string{
		"standins", "--kubeconfig", s.env.Kubeconfig(),
		"--ready-file", s.layout.ready(processStandins), "--stall-file", s.layout.stallFile(),
	}
	if s.engines {
		args = append(args, "--engines")
	}
	p, err := s.launch(ctx, process.Command{Name: processStandins, Path: self, Args: args}, child{})
	if err != nil {
		return err
	}
	return s.awaitFile(ctx, p)
}

// declared is what a stack applies: the samples, and with the engines what shows their
// refusals.
func (s *stack) declared() ([]*unstructured.Unstructured, error) {
	objects, err := samples.Load(s.layout.samples())
	if err != nil || !s.engines {
		return objects, err
	}
	more, err := samples.Load(s.layout.trial())
	return append(objects, more...), err
}

func (s *stack) applySamples(ctx context.Context) error {
	objects, err := s.declared()
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	if err := samples.Apply(ctx, c, objects); err != nil {
		return err
	}
	s.progress.say("%d objects", len(objects))
	return nil
}

// converge waits until what the samples declare is in force.
func (s *stack) converge(ctx context.Context) error {
	objects, err := s.declared()
	if err != nil {
		return err
	}
	return s.convergeOn(ctx, objects)
}

func (s *stack) convergeOn(ctx context.Context, objects []*unstructured.Unstructured) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	err = converge(ctx, c, s.progress, objects)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if p := s.state.Processes[processController]; p != nil {
		return errors.Join(err, p.failure("may know why"))
	}
	return err
}

// show prints what the API server says now.
func (s *stack) show(ctx context.Context, out io.Writer) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	w, err := readWorld(ctx, c)
	if err != nil {
		return err
	}
	if err := render(out, w.report()); err != nil || s.visited == nil {
		return err
	}
	fmt.Fprintln(out)
	return renderVisit(out, s.visited.report)
}

func (s *stack) client() (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("make client: %w", err)
		}
	}
	c, err := client.New(s.env.AdminConfig(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return c, nil
}

// abandon ends what a start that failed has started, and says so if it had begun to.
func (s *stack) abandon(begun bool) error {
	switch {
	case !begun:
		return s.undo()
	case s.keep:
		return s.progress.step("Ending what this start had started", s.undo)
	default:
		return s.progress.step("Ending everything", s.undo)
	}
}

// undo ends what this process started, the last first.
func (s *stack) undo() error {
	var errs []error
	for _, end := range slices.Backward(s.started) {
		errs = append(errs, end())
	}
	s.started = nil
	if !s.keep { // Nothing of it will be used again.
		errs = append(errs, s.layout.removeSecrets(), s.layout.removeDatabase())
	}
	return errors.Join(errs...)
}

// stop ends everything recorded, whoever started it. It reports whether
// anything was running.
func (s *stack) stop(ctx context.Context) (bool, error) {
	var err error
	if s.state, err = s.layout.readState(); err != nil {
		return false, err
	}
	var errs []error
	running := false
	for _, name := range slices.Backward(s.everyChild()) {
		running = running || s.state.alive(name) != nil
		errs = append(errs, s.end(name))
	}
	forgotten := newState()
	forgotten.Processes = s.state.Processes // Those that could not be ended.
	forgotten.Engines = s.state.Engines     // The data is theirs.
	s.state = forgotten
	errs = append(errs, s.layout.writeState(s.state))
	stopped, err := testenv.StopDir(ctx, s.layout.controlPlane(), owner)
	return running || stopped, errors.Join(append(errs, s.layout.removeSecrets(), err)...)
}

// everyChild lists the children that there are or were, in the order in which they are
// started.
func (s *stack) everyChild() []string {
	all := slices.DeleteFunc(children(), func(name string) bool {
		return !s.state.Engines && s.state.Processes[name] == nil && slices.Contains(engineProcesses(), name)
	})
	for _, name := range s.state.gatewayProcesses() {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// logFile is where a child writes its log, or wrote it when it ran.
func (s *stack) logFile(name string) string {
	switch name {
	case processDatabase:
		return filepath.Join(s.layout.database(), "postgres.log")
	case processProvider:
		return filepath.Join(s.layout.provider(), name+".log")
	}
	return filepath.Join(s.layout.logs(), name+".log")
}
