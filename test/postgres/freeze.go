// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
)

// Freeze halts all processes of the server: connections stay, nothing answers.
func (s *Server) Freeze() error { return signalTree(s.process, syscall.SIGSTOP) }

// Thaw lets the server continue.
func (s *Server) Thaw() error { return signalTree(s.process, syscall.SIGCONT) }

// signalTree signals a process, and then its children, which cannot become more
// while it is halted.
func signalTree(p *process.Process, sig syscall.Signal) error {
	if !p.Alive() {
		return nil
	}
	if err := p.Signal(sig); err != nil {
		return err
	}
	pids, err := children(p.PID)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal child of %s: %w", p.Name, err)
		}
	}
	return nil
}

// children lists the processes that a process has started.
func children(parent int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The second field is a name in parentheses that may contain anything.
		name := strings.LastIndexByte(string(content), ')')
		fields := strings.Fields(string(content[name+1:]))
		const parentField = 1
		if len(fields) <= parentField || fields[parentField] != strconv.Itoa(parent) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, fmt.Errorf("read process id: %w", err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
