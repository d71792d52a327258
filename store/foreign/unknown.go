package foreign

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// UnreadableError is the error for a file that has no session that mcprec can read. Such a file is whole, and
// is not damaged.
type UnreadableError struct {
	Why string // what it looks like, or what is missing in it
}

// Error says why.
func (e *UnreadableError) Error() string { return e.Why }

// unreadable returns the error for a file of a known format without a session.
func unreadable(why string) error { return &UnreadableError{why} }

// Unknown returns the error for a file of no format, which begins with head. It says what the file looks like.
func Unknown(head []byte) error {
	if len(bytes.TrimSpace(head)) == 0 {
		return &UnreadableError{"the file is empty"}
	}
	const reads = "mcprec import --help lists the files that mcprec reads"
	if looks := look(head); looks != "" {
		return &UnreadableError{fmt.Sprintf("not a file that mcprec reads: it looks like %s; %s", looks, reads)}
	}
	return &UnreadableError{"not a file that mcprec reads; " + reads}
}

// looks are what files look like that mcprec does not read, and what to do about it. The first that matches
// counts.
//
// To add one: add it here, and a file of it to the table of unknown_test.go.
var looks = []struct {
	magic   string                // the first bytes, or ""
	pattern func() *regexp.Regexp // of the text, where there are no such bytes
	what    string
}{
	{"\x1f\x8b", nil, "gzip; unpack it first (gunzip)"},
	{"PK\x03\x04", nil, "a zip archive; unpack it first"},
	{"\x28\xb5\x2f\xfd", nil, "zstd; unpack it first (unzstd)"},
	{"BZh", nil, "bzip2; unpack it first (bunzip2)"},
	{"\xfd7zXZ\x00", nil, "xz; unpack it first (unxz)"},
	{"\xff\xfe", nil, utf16Text},
	{"\xfe\xff", nil, utf16Text},
	{"\xd4\xc3\xb2\xa1", nil, packets},
	{"\xa1\xb2\xc3\xd4", nil, packets},
	{"\x4d\x3c\xb2\xa1", nil, packets},
	{"\x0a\x0d\x0d\x0a", nil, packets},
	{"SQLite format 3\x00", nil, "a database of SQLite"},
	{"%PDF-", nil, "a PDF"},
	{"\x89PNG", nil, "a picture"},
	{"", lazily(`^\d+:\d+:\w+[,;]`), "flows of mitmproxy; save them as HAR (mitmdump -nr FILE --set hardump=FILE.har)"},
	{"", lazily(`(?m)^(\[pid +\d+\] |\d+ +)?(\d\d:\d\d:\d\d(\.\d+)? |\d+\.\d+ )?(read|write|recvfrom|sendto|execve|openat|poll|futex)\(`), "the output of strace without a read of descriptor 0 or a write of 1; strace -f -s 16777216 -p PID has them"},
	{"", lazily(`(?m)^(- |\s*)?interactions:`), "a cassette of HTTP tests (VCR, go-vcr, vcrpy); record the traffic with mcprec record --target URL, or save it as HAR"},
	{"", lazily(`"resourceSpans"`), "traces of OpenTelemetry, as mcprec export --format otlp writes them; export the session without --format to read it again"},
	{"", lazily(`(?m)^sequenceDiagram`), "a diagram of Mermaid, as mcprec export --format mermaid writes it; export the session without --format to read it again"},
	{"", lazily(`(?m)^ +\d+ +\d+\.\d{6} +((c2s ->|s2c <-) |recording opened)`), "the lines of mcprec show; mcprec export writes a file that is read again"},
	{"", lazily(`(?m)^\{"debug":|^\{.{0,200}"sessionId":.{0,200}"cwd":`), "a log of Claude Code, which has no messages; mcprec wrap records its servers"},
	{"", lazily(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[\w+\] .*(Handling (CreateClient|ListOfferings) action|listOfferings: )`), "a log of Cursor, which has no messages; mcprec wrap records its servers"},
	{"", lazily(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[(trace|debug|info|warning|error)\] `), "a log of VS Code without messages, which it writes at the level debug or trace (the gear of the output of MCP)"},
	{"", lazily(`(?m)^> ?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[`), "a log of Claude Desktop in quotation; take the > from its lines"},
	{"", lazily(`(?m)^[*<>] .*(HTTP/\d|Connected to )`), "the output of curl -v; mcprec record --target URL records the traffic"},
	{"", lazily(`(?m)^\d\d:\d\d:\d\d\.\d+ IP6? `), "the output of tcpdump; mcprec record --target URL records the traffic"},
	{"", lazily(`(?i)^\s*<(!doctype html|html)`), "a web page"},
}

const (
	utf16Text = "UTF-16, as > of PowerShell writes it; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
	packets   = "captured packets (pcap); mcprec record --target URL records the traffic"
)

// look says what a file looks like; "" for nothing known.
func look(head []byte) string {
	for _, l := range looks {
		if l.magic != "" && bytes.HasPrefix(head, []byte(l.magic)) || l.pattern != nil && l.pattern().Match(head) {
			return l.what
		}
	}
	half := head[:len(head)/2]
	switch zeros := bytes.Count(half, []byte{0}); {
	case len(half) > 8 && zeros > len(half)/4 && zeros <= len(half)/2+1:
		return utf16Text
	case zeros > 0 || !utf8.Valid(bytes.TrimRight(half, "\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\xbf\xe2\xf0\xc3")):
		return "binary data"
	}
	return ""
}
