// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import "encoding/json"

// failure is an answer that is an error, in the form that clients of the log store
// know.
type failure struct {
	status int
	kind   string
	text   string
}

func refuse(status int, kind, text string) *failure {
	return &failure{status: status, kind: kind, text: text}
}

type errorBody struct {
	Status string `json:"status"`
	Kind   string `json:"errorType"`
	Text   string `json:"error"`
}

func (f *failure) content() body {
	text, err := json.Marshal(errorBody{Status: "error", Kind: f.kind, Text: f.text})
	if err != nil {
		text = []byte(`{"status":"error"}`) // Three texts are always written.
	}
	return bodyOf(text)
}
