// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// pair is both ends of a connection.
func pair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	one, err := new(net.Dialer).DialContext(t.Context(), "tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{one, other} {
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil { // One that hangs fails the test.
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	return one.(*net.TCPConn), other.(*net.TCPConn)
}

// joined is a client and a server with a relay between them, which is told of at its end.
func joined(t *testing.T, before string) (client, server *net.TCPConn, done chan struct{}) {
	t.Helper()
	client, here := pair(t)
	there, server := pair(t)
	done = make(chan struct{})
	go func() {
		defer close(done)
		Carry(here, io.MultiReader(strings.NewReader(before), here), there)
	}()
	return client, server, done
}

func TestAnEndThatHasFinishedStillHears(t *testing.T) {
	t.Parallel()
	client, server, done := joined(t, "well, ")
	if _, err := io.WriteString(client, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	// The server learns that it was all, and only then answers.
	if said, err := io.ReadAll(server); err != nil || string(said) != "well, hello" {
		t.Fatalf("the server reads %q, %v", said, err)
	}
	if _, err := io.WriteString(server, "goodbye"); err != nil {
		t.Fatal(err)
	}
	if err := server.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(client); err != nil || string(said) != "goodbye" {
		t.Fatalf("the client reads %q, %v", said, err)
	}
	<-done
}

func TestAnEndThatIsGoneEndsTheOther(t *testing.T) {
	t.Parallel()
	client, server, done := joined(t, "")
	if err := client.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil { // A reset.
		t.Fatal(err)
	}
	if _, err := io.ReadAll(server); err != nil {
		t.Fatal(err)
	}
	<-done
}
