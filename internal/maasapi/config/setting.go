// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package config

// Source tells where the value of a setting came from.
type Source int

// The sources, by rising precedence.
const (
	SourceDefault Source = iota
	SourceEnvironment
	SourceFlag
)

// String returns the word for logs and documents.
func (s Source) String() string {
	switch s {
	case SourceEnvironment:
		return "environment"
	case SourceFlag:
		return "flag"
	default:
		return "default"
	}
}

// Group is a set of settings that belong together in the help text and that a
// sub-command takes as a whole.
type Group string

// The groups, in the order of the help text.
const (
	GroupGeneral   Group = "General"
	GroupListeners Group = "Listeners"
	GroupTLS       Group = "TLS"
	GroupGateway   Group = "Gateway and models"
	GroupDatabase  Group = "Database"
	GroupKeys      Group = "API keys"
	GroupTracing   Group = "Tracing"
)

// AllGroups returns every group, in the order of the help text.
func AllGroups() []Group {
	return []Group{GroupGeneral, GroupListeners, GroupTLS, GroupGateway, GroupDatabase, GroupKeys, GroupTracing}
}

// Setting is one thing that can be configured.
type Setting struct {
	// Flag is the name of the flag without dashes.
	Flag string
	// Env is the name of the environment variable.
	Env string
	// Default is the text of the default; empty where there is none or where it
	// follows from other settings, as Usage then says.
	Default string
	Group   Group
	// Kind is the type of the value, as the help text shows it.
	Kind string
	// Usage explains the setting in one sentence.
	Usage string
	// Deprecated tells what to use instead; empty for current settings.
	Deprecated string

	keepEmpty bool // An empty environment variable counts as given.
	parse     func(c *Config, text string) error
}

// Boolean tells whether the flag may be given without a value.
func (s Setting) Boolean() bool {
	return s.Kind == kindBool
}

// name is how errors call the setting.
func (s Setting) name() string {
	return "--" + s.Flag + " (" + s.Env + ")"
}

// Settings returns all settings, by group.
func Settings() []Setting {
	var all []Setting
	all = append(all, general()...)
	all = append(all, listeners()...)
	all = append(all, lifecycle()...)
	all = append(all, encryption()...)
	all = append(all, gateway()...)
	all = append(all, database()...)
	all = append(all, keys()...)
	return append(all, tracing()...)
}
