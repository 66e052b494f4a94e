// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	t.Parallel()
	const header = `{"Action":"start","Package":"p"}` + "\n"
	tests := map[string]struct {
		events     string
		allowSkips bool
		wantOK     bool
		want       string
	}{
		"a passing package shows only its closing line": {
			events: header +
				`{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`,
			wantOK: true,
			want:   "ok  \tp\t0.1s\npackages: 1 ok, 0 of them flaky, 0 failed, 0 without tests; skipped tests: 0\n1 passed, 0 failed\n",
		},
		"a failing test shows its output and fails the run": {
			events: header +
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: boom\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "    a_test.go:1: boom\nFAIL\tp\t0.1s\npackages: 0 ok, 0 of them flaky, 1 failed, 0 without tests; skipped tests: 0\n1 passed, 1 failed\n",
		},
		"a package that passes when it runs again is named as flaky": {
			events: header +
				`{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`,
			wantOK: true,
			want: "FAIL\tp\t0.1s\nok  \tp\t0.1s\nflaky: p, which passed when it ran again: TestA\n" +
				"packages: 1 ok, 1 of them flaky, 0 failed, 0 without tests; skipped tests: 0\n1 passed, 0 failed\n",
		},
		"a package that fails again fails the run": {
			events: header +
				`{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
{"Action":"start","Package":"p"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "FAIL\tp\t0.1s\nFAIL\tp\t0.1s\npackages: 0 ok, 0 of them flaky, 1 failed, 0 without tests; skipped tests: 0\n0 passed, 1 failed\n",
		},
		"a package that begins again and never ends fails the run": {
			events: header +
				`{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
{"Action":"start","Package":"p"}
`,
			want: "packages: 0 ok, 0 of them flaky, 1 failed, 0 without tests; skipped tests: 0\n0 passed, 1 failed\n",
		},
		"subtests are counted in place of their parent": {
			events: header +
				`{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA/two/deep"}
{"Action":"pass","Package":"p","Test":"TestA/two"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`,
			wantOK: true,
			want:   "ok  \tp\t0.1s\npackages: 1 ok, 0 of them flaky, 0 failed, 0 without tests; skipped tests: 0\n2 passed, 0 failed\n",
		},
		"specs of a coloured Ginkgo suite are counted in place of its test": {
			events: header +
				`{"Action":"output","Package":"p","Test":"TestSuite","Output":"\u001b[1mSUCCESS!\u001b[0m -- \u001b[32m7 Passed\u001b[0m | \u001b[31m0 Failed\u001b[0m | \u001b[33m0 Pending\u001b[0m | \u001b[36m0 Skipped\u001b[0m\n"}
{"Action":"pass","Package":"p","Test":"TestSuite"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`,
			wantOK: true,
			want:   "ok  \tp\t0.1s\npackages: 1 ok, 0 of them flaky, 0 failed, 0 without tests; skipped tests: 0\n7 passed, 0 failed\n",
		},
		"a pending spec fails the run": {
			events: header +
				`{"Action":"output","Package":"p","Test":"TestSuite","Output":"SUCCESS! -- 7 Passed | 0 Failed | 1 Pending | 0 Skipped\n"}
{"Action":"pass","Package":"p","Test":"TestSuite"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`,
			want: "ok  \tp\t0.1s\nskipped: p TestSuite\npackages: 1 ok, 0 of them flaky, 0 failed, 0 without tests; skipped tests: 1\n7 passed, 0 failed\n",
		},
		"a skipped test passes where skips are allowed": {
			events: header +
				`{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`,
			allowSkips: true,
			wantOK:     true,
			want:       "ok  \tp\t0.1s\nskipped: p TestA\npackages: 1 ok, 0 of them flaky, 0 failed, 0 without tests; skipped tests: 1\n0 passed, 0 failed\n",
		},
		"a test that was running when the process died is a failure": {
			events: header +
				`{"Action":"output","Package":"p","Test":"TestA","Output":"panic: out of time\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t9.9s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "panic: out of time\nFAIL\tp\t9.9s\npackages: 0 ok, 0 of them flaky, 1 failed, 0 without tests; skipped tests: 0\n0 passed, 1 failed\n",
		},
		"a package that fails outside its tests is a failure": {
			events: header +
				`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "FAIL\tp\t0.1s\npackages: 0 ok, 0 of them flaky, 1 failed, 0 without tests; skipped tests: 0\n1 passed, 1 failed\n",
		},
		"a package that does not compile is a failure": {
			events: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p_test.go:3: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`,
			want: "p_test.go:3: undefined: x\nFAIL\tp [build failed]\npackages: 0 ok, 0 of them flaky, 1 failed, 0 without tests; skipped tests: 0\n0 passed, 1 failed\n",
		},
		"a stream that ends early is a failure": {
			events: header,
			want:   "packages: 0 ok, 0 of them flaky, 1 failed, 0 without tests; skipped tests: 0\n0 passed, 1 failed\n",
		},
		"an empty stream is a failure": {
			want: "packages: 0 ok, 0 of them flaky, 0 failed, 0 without tests; skipped tests: 0\n0 passed, 0 failed\n",
		},
		"a package without tests is listed and neither passes nor fails": {
			events: header +
				`{"Action":"output","Package":"p","Output":"?   \tp\t[no test files]\n"}
{"Action":"skip","Package":"p"}
{"Action":"pass","Package":"q","Test":"TestA"}
{"Action":"output","Package":"q","Output":"ok  \tq\t0.1s\n"}
{"Action":"pass","Package":"q"}
`,
			wantOK: true,
			want:   "?   \tp\t[no test files]\nok  \tq\t0.1s\npackages: 1 ok, 0 of them flaky, 0 failed, 1 without tests; skipped tests: 0\n1 passed, 0 failed\n",
		},
		"what is no event is passed on": {
			events: "go: cannot find main module\n",
			want:   "go: cannot find main module\npackages: 0 ok, 0 of them flaky, 0 failed, 0 without tests; skipped tests: 0\n0 passed, 0 failed\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r := newReport(&out, false)
			if err := r.read(strings.NewReader(tc.events)); err != nil {
				t.Fatalf("read: %v", err)
			}
			if ok := r.finish(tc.allowSkips); ok != tc.wantOK {
				t.Errorf("finish() = %t, want %t", ok, tc.wantOK)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVerboseReportPrintsOutputAsItArrives(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out, true)
	if err := r.read(strings.NewReader(`{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}` + "\n")); err != nil {
		t.Fatalf("read: %v", err)
	}
	if diff := cmp.Diff("chatter\n", out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
