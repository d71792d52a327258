//go:build unix

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
)

// manySessions fills a store with n sessions of three servers, each with a few calls.
func manySessions(b *testing.B, home string, n int) {
	b.Helper()
	db, err := boltstore.Open(home, boltstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := start.Add(time.Duration(i) * 9 * time.Minute) // over two months
		var text strings.Builder
		fmt.Fprintf(&text, `{"mcprec":1,"id":"%08x-%04x-7000-8000-%012x","start":"%s","transport":"stdio","label":"run","command":["npx","-y","server-%d"]}`+"\n",
			at.UnixMilli()>>16, at.UnixMilli()&0xffff, i, at.Format(time.RFC3339), i%3)
		fmt.Fprintf(&text, `{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"ide","version":"%d"}}}}`+"\n", i%5)
		fmt.Fprintf(&text, `{"at":"2ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"server-%d","version":"1.%d"}}}}`+"\n", i%3, i%7)
		for call := range 4 {
			fmt.Fprintf(&text, `{"at":"%dms","dir":"c2s","frame":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool%d"}}}`+"\n", 10*call+10, call+1, (i+call)%9)
			fmt.Fprintf(&text, `{"at":"%dus","dir":"s2c","frame":{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":%t}}}`+"\n", 10000*call+11000+i%5000, call+1, i%100 == call)
		}
		text.WriteString(`{"at":"1s","kind":"closed","data":{"frames":10,"lost":0}}` + "\n")
		var events []store.Event
		for e, err := range jsonl.Decode(strings.NewReader(text.String())) {
			if err != nil {
				b.Fatal(err)
			}
			events = append(events, e)
		}
		if _, err := session.Save(context.Background(), db, jsonl.Each(events)); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkManySessions asks a store of 10,000 sessions, each question a process, beside one
// about a store of 10 sessions: the middle of all turns in milliseconds, and the ratio.
func BenchmarkManySessions(b *testing.B) {
	many, few := b.TempDir(), b.TempDir()
	manySessions(b, many, 10_000)
	manySessions(b, few, 10)
	questions := []string{"list", "list --filter tool:tool3", "stats", "stats --by server"}
	times := map[string][]time.Duration{}
	var most float64
	for _, home := range []string{many, few} {
		timed(b, "mcprec", "stats", "--store", home) // the files are in memory then
	}
	for b.Loop() {
		for _, question := range questions {
			for i, home := range []string{many, few} {
				took, rss := timed(b, append([]string{"mcprec"}, strings.Fields(question+" --store "+home)...)...)
				name := fmt.Sprintf("%s %d", question, i)
				times[name] = append(times[name], took)
				most = max(most, rss)
			}
		}
	}
	for _, question := range questions {
		var middle [2]time.Duration
		for i := range middle {
			list := times[fmt.Sprintf("%s %d", question, i)]
			slices.Sort(list)
			middle[i] = list[len(list)/2]
		}
		unit := strings.Join(strings.Fields(strings.NewReplacer("--filter", "", ":", "-").Replace(question)), "-")
		b.ReportMetric(float64(middle[0].Microseconds())/1000, unit+"-ms")
		b.ReportMetric(float64(middle[0])/float64(middle[1]), unit+"/few")
	}
	b.ReportMetric(most/(1<<20), "MiB")
}
