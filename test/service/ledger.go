// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
)

// Ledger remembers what was sent to the program and must not show in its log:
// keys, tokens, passwords, and the names of users and groups. The zero Ledger is
// empty. It may be used by several goroutines.
type Ledger struct {
	mu    sync.Mutex
	texts map[string]bool
}

// shortest is the length in bytes from which a text is unlikely to occur by itself.
const shortest = 6

// Secret adds texts; of a database URL the password counts too.
func (l *Ledger) Secret(texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts == nil {
		l.texts = map[string]bool{}
	}
	for _, text := range texts {
		if u, err := url.Parse(text); err == nil && u.User != nil {
			password, _ := u.User.Password()
			l.note(password)
		}
		l.note(text)
	}
}

func (l *Ledger) note(text string) {
	if len(text) >= shortest {
		l.texts[text] = true
	}
}

// Len is the number of texts.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.texts)
}

// Leaks returns the lines of a log in which one of the texts occurs, each once.
func (l *Ledger) Leaks(file string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	log, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = log.Close() }() // It was only read.
	var leaks []string
	const longest = 16 << 20
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		line := lines.Text()
		for text := range l.texts {
			if strings.Contains(line, text) {
				leaks = append(leaks, fmt.Sprintf("%q in: %s", text, line))
				break
			}
		}
	}
	slices.Sort(leaks)
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	return slices.Compact(leaks), nil
}
