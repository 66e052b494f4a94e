// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	stopGrace    = 35 * time.Second
	killTimeout  = 5 * time.Second
	gonePoll     = 20 * time.Millisecond
	logTailLines = 15
	logTailBytes = 16 << 10
)

// process is one child of a stack. The start time tells it from a later process
// that was given the same id.
type process struct {
	Name    string `json:"name"`
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
	Log     string `json:"log"`
	// Probe is the URL that answers 200 when the process is ready, if it has one.
	Probe string `json:"probe,omitempty"`

	// reaped is closed after a child of this very process has ended.
	reaped chan struct{}
}

// command describes a process to start.
type command struct {
	name, path, log, probe string
	args                   []string
	// keep lets the process outlive this one; otherwise they end together.
	keep bool
}

// start runs a command with its output in its log.
func start(c command) (*process, error) {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own

	cmd := exec.Command(c.path, c.args...) //nolint:noctx // it outlives the context that bounds its start
	cmd.Stdout, cmd.Stderr = log, log
	// Settings of the caller (KUBECONFIG, proxies) must not leak in. A group of
	// its own keeps the terminal's interrupt away: a stack ends in order.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.keep {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}

	p := &process{Name: c.name, Log: c.log, Probe: c.probe, reaped: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The death signal is tied to the starting thread, not to the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // why it ended is in its log
			close(p.reaped)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	p.PID = cmd.Process.Pid
	p.Started, _, _ = procStat(p.PID)
	return p, nil
}

// alive reports whether the recorded process runs.
func (p *process) alive() bool {
	started, state, err := procStat(p.PID)
	return err == nil && started == p.Started && state != 'Z' && state != 'X'
}

// stop ends the process, politely first, and returns when it is gone.
func (p *process) stop() error {
	for _, attempt := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, stopGrace}, {syscall.SIGKILL, killTimeout}} {
		if !p.alive() {
			break
		}
		if err := syscall.Kill(p.PID, attempt.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal %s (pid %d): %w", p.Name, p.PID, err)
		}
		if p.waitGone(attempt.wait) {
			return nil
		}
	}
	if p.alive() {
		return fmt.Errorf("%s (pid %d) does not end, not even by force", p.Name, p.PID)
	}
	return nil
}

func (p *process) waitGone(timeout time.Duration) bool {
	deadline := time.After(timeout)
	tick := time.NewTicker(gonePoll)
	defer tick.Stop()
	for p.alive() {
		select {
		case <-deadline:
			return !p.alive()
		case <-tick.C:
		}
	}
	return true
}

// failure explains why a process is not as it should be, with the end of its log.
func (p *process) failure(problem string) error {
	return fmt.Errorf("%s %s; the end of %s:\n%s", p.Name, problem, p.Log, indent(tail(p.Log)))
}

// tail returns the last lines of a file.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	content = content[max(0, len(content)-logTailBytes):]
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-logTailLines):], "\n")
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// procStat reads when a process was started (in ticks since boot) and its state.
func procStat(pid int) (started uint64, state byte, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read process %d: %w", pid, err)
	}
	// The second field is a name in parentheses that may contain anything.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), " ")
	fields := strings.Fields(rest)
	const stateField, startField = 0, 19
	if len(fields) <= startField {
		return 0, 0, fmt.Errorf("read process %d: unexpected format", pid)
	}
	started, err = strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("read process %d: %w", pid, err)
	}
	return started, fields[stateField][0], nil
}
