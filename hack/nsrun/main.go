// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command nsrun runs a program in a network namespace of its own, where it may
// listen on all interfaces and on any port without being reachable, and forwards
// between loopback addresses of both sides as it was told. It owns the namespace and
// the connections it forwards. It must not know what the program is for.
//
// It runs on Linux, as root.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opendatahub-io/maas-operator/hack/loopback"
)

const intro = `nsrun runs a program in a network namespace of its own: it has nothing but a
loopback interface there, so whatever it listens on is out of reach from outside,
and it reaches nothing. What shall pass is forwarded between loopback addresses:

  --in HOST=INSIDE    serves HOST, outside, and leads to INSIDE, where the program listens
  --out INSIDE=HOST   serves INSIDE, where the program connects to, and leads to HOST

  --private DIR       is empty at first, and what is in it is seen by the program alone

All may be repeated. Example:

  nsrun --in 127.0.0.1:40123=127.0.0.1:8080 --out 127.0.0.1:6443=127.0.0.1:6443 -- server -listen :8080

Signals go to the program. It ends with nsrun, however that ends, and nsrun ends
with its exit code: 128 and the signal's number if one ended it. nsrun's own errors
are 125. It needs Linux, and root, to make a network namespace.

Usage: nsrun [--in HOST=INSIDE]... [--out INSIDE=HOST]... [--private DIR]... -- PROGRAM [ARGUMENT]...
`

// ownError is the exit code of errors that are not the program's.
const ownError = 125

// settings are the command line.
type settings struct {
	in, out routes
	private directories
	command []string
}

func main() {
	code, err := run(os.Args[1:], os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "nsrun:", err)
	}
	os.Exit(code)
}

// run does what the arguments say, and returns the exit code.
func run(args []string, out io.Writer) (int, error) {
	s, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return 0, err
	}
	if err != nil {
		return ownError, err
	}
	if os.Geteuid() != 0 {
		return ownError, errors.New("making a network namespace needs root")
	}
	inside, err := newNamespace(s.private)
	if err != nil {
		return ownError, err
	}
	var forwarding forwarder
	defer forwarding.stop()
	host := direct{}
	for _, r := range s.in {
		if err := forwarding.start(host, r.from, inside, r.to); err != nil {
			return ownError, fmt.Errorf("--in %s: %w", r, err)
		}
	}
	for _, r := range s.out {
		if err := forwarding.start(inside, r.from, host, r.to); err != nil {
			return ownError, fmt.Errorf("--out %s: %w", r, err)
		}
	}
	return inside.execute(s.command)
}

// parse reads the command line.
func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("nsrun", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() { fmt.Fprint(out, intro) }
	f.Var(&s.in, "in", "")
	f.Var(&s.out, "out", "")
	f.Var(&s.private, "private", "")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.command = f.Args(); len(s.command) == 0 {
		return s, errors.New("which program? See --help")
	}
	return s, nil
}

// route leads from an address that is served to one that is connected to.
type route struct{ from, to string }

func (r route) String() string { return r.from + "=" + r.to }

// routes is a flag that may be repeated.
type routes []route

func (r *routes) String() string { return fmt.Sprint(*r) }

// Set adds a route.
func (r *routes) Set(text string) error {
	from, to, found := strings.Cut(text, "=")
	if !found {
		return fmt.Errorf("%q is no pair of addresses: write 127.0.0.1:<port>=127.0.0.1:<port>", text)
	}
	for _, address := range []string{from, to} {
		if err := servable(address); err != nil {
			return err
		}
	}
	*r = append(*r, route{from: from, to: to})
	return nil
}

// directories is a flag that may be repeated.
type directories []string

func (d *directories) String() string { return fmt.Sprint(*d) }

// Set adds a directory.
func (d *directories) Set(text string) error {
	if !filepath.IsAbs(text) {
		return fmt.Errorf("%q is no absolute path", text)
	}
	*d = append(*d, text)
	return nil
}

// servable refuses addresses that others can reach, that name no port, or that no
// network namespace made here has.
func servable(address string) error {
	if err := loopback.Check(address); err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(address)
	if net.ParseIP(host).To4() == nil {
		return fmt.Errorf("%q is no loopback address of IPv4, and IPv6 is not set up", address)
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf("%q has no port that can be served", address)
	}
	return nil
}
