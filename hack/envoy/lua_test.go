// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package envoy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// program is the one in Lua that counts tokens.
func program(t *testing.T) string {
	t.Helper()
	var found string
	for _, f := range filters(t) {
		for _, patch := range f.Spec.ConfigPatches {
			var value struct {
				Config struct {
					Source struct {
						Inline string `json:"inline_string"`
					} `json:"default_source_code"`
				} `json:"typed_config"`
			}
			if err := json.Unmarshal(patch.Patch.Value, &value); err == nil && value.Config.Source.Inline != "" {
				if found != "" && found != value.Config.Source.Inline {
					t.Fatal("Gateways have different programs")
				}
				found = value.Config.Source.Inline
			}
		}
	}
	if found == "" {
		t.Fatal("there is no program")
	}
	return found
}

// handle is what a proxy gives to the program, as far as it uses it.
//
//nolint:dupword // It is Lua.
const handle = `
passed, metadata = {}, {}
function bound(f) return function(self, ...) return f(...) end end
info = { set = function(self, ns, key, value) if broken then error("broken") end metadata[key] = ns .. " " .. value; known[key] = value end, get = function() return known end }
known = {}
handle = {
  headers = function() if broken then error("broken") end return { get = bound(function(name) return headers[name] end) } end,
  streamInfo = function() return { dynamicMetadata = function() return info end } end,
  bodyChunks = function()
    local i = 0
    return function()
      i = i + 1
      local text = pieces[i]
      if text == nil then return nil end
      passed[i] = text
      return {
        length = function() return #text end,
        getBytes = bound(function(from, size) if corrupt then error("corrupt") end return string.sub(text, from + 1, from + size) end),
      }
    end
  end,
}
`

// exchange is a request for a path and the type of its answer. Settings are faults.
type exchange struct{ path, kind, settings string }

// run has the program see a request and its answer in pieces, and returns what it notes
// and how many pieces passed.
func run(t *testing.T, source string, e exchange, pieces ...string) (metadata map[string]string, passed int) {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	list := state.NewTable()
	for _, piece := range pieces {
		list.Append(lua.LString(piece))
	}
	state.SetGlobal("pieces", list)
	headers := state.NewTable()
	headers.RawSetString(":path", lua.LString(e.path))
	headers.RawSetString("content-type", lua.LString(e.kind))
	state.SetGlobal("headers", headers)
	for _, code := range []string{handle, source, e.settings, "envoy_on_request(handle)", "envoy_on_response(handle)"} {
		if err := state.DoString(code); err != nil {
			t.Fatalf("run %.40q: %v", code, err)
		}
	}
	metadata = map[string]string{}
	if table, ok := state.GetGlobal("metadata").(*lua.LTable); ok {
		table.ForEach(func(key, value lua.LValue) { metadata[key.String()] = value.String() })
	}
	if table, ok := state.GetGlobal("passed").(*lua.LTable); ok {
		passed = table.Len()
	}
	return metadata, passed
}

const (
	chat   = "/llm/m/v1/chat/completions?x=/v1/models"
	stream = "text/event-stream; charset=utf-8"
	first  = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"\\\"total_tokens\\\":9\"}}],\"usage\":null}\n\n"
	last   = "data: {\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\": 7,\"total_tokens\":1234,\"completion_tokens\":1227}}\n\ndata: [DONE]\n\n"
)

// wantTokens compares the number of all tokens, of those of the prompt and of the rest.
func wantTokens(t *testing.T, name string, got map[string]string, numbers ...string) {
	t.Helper()
	for i, attribute := range []string{"tokens_total", "tokens_prompt", "tokens_completion"} {
		want := numbers[i]
		if want != "" {
			want = "maas.usage " + want
		}
		if got[attribute] != want {
			t.Errorf("%s: %s is %q, want %q", name, attribute, got[attribute], want)
		}
	}
}

func TestTokensOfAStream(t *testing.T) {
	t.Parallel()
	source := program(t)
	whole := first + last
	for split := range len(whole) {
		got, passed := run(t, source, exchange{chat, stream, ""}, whole[:split], whole[split:])
		wantTokens(t, fmt.Sprintf("split at %d", split), got, "1234", "7", "1227")
		if got["response_model"] != "maas.usage m" || passed != 2 {
			t.Errorf("split at %d: model %q, %d pieces passed", split, got["response_model"], passed)
		}
	}
	single := strings.Split(whole, "")
	got, passed := run(t, source, exchange{chat, stream, ""}, single...)
	wantTokens(t, "letter by letter", got, "1234", "7", "1227")
	if passed != len(single) {
		t.Errorf("%d pieces passed", passed)
	}
}

func TestStreamsWithoutTokens(t *testing.T) {
	t.Parallel()
	source := program(t)
	got, passed := run(t, source, exchange{chat, stream, ""}, first, "", first)
	wantTokens(t, "no usage", got, "0", "0", "0")
	if passed != 3 {
		t.Errorf("%d pieces passed", passed)
	}
	got, _ = run(t, source, exchange{chat, stream, ""}, strings.Repeat("x", 1<<20)+last)
	wantTokens(t, "a large piece", got, "1234", "7", "1227")
	got, _ = run(t, source, exchange{chat, stream, ""}, `"usage":{"total_tokens":`+strings.Repeat("9", 40)+`}`)
	wantTokens(t, "a number that is too large", got, "0", "0", "0")
}

func TestOtherAnswersAreLeftAlone(t *testing.T) {
	t.Parallel()
	source := program(t)
	for name, tc := range map[string][2]string{
		"another path": {"/v1/models", stream}, "a path in the query": {"/x?/v1/completions", stream}, "one piece": {chat, "application/json"}, "no type": {chat, ""},
	} {
		got, passed := run(t, source, exchange{tc[0], tc[1], ""}, last)
		wantTokens(t, name, got, "", "", "")
		if passed != 0 {
			t.Errorf("%s: %d pieces were looked at", name, passed)
		}
	}
}

// Whatever fails in the program, the answer passes.
func TestFaultsChangeNoAnswer(t *testing.T) {
	t.Parallel()
	source := program(t)
	if _, passed := run(t, source, exchange{chat, stream, "broken = true"}, last); passed != 0 {
		t.Errorf("%d pieces were looked at", passed)
	}
	got, passed := run(t, source, exchange{chat, stream, "corrupt = true"}, first, last)
	wantTokens(t, "pieces that cannot be read", got, "0", "0", "0")
	if passed != 2 {
		t.Errorf("%d pieces passed", passed)
	}
}
