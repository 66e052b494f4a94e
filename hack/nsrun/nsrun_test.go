// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// What needs a namespace, and hence root, is tested where the program is used: by
// test/engines.

func TestParse(t *testing.T) {
	t.Parallel()
	const a, b, c = "127.0.0.1:1001", "127.0.0.1:1002", "127.8.9.10:1003"
	tests := map[string]struct {
		args    string
		want    settings
		wantErr string
	}{
		"routes of both directions and a program with flags of its own": {
			args: "--in " + a + "=" + b + " --out " + b + "=" + c + " -in=" + c + "=" + a + " -- server --in x",
			want: settings{in: routes{{a, b}, {c, a}}, out: routes{{b, c}}, command: []string{"server", "--in", "x"}},
		},
		"directories of its own":     {args: "--private /a --private /b server", want: settings{private: directories{"/a", "/b"}, command: []string{"server"}}},
		"a directory somewhere":      {args: "--private a server", wantErr: "is no absolute path"},
		"no program":                 {args: "--in " + a + "=" + b, wantErr: "which program?"},
		"no pair":                    {args: "--in " + a + " -- server", wantErr: "is no pair of addresses"},
		"all interfaces outside":     {args: "--in 0.0.0.0:1001=" + b + " -- server", wantErr: "is no loopback address"},
		"all interfaces, left out":   {args: "--in :1001=" + b + " -- server", wantErr: "is no loopback address"},
		"somebody else's":            {args: "--out " + a + "=192.0.2.1:443 -- server", wantErr: "is no loopback address"},
		"a name":                     {args: "--out " + a + "=localhost:443 -- server", wantErr: "is no loopback address"},
		"IPv6, which is not set up":  {args: "--in [::1]:1001=" + a + " -- server", wantErr: "is no loopback address"},
		"no port":                    {args: "--in 127.0.0.1=" + a + " -- server", wantErr: "is no address"},
		"any port":                   {args: "--in 127.0.0.1:0=" + a + " -- server", wantErr: "has no port"},
		"a port beyond all":          {args: "--in 127.0.0.1:65536=" + a + " -- server", wantErr: "has no port"},
		"a flag that does not exist": {args: "--inn x -- server", wantErr: "not defined"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(strings.Fields(tc.args), io.Discard)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("parse(%s) = %v, want an error with %q", tc.args, err, tc.wantErr)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("parse(%s) = %+v, %v, want %+v", tc.args, got, err, tc.want)
			}
		})
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	code, err := run([]string{"--help"}, &out)
	if code != 0 || !errors.Is(err, flag.ErrHelp) || out.String() != intro {
		t.Errorf("run(--help) = %d, %v and %q", code, err, out.String())
	}
}

// serve answers each connection in its own way, and returns where.
func serve(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	listener, err := direct{}.listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	return listener.Addr().String()
}

// leading is an address whose connections are forwarded to a target.
func leading(t *testing.T, target string) string {
	t.Helper()
	var f forwarder
	t.Cleanup(f.stop)
	if err := f.start(direct{}, "127.0.0.1:0", direct{}, target); err != nil {
		t.Fatal(err)
	}
	return f.listeners[0].Addr().String()
}

// through connects through a forwarder to a target.
func through(t *testing.T, target string) *net.TCPConn {
	t.Helper()
	conn, err := direct{}.dial(leading(t, target))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

func TestBothEndsLearnThatTheOtherHasFinished(t *testing.T) {
	t.Parallel()
	target := serve(t, func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		all, _ := io.ReadAll(conn) // It ends only when the client has finished.
		_, _ = conn.Write(bytes.ToUpper(all))
	})
	conn := through(t, target)
	if _, err := io.WriteString(conn, "how are you?"); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != "HOW ARE YOU?" {
		t.Errorf("the answer is %q, %v", got, err)
	}
}

func TestAClientThatIsGoneIsNoLongerServed(t *testing.T) {
	t.Parallel()
	noticed := make(chan struct{})
	target := serve(t, func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		for {
			if _, err := conn.Write(make([]byte, 1<<16)); err != nil {
				close(noticed)
				return
			}
		}
	})
	conn := through(t, target)
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	<-noticed
}

func TestAConnectionThatLeadsNowhereIsReset(t *testing.T) {
	t.Parallel()
	listener, err := direct{}.listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := listener.Addr().String()
	_ = listener.Close()
	conn, err := direct{}.dial(leading(t, nowhere))
	if err == nil { // Else it was reset at once.
		_, err = io.ReadAll(conn)
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ended with %v, want a reset", err)
	}
}
