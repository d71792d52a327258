package sharing

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store/diagnosis"
)

// Diagnosis is what was learned of a store, and what is wrong with it. One of the facts is there.
type Diagnosis struct {
	Store    string              `json:"store"` // without credentials
	Cluster  *diagnosis.Cluster  `json:"cluster,omitempty"`
	Bucket   *diagnosis.Bucket   `json:"bucket,omitempty"`
	Folder   *diagnosis.Folder   `json:"folder,omitempty"`
	Outboxes []*diagnosis.Outbox `json:"outboxes"` // of this machine
	Findings []diagnosis.Finding `json:"findings"`
}

// Diagnose gathers the facts of a store, and judges them. monitor are the monitoring URLs of NATS
// servers, and role is what the credentials are for. The error is that the place itself is wrong.
func Diagnose(ctx context.Context, home session.Home, monitor []string, role string) (*Diagnosis, error) {
	facts, err := session.Inspect(ctx, home, monitor)
	if err != nil {
		return nil, err
	}
	if facts.Cluster != nil {
		facts.Cluster.Role = diagnosis.Role(role)
	}
	found := &Diagnosis{Store: facts.Place, Cluster: facts.Cluster, Bucket: facts.Bucket, Outboxes: []*diagnosis.Outbox{}}
	if facts.Folder != "" {
		found.Folder = Folder(facts.Folder)
	}
	isShared, err := home.IsShared()
	if err != nil {
		return nil, err
	}
	homes := []session.Home{home}
	if !isShared {
		places, err := session.Outboxes()
		if err != nil {
			return nil, err
		}
		homes = homes[:0]
		for _, place := range places {
			homes = append(homes, session.Home{Place: place})
		}
	}
	for _, home := range homes {
		outbox, err := lookAt(ctx, home)
		if err != nil {
			return nil, err
		}
		if outbox != nil {
			found.Outboxes = append(found.Outboxes, outbox)
		}
	}
	found.Judge()
	return found, nil
}

// lookAt gathers the facts of the outbox for a shared store; nil: this machine has none.
func lookAt(ctx context.Context, home session.Home) (*diagnosis.Outbox, error) {
	place, err := home.Absolute()
	if err != nil {
		return nil, err
	}
	folder, err := session.OutboxFolder(place)
	if err != nil { // a bucket has no outbox
		return nil, nil
	}
	if _, err := os.Stat(folder); err != nil {
		return nil, nil
	}
	db, err := session.OpenRecorder(home, session.RecordOptions{})
	if err != nil {
		return nil, err
	}
	defer db.Close() // nothing was sent
	facts := &diagnosis.Outbox{Address: db.Info().Location, Path: folder}
	_, _, facts.Free = disk(folder)
	left, err := db.Outbox().Look(ctx)
	if err != nil {
		facts.Problems = append(facts.Problems, err.Error())
	}
	for _, session := range left {
		facts.Bytes += session.Bytes
		switch {
		case session.Stopped != "":
			facts.Problems = append(facts.Problems, session.Stopped)
		case session.Live:
			facts.Live++
		case !session.Complete:
			facts.Dead++
		}
		if !session.Complete {
			facts.Sessions++
		}
	}
	return facts, nil
}

// Judge fills in the findings.
func (d *Diagnosis) Judge() {
	var lists [][]diagnosis.Finding
	if d.Cluster != nil {
		lists = append(lists, d.Cluster.Findings())
	}
	if d.Bucket != nil {
		lists = append(lists, d.Bucket.Findings())
	}
	if d.Folder != nil {
		lists = append(lists, d.Folder.Findings())
	}
	for _, outbox := range d.Outboxes {
		lists = append(lists, outbox.Findings())
	}
	d.Findings = diagnosis.Merge(lists...)
}

// Passed reports whether nothing was found by which events are lost.
func (d *Diagnosis) Passed() bool { return diagnosis.Worst(d.Findings) != diagnosis.Error }

// Text writes the report for people: the facts, then each finding with what to change.
func (d *Diagnosis) Text(w io.Writer) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s\n", terminal.Plain(d.Store))
	switch {
	case d.Cluster != nil:
		clusterText(out, d.Cluster)
	case d.Bucket != nil:
		bucketText(out, d.Bucket)
	case d.Folder != nil:
		folderText(out, d.Folder)
	}
	for _, outbox := range d.Outboxes {
		row(out, "outbox", "for %s: %s %s, %s on the disk", outbox.Address, phrase.Plural(outbox.Sessions, "session"),
			phrase.Agree(outbox.Sessions, "waits", "wait"), terminal.Size(outbox.Bytes))
	}
	counts := map[diagnosis.Severity]int{}
	for _, finding := range d.Findings {
		counts[finding.Severity]++
		fmt.Fprintf(out, "\n%-8s %s\n         %s\n", finding.Severity, terminal.Plain(finding.Found), terminal.Plain(finding.Why))
		if finding.Change != "" {
			fmt.Fprintf(out, "         do: %s\n", terminal.Plain(finding.Change))
		}
	}
	if len(d.Findings) == 0 {
		fmt.Fprint(out, "\nnothing is wrong with it\n")
	} else {
		fmt.Fprintf(out, "\n%s, %s, %s\n", phrase.Plural(counts[diagnosis.Error], "error"),
			phrase.Plural(counts[diagnosis.Warning], "warning"), phrase.Plural(counts[diagnosis.Note], "note"))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func row(out *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(out, "%-8s %s\n", name, terminal.Plain(fmt.Sprintf(format, args...)))
}

func clusterText(out *strings.Builder, cluster *diagnosis.Cluster) {
	for _, server := range cluster.Servers {
		if server.Fault != "" {
			row(out, "server", "%s does not answer", server.Address)
			continue
		}
		protected := ""
		if server.TLS {
			protected = ", TLS"
		}
		row(out, "server", "%s at %s: nats-server %s, %v away%s", cmp.Or(server.Name, "?"), server.Address, server.Version, distance(server.RoundTrip), protected)
	}
	for _, stream := range cluster.Streams {
		switch {
		case stream.Missing:
			row(out, "stream", "%s is not there yet", stream.Name)
			continue
		case stream.Fault != "":
			row(out, "stream", "%s does not answer", stream.Name)
			continue
		}
		where := phrase.Plural(stream.Replicas, "replica")
		if stream.Leader != "" {
			where += ", leader " + stream.Leader
		}
		limit := ""
		if stream.MaxBytes > 0 {
			limit = " of " + terminal.Size(stream.MaxBytes)
		}
		row(out, "stream", "%s: %s, %s in %s%s", stream.Name, where, phrase.Plural(uint64(stream.Messages), "message"), terminal.Size(stream.Bytes), limit)
	}
	if cluster.Clock != nil {
		row(out, "clock", "%s", apart(cluster.Clock))
	}
}

// distance rounds a time of microseconds to seconds for a row.
func distance(away time.Duration) time.Duration {
	if away < time.Millisecond {
		return away.Round(10 * time.Microsecond)
	}
	return away.Round(100 * time.Microsecond)
}

// apart says how far the clock of this machine is from another one.
func apart(clock *diagnosis.Clock) string {
	if clock.Ahead.Abs() <= clock.Latency+100*time.Millisecond {
		return "that of this machine agrees"
	}
	word := "ahead"
	if clock.Ahead < 0 {
		word = "behind"
	}
	return fmt.Sprintf("that of this machine is %v %s", phrase.Brief(clock.Ahead.Abs()), word)
}

func bucketText(out *strings.Builder, bucket *diagnosis.Bucket) {
	if bucket.Fault != "" {
		return
	}
	var may []string
	for _, trial := range []struct {
		name  string
		fault *string
	}{{"list", bucket.List}, {"put", bucket.Put}, {"get", bucket.Get}, {"delete", bucket.Delete}} {
		if trial.fault != nil && *trial.fault == "" {
			may = append(may, trial.name)
		}
	}
	row(out, "bucket", "at %s, %v away; these credentials can %s", bucket.Host, distance(bucket.RoundTrip), strings.Join(may, ", "))
	if bucket.Clock != nil {
		row(out, "clock", "%s", apart(bucket.Clock))
	}
}

func folderText(out *strings.Builder, folder *diagnosis.Folder) {
	if folder.Missing || folder.Fault != "" {
		return
	}
	if folder.Free >= 0 {
		row(out, "disk", "%s, %s left", cmp.Or(folder.FileSystem, "file system not known"), terminal.Size(folder.Free))
	}
	if folder.Budget > 0 {
		row(out, "budget", "%s of %s used", terminal.Size(folder.Used), terminal.Size(folder.Budget))
	}
}
