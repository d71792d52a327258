package diagnosis

import (
	"fmt"
	"strings"
	"time"
)

// Bucket is what could be learned of a store of objects.
type Bucket struct {
	Address string `json:"address"` // of the store, without credentials
	Host    string `json:"host"`    // of the endpoint
	TLS     bool   `json:"tls"`
	Fault   string `json:"fault,omitempty"` // why the bucket did not answer
	// What was tried, each with the reason why it failed; "" if it worked, nil if it was not tried.
	List   *string `json:"list"`
	Put    *string `json:"put"`
	Get    *string `json:"get"`
	Delete *string `json:"delete"`
	// PutIfAbsent: a second put of an object that must not be there was refused.
	PutIfAbsent *bool         `json:"put_if_absent"`
	Probe       string        `json:"probe,omitempty"` // the probe object, if it could not be removed
	Clock       *Clock        `json:"clock"`
	RoundTrip   time.Duration `json:"round_trip_ns"`
}

// Findings applies the rules for a bucket.
func (b *Bucket) Findings() []Finding {
	var found findings
	if b.Fault != "" {
		found.add(Error, "bucket", "the bucket does not answer: "+b.Fault, "nothing can be archived, and nothing read",
			"compare the bucket, endpoint and region of the address; credentials come from the environment (AWS_ACCESS_KEY_ID), ~/.aws, or the machine's role")
		return found.sorted()
	}
	denied := func(severity Severity, result *string, action, permission, why string) {
		if result != nil && *result != "" {
			found.add(severity, action, fmt.Sprintf("these credentials cannot %s: %s", action, *result), why, "allow "+permission+" on the bucket and prefix")
		}
	}
	denied(Error, b.Put, "put", "s3:PutObject", "archive cannot write. For someone who only reads this is right")
	denied(Error, b.Get, "get", "s3:GetObject", "archive cannot read again what it wrote, and deletes nothing from the store; nobody reads a session")
	denied(Error, b.List, "list", "s3:ListBucket", "neither archive nor a reader finds the sessions")
	denied(Note, b.Delete, "delete", "s3:DeleteObject", "rm and prune do not work with these credentials. For archive this is right")
	if b.PutIfAbsent != nil && !*b.PutIfAbsent {
		found.add(Error, "put_if_absent", "the bucket writes over an object although it was told not to (If-None-Match: *)",
			"two machines that archive a session at the same time can write over each other", "upgrade the object store: AWS, MinIO, Ceph and Garage know the condition in their newer releases")
	}
	if b.Probe != "" {
		found.add(Note, "probe", "the probe object "+b.Probe+" is still there", "these credentials may put, and not delete", "remove it by hand")
	}
	if !b.TLS && !isLocal(b.Host) {
		found.add(Warning, "tls", "the connection to "+b.Host+" is not encrypted", "anybody who can listen on the network can read what is archived", "use an https:// endpoint")
	}
	switch off := b.Clock.off(); {
	case off > 14*time.Minute:
		found.add(Error, "clock", fmt.Sprintf("this machine's clock is %v %s the bucket's", off.Round(time.Second), b.Clock.side()),
			"requests are signed with the time, and refused when it is off by 15 minutes", "let this machine keep its time, as with chrony or systemd-timesyncd")
	case off > time.Minute:
		found.add(Warning, "clock", fmt.Sprintf("this machine's clock is %v %s the bucket's", off.Round(time.Second), b.Clock.side()),
			"--older-than counts from it, and at 15 minutes requests are refused", "let this machine keep its time, as with chrony or systemd-timesyncd")
	}
	return found.sorted()
}

// Folder is what could be learned of a store in a folder.
type Folder struct {
	Path       string  `json:"path"`
	Missing    bool    `json:"missing"`         // there is no such folder yet
	Fault      string  `json:"fault,omitempty"` // why it cannot be used
	Open       string  `json:"open,omitempty"`  // a file or folder that others may read
	FileSystem string  `json:"file_system"`     // "ext4"; "": not known
	Network    bool    `json:"network"`         // the file system is on another machine
	Free       int64   `json:"free"`            // bytes; -1: not known
	Budget     int64   `json:"budget"`          // of the store, in bytes; 0: none is set
	Used       int64   `json:"used"`            // of the budget
	Locks      *string `json:"locks"`           // why locks do not work; "" if they do, nil if it was not tried
}

// Findings applies the rules for a folder.
func (f *Folder) Findings() []Finding {
	var found findings
	switch {
	case f.Missing:
		found.add(Note, "folder", "there is no folder "+f.Path+" yet", "the first recorder makes it", "")
	case f.Fault != "":
		found.add(Error, "folder", f.Fault, "a recorder passes everything on and records nothing", "name a folder that you may write to, with --store or MCPREC_HOME")
		return found.sorted()
	}
	if f.Open != "" {
		found.add(Warning, "rights", "others of this machine may read "+f.Open, "the store has secrets as they passed", "chmod -R go-rwx "+f.Path)
	}
	if f.Locks != nil && *f.Locks != "" {
		found.add(Error, "locks", "file locks do not work there: "+*f.Locks,
			"a recorder that lives cannot be told from one that died, and two processes may write one file", "use a folder on a disk of this machine")
	}
	if f.Network {
		found.add(Warning, "file_system", fmt.Sprintf("%s is on %s, a file system of another machine", f.Path, f.FileSystem),
			"locks and mapped files do not hold between machines there, and a recorder waits when the network does",
			"use a folder on a disk of this machine; for several machines, a nats:// store")
	}
	room(&found, f.Free, f.Path, f.Budget-f.Used)
	return found.sorted()
}

// room says whether a disk has too little space. wanted is how much a store may still grow; 0 or
// less: it is not known.
func room(found *findings, free int64, path string, wanted int64) {
	switch {
	case free < 0:
	case free < 100<<20:
		found.add(Error, "space", fmt.Sprintf("the disk of %s has %s left", path, size(free)),
			"when it is full, events wait in the recorder's memory, and then they are lost", "make room")
	case free < wanted:
		found.add(Warning, "space", fmt.Sprintf("the disk of %s has %s left, and the store may grow by %s", path, size(free), size(wanted)),
			"the disk is full before the budget of the store is", "make room, or lower the budget (record --keep-size)")
	}
}

// Outbox is what waits on this machine for a shared store.
type Outbox struct {
	Address  string        `json:"address"` // of the shared store, without credentials
	Path     string        `json:"path"`
	Sessions int           `json:"sessions"` // of which something waits
	Dead     int           `json:"dead"`     // of those, without a recorder: nobody sends them
	Live     int           `json:"live"`
	Bytes    int64         `json:"bytes"`
	Limit    int64         `json:"limit"` // of all sessions, in bytes; 0: none
	Oldest   time.Duration `json:"oldest_ns"`
	Free     int64         `json:"free"` // bytes on its disk; -1: not known
	Problems []string      `json:"problems,omitempty"`
}

// Findings applies the rules for an outbox.
func (o *Outbox) Findings() []Finding {
	var found findings
	if o.Dead > 0 {
		found.add(Warning, "outbox", fmt.Sprintf("%s of recorders that have ended %s for %s", plural(o.Dead, "session"), waitOrWaits(o.Dead), o.Address),
			"nobody sends them by himself, and they are lost with this machine", "mcprec store flush --store "+o.Address)
	}
	if used := full(o.Bytes, o.Limit); used >= fairlyFull {
		found.add(severityOf(used), "outbox", fmt.Sprintf("the outbox for %s has %s of %s", o.Address, size(o.Bytes), size(o.Limit)),
			"when it is full, further events are lost, and the recording says how many", "mcprec store flush --store "+o.Address)
	}
	if len(o.Problems) > 0 {
		found.add(Error, "outbox", "in the outbox for "+o.Address+": "+strings.Join(o.Problems, "; "),
			"what is there may never be sent", "mcprec store verify --store "+o.Path)
	}
	room(&found, o.Free, o.Path, 0)
	return found.sorted()
}

func waitOrWaits(n int) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}
