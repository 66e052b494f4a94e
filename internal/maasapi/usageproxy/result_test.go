// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"
)

// answered is an answer of a log store, of which only two members are the user's own.
const answered = `{"status":"success","data":{"resultType":"streams","result":[{"stream":{"user_id":"ann","model":"a/b"},
"values":[["1700000000000000000","{\"a\":\"]}\\\"\"}"],["1700000000000000001",""]]}],"stats":{"summary":{"bytesProcessedPerSecond":912,
"linesProcessedPerSecond":6,"totalBytesProcessed":1216,"totalLinesProcessed":8,"execTime":1.3,"queueTime":0,"subqueries":0,"totalEntriesReturned":2},
"querier":{"store":{"totalChunksRef":3,"chunk":{"headChunkLines":8}}},"index":{}}}}`

func TestOnlyTheResultIsPassedOn(t *testing.T) {
	t.Parallel()
	const result = `[{"stream":{"user_id":"ann","model":"a/b"},
"values":[["1700000000000000000","{\"a\":\"]}\\\"\"}"],["1700000000000000001",""]]}]`
	const vector = `{"resultType":"vector","result":[]}`
	for name, tc := range map[string][2]string{
		"statistics":        {answered, `{"status":"success","data":{"resultType":"streams","result":` + result + `}}`},
		"statistics before": {`{"data":{"stats":{"a":[{"b":"}"}]},"result":[],"resultType":"vector"},"x":-1.5e3,"status":"success"}` + "\n", `{"status":"success","data":` + vector + `}`},
		"a warning":         {`{"status":"success","warnings":["8 lines of others"],"data":` + vector + `}`, `{"status":"success","data":` + vector + `,"warnings":["The log store warns that this may not be all"]}`},
		"no warning":        {`{"status":"success","warnings":[],"data":` + vector + `}`, `{"status":"success","data":` + vector + `}`},
		"nothing":           {`{"status":"success","data":{"resultType":"streams","result":null}}`, `{"status":"success","data":{"resultType":"streams","result":null}}`},
		"a number":          {`{ "status" : "success" , "data" : { "resultType" : "scalar" , "result" : [1.5,"2"] , "encodingFlags" : ["x"] } }`, `{"status":"success","data":{"resultType":"scalar","result":[1.5,"2"]}}`},
	} {
		answer, err := readBody(iotest.OneByteReader(strings.NewReader(tc[0])), maxBody)
		if err != nil {
			t.Fatal(err)
		}
		// Pieces may end anywhere.
		for _, in := range []body{answer, bodyOf([]byte(tc[0])), inBytes(tc[0])} {
			out, err := resultIn(in)
			if got := out.whole(); err != nil || got != tc[1] || out.size != len(got) {
				t.Errorf("%s: %d bytes %s, error %v", name, out.size, got, err)
			}
		}
	}
}

func inBytes(text string) body {
	var b body
	for i := range len(text) {
		b = joined(b, bodyOf([]byte(text[i:i+1])))
	}
	return b
}

func TestAnswersOfAnotherFormAreNotPassedOn(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "null", "[]", `"a"`, "{", `{"status":"success"}`, `{"status":"error","data":{"resultType":"a","result":[]}}`, `{"status":"success","data":[]}`,
		`{"status":"success","data":{"resultType":"a"}}`, `{"status":"success","data":{"result":[]}}`, answered + "{}", answered[1:], `{"status":"success","data":{"resultType":"a","result":}}`,
		`{"status":"success" "data":{"resultType":"a","result":[]}}`, `{status:"success","data":{"resultType":"a","result":[]}}`, `{"status":"success","data":{"resultType":"a","result":]}}`,
	} {
		if out, err := resultIn(bodyOf([]byte(text))); err == nil {
			t.Errorf("%s gives %s", text, out.whole())
		}
	}
	for end := range len(answered) {
		if out, err := resultIn(bodyOf([]byte(answered[:end]))); err == nil {
			t.Errorf("the first %d bytes give %s", end, out.whole())
		}
	}
}

// FuzzResultIn compares with a parser of JSON: of what is JSON, exactly the two members
// are passed on.
func FuzzResultIn(f *testing.F) {
	f.Add(answered)
	f.Add(`{"data":{"stats":{"a":[{"b":"}"}]},"result":[],"resultType":"vector"},"x":-1.5e3,"status":"success"}`)
	f.Add(`{"status":"success","warnings":["a"],"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"2"]}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		out, err := resultIn(bodyOf([]byte(text)))
		if !json.Valid([]byte(text)) {
			return
		}
		var whole map[string]any
		if json.Unmarshal([]byte(text), &whole) != nil || err != nil {
			return
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(out.whole()), &got); err != nil {
			t.Fatalf("%s gives %s: %v", text, out.whole(), err)
		}
		delete(got, "warnings")
		data, isObject := got["data"].(map[string]any)
		if len(got) != 2 || !isObject || len(data) != 2 {
			t.Errorf("%s gives %s", text, out.whole())
		}
	})
}
