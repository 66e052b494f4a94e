// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// A kubelet waits 10 s before the first restart, and 5 minutes at most.
	firstBackOff = 500 * time.Millisecond
	maxBackOff   = 8 * time.Second
	// startError is the exit code of what could not be started.
	startError = 128
)

// container is one of a Pod. Only the Pod's own goroutine uses it.
type container struct {
	spec *corev1.Container
	init bool

	process *process.Process
	line    Line
	log     string
	starts  int32
	// listeners are the addresses here by the ports in the Pod.
	listeners map[int32]string

	state, last corev1.ContainerState
	// due is when it shall be started again, pause how long that was put off.
	due   time.Time
	pause time.Duration
	// pretends says that it has no program.
	pretends bool

	startup, liveness, readiness *probe
}

func newContainer(spec *corev1.Container, init bool) *container {
	return &container{spec: spec, init: init, state: waiting("ContainerCreating", "")}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// completed tells whether it ended without a failure.
func (c *container) completed() bool {
	return c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
}

// failed tells whether it ended with one, for good.
func (c *container) failed() bool {
	return c.state.Terminated != nil && c.state.Terminated.ExitCode != 0
}

func (c *container) running() bool { return c.state.Running != nil }

// begun tells whether it was ever started.
func (c *container) begun() bool { return c.starts > 0 || c.pretends }

// started is what the API calls it once a startup probe is content.
func (c *container) started() bool {
	return c.running() && (c.startup == nil || c.startup.content)
}

// ready is what its readiness probe says.
func (c *container) ready() bool {
	return c.started() && (c.readiness == nil || c.readiness.content)
}

// advance starts the container if that is due, and notes how it ended. It returns
// when to look again, if not for an event.
func (c *container) advance(ctx context.Context, p *pod) time.Duration {
	if c.running() && c.process != nil {
		select {
		case <-c.process.Done():
			c.ended(p)
		default:
		}
	}
	if c.running() || c.pretends || c.state.Terminated != nil {
		return 0
	}
	if wait := time.Until(c.due); wait > 0 {
		return wait
	}
	return c.start(ctx, p)
}

// ended notes how the program ended, and whether it is started again.
func (c *container) ended(p *pod) {
	code := c.process.ExitCode()
	state := &corev1.ContainerStateTerminated{
		ExitCode: int32(code), Reason: "Completed", StartedAt: c.state.Running.StartedAt, FinishedAt: metav1.Now(),
	}
	if code != 0 {
		state.Reason = "Error"
	}
	p.runner.logf("%s ended with %d; its log is %s", c.title(p), code, c.log)
	c.finish(state, p.spec.RestartPolicy)
}

// finish takes up a final state, or puts the next start off.
func (c *container) finish(state *corev1.ContainerStateTerminated, policy corev1.RestartPolicy) {
	c.state = corev1.ContainerState{Terminated: state}
	again := policy == corev1.RestartPolicyAlways || (policy == corev1.RestartPolicyOnFailure && state.ExitCode != 0)
	if c.init {
		again = state.ExitCode != 0 && policy != corev1.RestartPolicyNever
	}
	if !again {
		return
	}
	c.last = c.state
	c.pause = min(max(2*c.pause, firstBackOff), maxBackOff)
	c.due = time.Now().Add(c.pause)
	c.state = waiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s", c.pause, c.spec.Name))
}

// start runs the program, or says what is in the way.
func (c *container) start(ctx context.Context, p *pod) time.Duration {
	program, known := p.runner.options.Images[c.spec.Image]
	if !known {
		message := fmt.Sprintf("Failed to pull image %q: there is no program for it", c.spec.Image)
		p.warn(ctx, "Failed", message)
		c.state = waiting("ErrImagePull", message)
		return retryPause
	}
	if program.Path == "" {
		c.pretends = true
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
		return 0
	}
	command, err := c.command(ctx, p, program)
	if err != nil {
		p.warn(ctx, "Failed", "Error: "+err.Error())
		c.state = waiting("CreateContainerConfigError", err.Error())
		return retryPause
	}
	if c.process, err = process.Start(ctx, command); err == nil {
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
		p.runner.logf("%s runs as process %d; its log is %s", c.title(p), c.process.PID, c.log)
		go func(done <-chan struct{}) {
			<-done
			p.wake()
		}(c.process.Done())
	} else {
		p.warn(ctx, "Failed", "Error: "+err.Error())
		c.process = nil
		c.finish(&corev1.ContainerStateTerminated{
			ExitCode: startError, Reason: "StartError", Message: err.Error(), FinishedAt: metav1.Now(),
		}, p.spec.RestartPolicy)
	}
	c.starts++
	c.startup = newProbe(c.spec.StartupProbe, false)
	c.liveness = newProbe(c.spec.LivenessProbe, true)
	c.readiness = newProbe(c.spec.ReadinessProbe, false)
	return retryPause
}

// command is what the container's command, arguments and variables come to here.
func (c *container) command(ctx context.Context, p *pod, program Program) (process.Command, error) {
	env, err := environment(p.latest(), c.spec, p.volumes.from)
	if err != nil {
		return process.Command{}, err
	}
	all, err := mounts(c.spec, p.volumes.path)
	if err != nil {
		return process.Command{}, err
	}
	path, args := program.Path, expandAll(c.spec.Args, env)
	if command := expandAll(c.spec.Command, env); len(command) > 0 {
		args = append(command[1:len(command):len(command)], args...)
		if !slices.Contains(program.Names, command[0]) {
			path = filepath.Join(p.dir, "image", command[0]) // It is not there.
		}
	}
	line := Line{Args: args, Env: env}
	if err := c.listen(ctx, p, program, &line, all); err != nil {
		return process.Command{}, err
	}
	if err := p.kubeconfig(line.Env, all); err != nil {
		return process.Command{}, err
	}
	c.line = line
	c.log = filepath.Join(p.runner.dir, "logs", fmt.Sprintf("%s_%s_%s_%d.log", p.key.Namespace, p.key.Name, c.spec.Name, c.starts))
	command := process.Command{Name: c.spec.Name, Path: path, Args: line.Args, Dir: p.dir, Log: c.log}
	if c.spec.WorkingDir != "" {
		command.Dir = rewriteMounts(c.spec.WorkingDir, all)
	}
	command.Env = []string{"HOME=" + p.dir, "HOSTNAME=" + p.key.Name}
	for _, name := range slices.Sorted(maps.Keys(line.Env)) {
		command.Env = append(command.Env, name+"="+line.Env[name])
	}
	return command, os.MkdirAll(filepath.Dir(c.log), 0o700)
}

// listen rewrites a line, and gives its listeners addresses here.
func (c *container) listen(ctx context.Context, p *pod, program Program, line *Line, all []mount) error {
	var listeners []Listener
	if program.Listen != nil {
		listeners = program.Listen(*line)
	}
	var own []string
	if program.Args != nil {
		own = program.Args(*line)
	}
	for i := range line.Args {
		line.Args[i] = p.rewrite(ctx, line.Args[i], all)
	}
	for name := range line.Env {
		line.Env[name] = p.rewrite(ctx, line.Env[name], all)
	}
	c.listeners = map[int32]string{}
	for _, l := range listeners {
		address, err := testenv.FreeAddress(ctx)
		if err != nil {
			return err
		}
		c.listeners[l.Port] = address
		*line = line.without(append([]string{l.Flag}, l.Replaces...))
		own = append(own, l.Flag+"="+address)
	}
	line.Args = append(line.Args, own...)
	p.connect()
	return nil
}

func expandAll(texts []string, env map[string]string) []string {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		out = append(out, expand(text, env))
	}
	return out
}

// stop ends the program and notes how it ended.
func (c *container) stop(p *pod, grace time.Duration) {
	if !c.running() {
		return
	}
	if c.process == nil {
		c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: c.state.Running.StartedAt, FinishedAt: metav1.Now()}}
		return
	}
	if err := c.process.Stop(grace); err != nil {
		p.runner.logf("%s: %v", c.title(p), err)
		return
	}
	<-c.process.Done()
	c.ended(p)
}

func (c *container) title(p *pod) string {
	return fmt.Sprintf("container %s of %s", c.spec.Name, p.key)
}

// status is what the API shows of it.
func (c *container) status() corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: c.spec.Image,
		Ready: (c.init && c.completed()) || (!c.init && c.ready()), Started: new(c.started()),
		RestartCount: max(c.starts-1, 0), State: c.state, LastTerminationState: c.last,
	}
}

// public is what the runner tells of it.
func (c *container) public(p *pod) Container {
	out := Container{
		Pod: p.key, Name: c.spec.Name, Args: slices.Clone(c.line.Args), Env: maps.Clone(c.line.Env), Ports: maps.Clone(c.listeners),
		Log: c.log, Running: c.running(), Restarts: max(c.starts-1, 0),
	}
	if c.process != nil {
		out.PID = c.process.PID
	}
	return out
}
