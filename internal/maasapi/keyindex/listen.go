// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	listenFirst = time.Second
	listenMost  = time.Minute
)

// listen has changes polled for as soon as the database tells of them. It is
// no more than a hint: without it, they are seen an interval later. Where
// listening is not possible it is tried again ever more rarely.
func (x *Index) listen(ctx context.Context) {
	wait, told := listenFirst, false
	for ctx.Err() == nil {
		var heard atomic.Bool
		err := x.opts.Feed.Listen(ctx, func() {
			if heard.CompareAndSwap(false, true) {
				x.metrics.listening.Set(1)
			}
			x.Nudge()
		})
		x.metrics.listening.Set(0)
		if ctx.Err() != nil {
			return
		}
		if heard.Load() {
			wait, told = listenFirst, false
			// Something may have been missed.
			x.Nudge()
		}
		if !told {
			told = true
			x.opts.Log.WarnContext(ctx, "Listening for changes of API keys ended; polling meanwhile", "error", err)
		}
		timer := x.opts.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
		wait = min(2*wait, listenMost)
	}
}
