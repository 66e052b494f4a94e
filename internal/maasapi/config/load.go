// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Input is where settings come from.
type Input struct {
	// Groups are the groups that count; empty means all.
	Groups []Group
	// Flags holds the flags that were given, by name.
	Flags map[string]string
	// Environment holds all environment variables.
	Environment map[string]string
}

// Result is a configuration that is valid and complete.
type Result struct {
	Config Config
	// Sources tells for each flag's name where the value came from.
	Sources map[string]Source
	// Warnings are sentences an administrator should read. Like errors they
	// repeat no value.
	Warnings []string
}

// Given returns the names of the settings that came from the source, sorted.
func (r Result) Given(source Source) []string {
	var names []string
	for name, from := range r.Sources {
		if from == source {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Load reads, checks and completes the settings. Its error lists every problem,
// each with the flag, the environment variable and what to do.
func Load(in Input) (Result, error) {
	groups := in.Groups
	if len(groups) == 0 {
		groups = AllGroups()
	}
	l := &loader{sources: map[string]Source{}, names: map[string]string{}}
	for _, s := range Settings() {
		l.names[s.Flag] = s.name()
		chosen := slices.Contains(groups, s.Group)
		l.read(s, in, chosen)
	}
	if len(l.problems) == 0 {
		l.check()
	}
	if len(l.problems) > 0 {
		return Result{}, describe(l.problems)
	}
	l.complete()
	l.warnings = append(l.warnings, unknownVariables(in.Environment)...)
	return Result{Config: l.config, Sources: l.sources, Warnings: l.warnings}, nil
}

// loader gathers one configuration and everything there is to say about it.
type loader struct {
	config   Config
	sources  map[string]Source
	names    map[string]string // Flag → how messages call the setting.
	problems []string
	warnings []string
}

// read sets one setting. Settings of groups that do not count keep their default.
func (l *loader) read(s Setting, in Input, chosen bool) {
	value, source := s.Default, SourceDefault
	if chosen {
		if text, given := in.Environment[s.Env]; given && (text != "" || s.keepEmpty) {
			value, source = text, SourceEnvironment
		}
		if text, given := in.Flags[s.Flag]; given {
			value, source = text, SourceFlag
		}
		l.sources[s.Flag] = source
	}
	if source == SourceDefault && value == "" {
		return
	}
	if err := s.parse(&l.config, value); err != nil {
		l.problem(s.Flag, err.Error())
		return
	}
	if s.Deprecated != "" && source != SourceDefault {
		l.warnings = append(l.warnings, s.name()+" is deprecated: "+s.Deprecated)
	}
}

func (l *loader) given(flag string) bool {
	return l.sources[flag] != SourceDefault
}

func (l *loader) problem(flag, text string) {
	l.problems = append(l.problems, l.names[flag]+" "+text)
}

// conflict names both settings that cannot hold together.
func (l *loader) conflict(flag, other, text string) {
	l.problems = append(l.problems, l.names[flag]+" and "+l.names[other]+" "+text)
}

func describe(problems []string) error {
	if len(problems) == 1 {
		return errors.New(problems[0])
	}
	return errors.New(strconv.Itoa(len(problems)) + " settings need another value:\n  " + strings.Join(problems, "\n  "))
}
