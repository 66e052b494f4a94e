// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Protocol is a version of HTTP.
type Protocol string

// The protocols.
const (
	// HTTP1 is HTTP/1.1 with a connection for each client, which is kept.
	HTTP1 Protocol = "HTTP/1.1"
	// HTTP2 is HTTP/2 with one connection for all clients.
	HTTP2 Protocol = "HTTP/2"
	// GRPC is gRPC without TLS with one connection for all clients. The path of a request
	// is that of a method, its body the message as it is encoded.
	GRPC Protocol = "gRPC"
)

// answerTimeout is how long one answer may take.
const answerTimeout = 10 * time.Second

// dialer makes connections.
type dialer interface {
	dial(context.Context) (conn, error)
	close()
}

// conn is what one client asks over.
type conn interface {
	exchange(context.Context, *Request) error
	close()
}

func newDialer(p *Plan) (dialer, error) {
	switch p.Protocol {
	case HTTP1:
		return &dialer1{address: p.Address}, nil
	case HTTP2:
		return newDialer2(p.Address), nil
	case GRPC:
		return newDialerGRPC(p.Address), nil
	default:
		return nil, fmt.Errorf("check the plan: there is no protocol %q", p.Protocol)
	}
}

// check compares an answer with what is wanted.
func (r *Request) check(status int, body []byte) error {
	if status != r.Status || !bytes.Contains(body, r.Text) {
		return &wrongAnswer{status: status, text: fmt.Sprintf("POST %s is answered by %d %s, want %d and %s", r.Path, status, body, r.Status, r.Text)}
	}
	return nil
}

// wrongAnswer is an answer that is not what it should be.
type wrongAnswer struct {
	status int
	text   string
}

func (e *wrongAnswer) Error() string { return e.text }

type dialer1 struct{ address string }

func (d *dialer1) dial(ctx context.Context) (conn, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}
	socket, err := dialer.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	return &conn1{socket: socket, reader: bufio.NewReader(socket), host: d.address}, nil
}

func (d *dialer1) close() {}

// conn1 is a connection that is kept. It is used by one client at a time.
type conn1 struct {
	socket    net.Conn
	reader    *bufio.Reader
	host      string
	out, body []byte
}

func (c *conn1) close() { _ = c.socket.Close() } // Everything was answered.

func (c *conn1) exchange(_ context.Context, r *Request) error {
	if err := c.socket.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	c.out = append(append(append(c.out[:0], "POST "...), r.Path...), " HTTP/1.1\r\nHost: "...)
	c.out = append(append(c.out, c.host...), "\r\nUser-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: "...)
	c.out = append(append(strconv.AppendInt(c.out, int64(len(r.Body)), 10), "\r\n\r\n"...), r.Body...)
	if _, err := c.socket.Write(c.out); err != nil {
		return err
	}
	status, length, err := c.head()
	if err != nil {
		return fmt.Errorf("read answer to POST %s: %w", r.Path, err)
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	if _, err := io.ReadFull(c.reader, c.body); err != nil {
		return fmt.Errorf("read answer to POST %s: %w", r.Path, err)
	}
	return r.check(status, c.body)
}

// head reads the status and the length of the body.
func (c *conn1) head() (status, length int, err error) {
	const begin, end = 9, 12 // Of the status in "HTTP/1.1 200 OK".
	length = -1
	for first := true; ; first = false {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		if first {
			if len(line) < end {
				return 0, 0, fmt.Errorf("it begins with %q", line)
			}
			if status, err = strconv.Atoi(string(line[begin:end])); err != nil {
				return 0, 0, err
			}
			continue
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		const name = "content-length:"
		if len(line) > len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return 0, 0, err
			}
		}
	}
	if length < 0 {
		return 0, 0, errors.New("it does not say how long it is")
	}
	return status, length, nil
}
