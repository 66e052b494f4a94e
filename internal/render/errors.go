// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Error is a fault of one template: found when the engine was built, or when
// the template was rendered. It never carries a value that was rendered.
type Error struct {
	// ID is the template at fault. It is empty for a fragment in _lib.
	ID ID
	// File is the path of the file at fault. It lies in _lib when the fault
	// of a template is in a fragment it includes.
	File string
	// Line is the line in File. Zero means that no line is known.
	Line int
	// Message says what is wrong and what to do about it.
	Message string
	// Err is the cause, if there is one.
	Err error
}

// Error names the template, the line, the fault and the remedy.
func (e *Error) Error() string {
	var b strings.Builder
	if e.ID != "" {
		b.WriteString("template " + string(e.ID))
		if e.File != "" && e.File != e.ID.File() {
			b.WriteString(": in " + e.File)
		}
	} else {
		b.WriteString("fragment file " + e.File)
	}
	if e.Line > 0 {
		b.WriteString(" line " + strconv.Itoa(e.Line))
	}
	b.WriteString(": " + e.Message)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// report collects the faults of one source file.
type report struct {
	file string
	text string
	errs []error
}

// atOffset adds a fault at a byte offset of the file.
func (r *report) atOffset(offset int, format string, args ...any) {
	r.atLine(lineAt(r.text, offset), format, args...)
}

// atLine adds a fault at a line of the file. Line 0 means the whole file.
func (r *report) atLine(line int, format string, args ...any) {
	r.errs = append(r.errs, &Error{ID: idOf(r.file), File: r.file, Line: line, Message: fmt.Sprintf(format, args...)})
}

// err joins all faults.
func (r *report) err() error { return errors.Join(r.errs...) }

// lineAt returns the 1-based line of a byte offset.
func lineAt(text string, offset int) int {
	return 1 + strings.Count(text[:min(offset, len(text))], "\n")
}

const (
	templateSuffix = ".yaml.tmpl"
	fragmentSuffix = ".tpl"
	fragmentDir    = "_lib"
)

// idOf returns the template id of a file, or nothing for a fragment.
func idOf(file string) ID {
	if path.Dir(file) == fragmentDir {
		return ""
	}
	return ID(strings.TrimSuffix(file, templateSuffix))
}

var parseErrorPattern = regexp.MustCompile(`^template: [^:]+:(\d+): (?s:(.*))$`)

// splitParseError takes the line and the message out of an error of the
// template parser.
func splitParseError(err error) (line int, message string) {
	m := parseErrorPattern.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, err.Error()
	}
	line, _ = strconv.Atoi(m[1]) // the pattern admits only digits
	return line, m[2]
}
