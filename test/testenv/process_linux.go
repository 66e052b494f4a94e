// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// gonePollInterval is how often a process that was told to end is looked at.
	gonePollInterval = 10 * time.Millisecond
	// garbagePercent lets the servers' heaps grow further before they are
	// collected: a third of the processor time for installing CRDs was that.
	garbagePercent = "200"
)

// process is one program of an instance: started by this process, or read from
// the state file. The start time tells it from a later process that was given
// the same id.
type process struct {
	Name    string `json:"name"`
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
	Log     string `json:"log"`

	// reaped is closed after a child of this process was waited for; it is nil
	// for a process read from the state file.
	reaped chan struct{}
}

// command describes a program to start.
type command struct {
	name string
	args []string
	// dir is where the log is written and what the program sees as its home.
	dir string
	// keep lets the program outlive this process.
	keep bool
}

// start runs the command with its output in <dir>/<name>.log.
func start(ctx context.Context, c command) (*process, error) {
	p := &process{Name: c.name, Log: filepath.Join(c.dir, c.name+".log"), reaped: make(chan struct{})}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	defer func() { _ = log.Close() }() // the program has its own descriptor

	// The instance outlives the context that bounds its start.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), binary(c.name), c.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = c.dir
	// Nothing of the caller's settings (KUBECONFIG, proxies) may leak in.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "GOGC=" + garbagePercent}
	// A group of its own keeps the terminal's interrupt from the servers: they
	// end when Stop says so.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.keep {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}

	started := make(chan error)
	go func() {
		// The death signal is sent when the starting *thread* ends, so this one
		// is held until the program has ended.
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

// alive reports whether the process runs.
func (p *process) alive() bool {
	started, state, err := procStat(p.PID)
	return err == nil && started == p.Started && state != 'Z' && state != 'X'
}

// signal sends sig to the process if it still is the recorded one.
func (p *process) signal(sig syscall.Signal) error {
	if !p.alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %s (pid %d): %w", p.Name, p.PID, err)
	}
	return nil
}

// waitGone waits until the process has ended, and was reaped if it is a child.
func (p *process) waitGone(timeout time.Duration) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	if p.reaped != nil {
		select {
		case <-p.reaped:
			return nil
		case <-deadline.C:
			return fmt.Errorf("%s (pid %d) did not end within %s", p.Name, p.PID, timeout)
		}
	}
	tick := time.NewTicker(gonePollInterval)
	defer tick.Stop()
	for p.alive() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("%s (pid %d) did not end within %s", p.Name, p.PID, timeout)
		}
	}
	return nil
}

// stop ends the process and waits until it is gone: politely for as long as
// grace says, then by force.
func (p *process) stop(grace time.Duration) error {
	if grace > 0 {
		if err := p.signal(syscall.SIGTERM); err != nil {
			return err
		}
		if p.waitGone(grace) == nil {
			return nil
		}
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	return p.waitGone(killTimeout)
}

// excerpt returns what the log of the process says: how it begins, because a
// usage error is followed by pages of help, and how it ends.
func (p *process) excerpt() string {
	const head, tail = 3, 15
	log, err := os.ReadFile(p.Log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	if len(lines) > head+tail {
		lines = slices.Concat(lines[:head], []string{"..."}, lines[len(lines)-tail:])
	}
	return strings.Join(lines, "\n")
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
