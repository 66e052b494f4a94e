// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// gonePoll is how often a process that was told to end is looked at.
	gonePoll = 10 * time.Millisecond
	// killTimeout is how long a killed process may take to disappear.
	killTimeout = 20 * time.Second
)

// Process is a running program: started by this one, or read from a file in
// which its starter wrote it down. The start time tells it from a later process
// that was given the same id.
type Process struct {
	Name    string `json:"name"`
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
	Log     string `json:"log"`
	// StopSignal is that of its [Command].
	StopSignal syscall.Signal `json:"stopSignal,omitempty"`

	// reaped is closed after a child of this process was waited for; it is nil
	// for a process read from a file.
	reaped chan struct{}
	// exit is how a child ended; it is set before reaped is closed.
	exit *os.ProcessState
}

// Command describes a program to start.
type Command struct {
	// Name is what errors call it, Path the program.
	Name, Path string
	Args       []string
	// Env are its settings besides PATH. Nothing else of the caller's settings
	// (KUBECONFIG, proxies) may leak in.
	Env []string
	// Dir is its working directory; empty means the caller's.
	Dir string
	// Log is the file that receives its output.
	Log string
	// Keep lets the program outlive this process; otherwise they end together.
	Keep bool
	// User runs the program as somebody else; nil means as the caller.
	User *syscall.Credential
	// StopSignal asks the program to end; unset means SIGTERM.
	StopSignal syscall.Signal
}

// Start runs the command. The context lends its values only: what ends the
// program is Stop.
func Start(ctx context.Context, c Command) (*Process, error) {
	p := &Process{Name: c.Name, Log: c.Log, StopSignal: c.StopSignal, reaped: make(chan struct{})}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer func() { _ = log.Close() }() // the program has its own descriptor

	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Path, c.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = c.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, c.Env...)
	// A group of its own keeps the terminal's interrupt from the program: it
	// ends when Stop says so.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.Keep {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	cmd.SysProcAttr.Credential = c.User

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
			p.exit = cmd.ProcessState
			close(p.reaped)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p.PID = cmd.Process.Pid
	p.Started, _, _ = stat(p.PID)
	return p, nil
}

// Self is the process this function runs in, under the given name.
func Self(name string) (*Process, error) {
	started, _, err := stat(os.Getpid())
	if err != nil {
		return nil, err
	}
	return &Process{Name: name, PID: os.Getpid(), Started: started}, nil
}

// Alive reports whether the process runs.
func (p *Process) Alive() bool {
	started, state, err := stat(p.PID)
	return err == nil && started == p.Started && state != 'Z' && state != 'X'
}

// Done is closed once a child of this process has ended. It is nil, and never
// ready, for a process that was read from a file.
func (p *Process) Done() <-chan struct{} { return p.reaped }

// ExitCode is what a child ended with after [Process.Done]: as in a shell, 128 and
// the number of the signal if one ended it.
func (p *Process) ExitCode() int {
	const signalled = 128
	if status, ok := p.exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled + int(status.Signal())
	}
	return p.exit.ExitCode()
}

// Stop ends the process and waits until it is gone: politely for as long as
// grace says, then by force. One that is gone, or another that was given its
// id, is left alone.
func (p *Process) Stop(grace time.Duration) error {
	if grace > 0 {
		if err := p.Signal(cmp.Or(p.StopSignal, syscall.SIGTERM)); err != nil {
			return err
		}
		if p.waitGone(grace) == nil {
			return nil
		}
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	return p.waitGone(killTimeout)
}

// Signal sends a signal. One that is gone is left alone.
func (p *Process) Signal(sig syscall.Signal) error {
	if !p.Alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %s (pid %d): %w", p.Name, p.PID, err)
	}
	return nil
}

// waitGone waits until the process has ended, and was reaped if it is a child.
func (p *Process) waitGone(timeout time.Duration) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(gonePoll)
	defer tick.Stop()
	for p.reaped != nil || p.Alive() { // a nil channel is never ready
		select {
		case <-p.reaped:
			return nil
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("%s (pid %d) did not end within %s", p.Name, p.PID, timeout)
		}
	}
	return nil
}

// Excerpt returns what the log of the process says, see [ExcerptOf].
func (p *Process) Excerpt() string {
	const tail = 15
	return ExcerptOf(p.Log, tail)
}

// ExcerptOf returns what the log of a program says: how it begins, because a usage
// error is followed by pages of help, and how it ends, in so many lines. Of a Go program
// that crashed, whose log ends with pages of goroutines, it shows the crash instead,
// with what the program said last before.
func ExcerptOf(path string, tail int) string {
	const head, before, after = 3, 8, 24
	log, err := os.ReadFile(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	begin, end := len(lines)-tail, len(lines)
	if crash := slices.IndexFunc(lines, startsCrash); crash >= 0 {
		begin, end = crash-before, min(crash+after, len(lines))
	}
	var shown []string
	if begin > head {
		shown = slices.Concat(lines[:head], []string{"..."})
	} else {
		begin = 0
	}
	if shown = append(shown, lines[begin:end]...); end < len(lines) {
		shown = append(shown, "...")
	}
	return strings.Join(shown, "\n")
}

// startsCrash tells whether a line is the first that the runtime of Go prints when a
// program crashes, also by a signal, for example SIGABRT.
func startsCrash(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "SIG")
}

// CommandLine returns what a process was started with; it is empty once the
// process has ended, even if nobody has asked for its result yet.
func CommandLine(pid int) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(content), "\x00", " ")
}

// stat reads when a process was started (in ticks since boot) and its state.
func stat(pid int) (started uint64, state byte, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read process %d: %w", pid, err)
	}
	// The second field is a name in parentheses that may contain anything.
	_, rest, _ := strings.Cut(string(content[strings.LastIndexByte(string(content), ')'):]), " ")
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
