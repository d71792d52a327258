package cluster

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestPowerOfServer holds what the outbox's hold-back is for: a node that syncs as it does by default
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
