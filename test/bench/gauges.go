// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	kibPerMiB   = 1024
	bytesPerMiB = 1 << 20
	bytesPerKiB = 1 << 10
	// clockTicks per second are what Linux reports process times in.
	clockTicks = 100
)

// memory is what a process holds and held at most, in MiB.
type memory struct{ now, peak float64 }

// memoryOf reads the memory of a process.
func memoryOf(pid int) (memory, error) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	var out memory
	// The peak is read last, or a process that grows in between would hold more.
	for _, v := range []struct {
		name string
		to   *float64
	}{{"VmRSS", &out.now}, {"VmHWM", &out.peak}} {
		text, _, _ := strings.Cut(field(status, v.name), " ")
		kib, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return out, fmt.Errorf("read %s of process %d: %w", v.name, pid, err)
		}
		*v.to = kib / kibPerMiB
	}
	return out, nil
}

// processorTime is how long a process has computed, in seconds.
func processorTime(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read times of process %d: %w", pid, err)
	}
	// The name in parentheses may hold spaces; user and system time are the 12th
	// and 13th field after it.
	const user, system = 11, 12
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) <= system {
		return 0, fmt.Errorf("read times of process %d: unknown format", pid)
	}
	var ticks float64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, fmt.Errorf("read times of process %d: %w", pid, err)
		}
		ticks += n
	}
	return ticks / clockTicks, nil
}
