package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/push"
)

// TestPowerOfServer holds what the hold-back of a push is for: a node that syncs as it does by default
// loses messages that it has acknowledged, and one that syncs each message loses none.
func TestPowerOfServer(t *testing.T) {
	t.Parallel()
	for name, always := range map[string]bool{"lazy": false, "always": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := NewDisk(t)
			c := Start(t, Options{SyncAlways: always, Folders: []string{disk.Dir}})
			_, js := c.Connect()
			testStream(t, c, js)
			disk.Sync()
			const count = 100
			for range count {
				if _, err := js.Publish(t.Context(), "test.one", make([]byte, 1000)); err != nil {
					t.Fatal(err)
				}
			}
			disk.CutPower()
			c.Nodes[0].Kill()
			disk.Restore()
			c.Nodes[0].Start()
			var left uint64
			wait(t, "the stream is there", func() error {
				stream, err := js.Stream(t.Context(), "TEST")
				if err == nil {
					var info *jetstream.StreamInfo
					info, err = stream.Info(t.Context())
					if err == nil {
						left = info.State.Msgs
					}
				}
				return err
			})
			if always != (left == count) {
				t.Errorf("%d of %d acknowledged messages are left", left, count)
			}
			tell(t, "power cut of a nats-server, sync "+name, 1, "it loses what it had acknowledged, unless it syncs always")
		})
	}
}

// TestPowerCut cuts the power of a cluster that syncs as it does by default, one node or all three of them at
// once, after it has acknowledged whole sessions and the half of one that is still live. What a push holds back
// arrives again, once, also in a folder that had it before; a session that was done at once is lost.
func TestPowerCut(t *testing.T) {
	for kind, nodes := range map[string]int{"one": 1, "three": 3} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var disks []*Disk
			var folders []string
			for range nodes {
				disk := NewDisk(t)
				disks = append(disks, disk)
				folders = append(folders, disk.Dir)
			}
			c := Start(t, Options{Nodes: nodes, Folders: folders})
			url := c.URL(name, "")
			reader := shipped{openStream(t, c.DirectURL(name, ""))} // makes the streams
			c.WaitCurrent(name)
			for _, disk := range disks {
				disk.Sync()
			}
			pulled := startPull(t, c.DirectURL(name, ""))

			careless := startPush(t, t.TempDir(), url, push.Options{HoldBack: time.Nanosecond})
			gone := record(t, careless.db)
			gone.writeFrames(t, 200, 2000)
			gone.end(t)
			careless.reach(t, "done", gone)

			dir := t.TempDir()
			careful := startPush(t, dir, url, push.Options{})
			held := record(t, careful.db)
			held.writeFrames(t, 200, 2000)
			held.end(t)
			live := record(t, careful.db)
			live.writeFrames(t, 200, 2000)
			arrived(t, pulled, gone, held, live)
			compare(t, reader, gone, held, live)
			careful.reach(t, "held", held)

			for _, disk := range disks {
				disk.CutPower()
			}
			for i, disk := range disks {
				c.Nodes[i].Kill()
				disk.Restore()
			}
			for _, node := range c.Nodes {
				node.Start()
			}
			c.WaitCurrent(name)
			var lost store.Head
			wait(t, "the stream answers", func() (err error) {
				lost, err = reader.Head(t.Context(), gone.id)
				if errors.Is(err, store.ErrNotFound) {
					return nil
				}
				return err
			})
			if lost.Seq == gone.seq() {
				t.Error("the power cut has lost nothing: this test shows nothing")
			}

			live.writeFrames(t, 200, 2000)
			live.end(t)
			arrived(t, reader, live)
			careful.stop()
			later := startPush(t, dir, url, push.Options{HoldBack: time.Nanosecond})
			later.reach(t, "done", held, live)
			compare(t, reader, held, live)
			arrived(t, pulled, live)
			compare(t, pulled, gone, held, live)
			fresh := startPull(t, c.DirectURL(name, ""))
			arrived(t, fresh, held, live)
			compare(t, fresh, held, live)
			tell(t, "power cut of "+kind+" with the default sync_interval", 3, "with hold-back all arrives again; without it a session was lost")
		})
	}
}
