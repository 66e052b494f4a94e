// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"net"
	"slices"
	"strconv"
	"strings"
)

// Program is what an image is on this machine.
type Program struct {
	// Path is the program, which a container without a command runs. Empty means that
	// Pods of the image pretend to run and to be ready; a Job of it never completes.
	Path string
	// Names are what a container's command may call the program, such as "/maas-api".
	// Another command is not found in the image.
	Names []string
	// Listen tells where the program would listen in its Pod; nil means nowhere.
	Listen func(Line) []Listener
	// Args are further arguments, for what differs on one machine; nil means none.
	Args func(Line) []string
}

// Listener is a port of a program.
type Listener struct {
	// Port is that in the Pod.
	Port int32
	// Flag takes the address here instead, as host:port, such as "--address".
	Flag string
	// Replaces are further flags and variables that say the same, which are dropped.
	Replaces []string
}

// Line is what a program is started with: arguments without the command, and
// variables.
type Line struct {
	Args []string
	Env  map[string]string
}

// Setting is the value of a flag, or else of a variable; both may be missing.
func (l Line) Setting(flag, variable string) string {
	value := l.Env[variable]
	for i, arg := range l.Args {
		name, given, joined := strings.Cut(arg, "=")
		switch {
		case name != flag:
		case joined:
			value = given
		case i+1 < len(l.Args) && !strings.HasPrefix(l.Args[i+1], "-"):
			value = l.Args[i+1]
		default:
			value = "true"
		}
	}
	return value
}

// without drops flags, with their values, and variables.
func (l Line) without(names []string) Line {
	out := Line{Env: map[string]string{}}
	for name, value := range l.Env {
		if !slices.Contains(names, name) {
			out.Env[name] = value
		}
	}
	for i := 0; i < len(l.Args); i++ {
		name, _, joined := strings.Cut(l.Args[i], "=")
		if !strings.HasPrefix(name, "-") || !slices.Contains(names, name) {
			out.Args = append(out.Args, l.Args[i])
			continue
		}
		if !joined && i+1 < len(l.Args) && !strings.HasPrefix(l.Args[i+1], "-") {
			i++
		}
	}
	return out
}

// MaaSAPI is the image of maas-api. Further arguments are for the server, not for
// jobs: where the gateway is on this machine, for example.
func MaaSAPI(path string, args ...string) Program {
	return Program{
		Path: path, Names: []string{"/maas-api", "maas-api"},
		Listen: maasAPIListeners,
		Args: func(l Line) []string {
			if !serves(l) {
				return nil
			}
			return append([]string{"--shutdown-drain=0s"}, args...)
		},
	}
}

// serves tells whether a command line of maas-api is that of the server.
func serves(l Line) bool {
	return len(l.Args) == 0 || strings.HasPrefix(l.Args[0], "-") || l.Args[0] == "serve"
}

func maasAPIListeners(l Line) []Listener {
	if len(l.Args) > 0 && l.Args[0] == "usage-proxy" {
		return []Listener{{Port: portOf(l.Setting("--address", ""), 8443), Flag: "--address"}}
	}
	if !serves(l) {
		return nil
	}
	api := int32(8080)
	if l.Setting("--secure", "SECURE") == "true" || l.Setting("--tls-cert", "TLS_CERT") != "" || l.Setting("--tls-self-signed", "TLS_SELF_SIGNED") == "true" {
		api = 8443
	}
	metrics := portNumber(l.Setting("--metrics-port", "METRICS_PORT"), 9090)
	listeners := []Listener{
		{Port: portOf(l.Setting("--address", "ADDRESS"), api), Flag: "--address"},
		{
			Port: portOf(l.Setting("--metrics-address", "METRICS_ADDRESS"), metrics),
			Flag: "--metrics-address", Replaces: []string{"--metrics-port", "METRICS_PORT"},
		},
	}
	if internal := l.Setting("--internal-address", "INTERNAL_ADDRESS"); internal != "" {
		listeners = append(listeners, Listener{Port: portOf(internal, 0), Flag: "--internal-address"})
	}
	return listeners
}

// portOf is the port of an address, which may be missing.
func portOf(address string, otherwise int32) int32 {
	if _, port, err := net.SplitHostPort(address); err == nil {
		return portNumber(port, otherwise)
	}
	return otherwise
}

func portNumber(text string, otherwise int32) int32 {
	const bits = 16
	if port, err := strconv.ParseUint(text, 10, bits); err == nil {
		return int32(port)
	}
	return otherwise
}
