// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit reads the audit log of a test API server: who asked for what,
// and with what result. Call counts, "nothing was written" and "which rights
// were used" are judged by it, never by counters in a client under test.
//
// It knows the log's format and nothing of who writes it. An event is written
// when the request is finished, which can be an instant after its caller has
// the response: wait for an expected event with Eventually.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// Event is one request.
type Event struct {
	// User is who is taken to have asked: the impersonated user if there is one.
	User      string
	Groups    []string
	UserAgent string
	// Verb is that of Kubernetes: get, list, watch, create, update, patch,
	// delete, deletecollection; for other URLs the HTTP method in lower case.
	Verb string
	// APIGroup, Resource, Subresource, Namespace and Name say on what; they are
	// empty for URLs that are not resources.
	APIGroup    string
	APIVersion  string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	URI         string
	// DryRun is set when nothing was to be stored.
	DryRun bool
	// Code is the HTTP status; 0 for a watch that is still open.
	Code int
	// Message is what the API server said to a request that failed.
	Message  string
	Received time.Time
	Finished time.Time
}

// String describes the event in one line, for failure messages.
func (e Event) String() string {
	return fmt.Sprintf("%s %s %s -> %d (%s)", e.User, e.Verb, e.URI, e.Code, e.Received.Format("15:04:05.000"))
}

// Log is an audit log that is read as it grows. It may be used by several
// goroutines.
type Log struct {
	path string

	mu     sync.Mutex
	offset int64
	events []Event
}

// Open returns the log in a file, which need not exist yet.
func Open(path string) *Log { return &Log{path: path} }

// Events returns the events so far that pass all filters, in the order in which
// they were finished. A watch counts once, when it begins.
func (l *Log) Events(filters ...Filter) ([]Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(); err != nil {
		return nil, err
	}
	var matching []Event
	for i := range l.events {
		if matches(&l.events[i], filters) {
			matching = append(matching, l.events[i])
		}
	}
	return matching, nil
}

// Mark is an instant in the life of the log.
type Mark time.Time

// Now returns the present instant, in the log's own unit of time.
func Now() Mark { return Mark(time.Now().Truncate(time.Microsecond)) }

// After returns the events that pass all filters of requests received since the mark.
// It goes by the time of the request and not by the place in the log: the event of a
// request from before the mark may be written behind it.
func (l *Log) After(mark Mark, filters ...Filter) ([]Event, error) {
	return l.Events(append([]Filter{Since(time.Time(mark))}, filters...)...)
}

// read takes in the lines that were completed since the last call.
func (l *Log) read() error {
	file, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	const bufferSize = 1 << 20
	lines := bufio.NewReaderSize(file, bufferSize)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // an unfinished line is read again next time
		}
		if err != nil {
			return fmt.Errorf("read audit log: %w", err)
		}
		if err := l.take(line); err != nil {
			return err
		}
		l.offset += int64(len(line))
	}
}

// record is the part of audit.k8s.io/v1 Event that is used here.
type record struct {
	Stage      string
	Verb       string
	RequestURI string
	UserAgent  string
	User       struct {
		Username string
		Groups   []string
	}
	ImpersonatedUser *struct {
		Username string
		Groups   []string
	}
	ObjectRef struct {
		APIGroup    string
		APIVersion  string
		Resource    string
		Subresource string
		Namespace   string
		Name        string
	}
	ResponseStatus struct {
		Code    int
		Message string
	}
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

// The stages of a request that are looked at.
const (
	stageStarted  = "ResponseStarted"
	stageComplete = "ResponseComplete"
	stagePanic    = "Panic"
)

func (l *Log) take(line []byte) error {
	var r record
	if err := json.Unmarshal(bytes.TrimSpace(line), &r); err != nil {
		return fmt.Errorf("read audit log at byte %d: %w", l.offset, err)
	}
	if !r.counts() {
		return nil
	}
	user, groups := r.User.Username, r.User.Groups
	if r.ImpersonatedUser != nil {
		user, groups = r.ImpersonatedUser.Username, r.ImpersonatedUser.Groups
	}
	l.events = append(l.events, Event{
		User: user, Groups: groups, UserAgent: r.UserAgent, Verb: r.Verb,
		APIGroup: r.ObjectRef.APIGroup, APIVersion: r.ObjectRef.APIVersion,
		Resource: r.ObjectRef.Resource, Subresource: r.ObjectRef.Subresource,
		Namespace: r.ObjectRef.Namespace, Name: r.ObjectRef.Name, URI: r.RequestURI,
		DryRun: strings.Contains(r.RequestURI, "dryRun=All"),
		Code:   r.ResponseStatus.Code, Message: r.ResponseStatus.Message,
		Received: r.RequestReceivedTimestamp, Finished: r.StageTimestamp,
	})
	return nil
}

// counts picks one record per request: a watch answers long before it ends.
// A refused watch never starts, so its end counts.
func (r *record) counts() bool {
	switch r.Stage {
	case stageStarted:
		return r.Verb == VerbWatch
	case stageComplete:
		return r.Verb != VerbWatch || r.ResponseStatus.Code >= 400
	default:
		return r.Stage == stagePanic
	}
}
