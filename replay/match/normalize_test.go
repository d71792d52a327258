package match

import "testing"

func TestNormalizers(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"uuid", "task 018f3c4e-7b1a-7c3d-9e4f-0123456789ab is done", "task [uuid] is done"},
		{"uuid", "018F3C4E-7B1A-7C3D-9E4F-0123456789AB", "[uuid]"},
		{"uuid", "018f3c4e-7b1a-7c3d-9e4f-0123456789abc", "018f3c4e-7b1a-7c3d-9e4f-0123456789abc"},
		{"uuid", "get-a-b-c-d", "get-a-b-c-d"},
		{"time", "2026-11-21T10:00:00.123Z", "[time]"},
		{"time", "at 2026-11-21 10:00:00,5 +0100.", "at [time]."},
		{"time", "2026-11-21T10:00:00+01:00/next", "[time]/next"},
		{"time", "born 2026-11-21", "born [time]"},
		{"time", "20261121T100000Z", "[time]"},
		{"time", "Sat, 21 Nov 2026 10:00:00 GMT", "[time]"},
		{"time", "Sat Nov 21 10:00:00 UTC 2026", "[time]"},
		{"time", "Sat Nov 21 2026 10:00:00 GMT+0000 (Coordinated Universal Time)", "[time]"},
		{"time", "November 21, 2026 at 9:05 PM", "[time]"},
		{"time", "11/21/2026, 9:05:01 AM", "[time]"},
		{"time", "The current time is 10:00:00 AM today", "The current time is [time] today"},
		{"time", "1763719200123", "[time]"},
		{"time", "1763719200", "[time]"},
		{"time", "1763719200.25", "[time]"},
		{"time", "12345678", "12345678"},
		{"time", "99999999999999999999", "99999999999999999999"},
		{"time", "revision 2025-06-18T", "revision 2025-06-18T"},
		{"time", "no time in 1.2.3 or 10:30", "no time in 1.2.3 or 10:30"},
		{"time", "VGhlIHRpbWUgaXMgMjAyNi0xMS0yMVQxMDowMDowMC4wMDBa", "[base64 of The time is [time]]"},
		{"time", "data:text/plain;base64,UmVzb3VyY2UgMiBhdCAxMDowMDowMCBBTQ==", "data:text/plain;base64,[base64 of Resource 2 at [time]]"},
		{"time", "iVBORw0KGgoAAAANSUhEUgAAABQAAAAUCAYAAACNiR0NAAAAKElEQVQ4jWNgYGD4Twzu6FhFFGYYNXDUwGFpIAk2E4dHDRw1cDgaCAASFOffhEIO3gAAAABJRU5ErkJggg==",
			"iVBORw0KGgoAAAANSUhEUgAAABQAAAAUCAYAAACNiR0NAAAAKElEQVQ4jWNgYGD4Twzu6FhFFGYYNXDUwGFpIAk2E4dHDRw1cDgaCAASFOffhEIO3gAAAABJRU5ErkJggg=="},
		{"time", "ASBpdCBpcyAxMDowMDowMCBBTQ==", "ASBpdCBpcyAxMDowMDowMCBBTQ=="}, // not text: it has a control character
		{"time", "//4gaXQgaXMgMTA6MDA6MDAgQU0=", "//4gaXQgaXMgMTA6MDA6MDAgQU0="}, // not UTF-8
		{"duration", "took 12ms", "took [duration]"},
		{"duration", "done in 1.5 seconds, 3 steps", "done in [duration], 3 steps"},
		{"duration", "2m30.5s", "[duration]"},
		{"duration", "1 h 5 min later", "[duration] later"},
		{"duration", "12 monkeys", "12 monkeys"},
		{"port", "http://localhost:4711/mcp", "http://localhost:[port]/mcp"},
		{"port", "127.0.0.1:80 and [::1]:8080", "127.0.0.1:[port] and [::1]:[port]"},
		{"port", "https://example.com:8443", "https://example.com:[port]"},
		{"port", "at 10:30", "at 10:30"},
	} {
		checkNormalizer(t, tt.name, tt.text, tt.want)
	}
}

func checkNormalizer(t *testing.T, name, text, want string) {
	t.Helper()
	list, err := ParseNormalizers(name)
	if err != nil {
		t.Fatal(err)
	}
	n := list[0]
	got := n.Apply(text)
	if got != want {
		t.Errorf("%s of %q: %q, want %q", name, text, got, want)
	}
	if again := n.Apply(got); again != got {
		t.Errorf("%s of %q, twice: %q", name, text, again)
	}
}

func TestParseNormalizers(t *testing.T) {
	list, err := ParseNormalizers("uuid, time")
	if err != nil || len(list) != 2 || list[0].Name != "uuid" || list[1].Name != "time" {
		t.Errorf("got %v, %v", list, err)
	}
	for _, bad := range []string{"", "uuid,", "clock"} {
		_, err := ParseNormalizers(bad)
		if err == nil {
			t.Errorf("%q: no error", bad)
			continue
		}
	}
}

// FuzzNormalizers: what is normal stays as it is, whatever the text.
func FuzzNormalizers(f *testing.F) {
	f.Add("at 2026-11-21T10:00:00Z in 12ms on localhost:80 for 018f3c4e-7b1a-7c3d-9e4f-0123456789ab")
	f.Add("VGhlIHRpbWUgaXMgMjAyNi0xMS0yMVQxMDowMDowMC4wMDBa")
	f.Add("1763719200123 \xff 5s5s 10:00:00:00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range Normalizers() {
			once := n.Apply(text)
			if twice := n.Apply(once); len(twice) > 2*len(once)+64 {
				t.Errorf("%s grows: %q, %q", n.Name, once, twice)
			}
		}
	})
}
