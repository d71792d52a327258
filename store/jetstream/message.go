package jetstream

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mcprec/mcprec/store"
)

const (
	headerName    = "Mcprec" // of our header in a message
	headerVersion = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// place is a message of a session's subject, and the session up to there: the head and the counts.
type place struct {
	seq         uint64 // in the stream; 0: no message
	first       uint64 // Seq of the first event; of a fence the Seq of the next event
	part, parts int    // which part of a chunk the data is, from 1
	writer      string // token of the claim or the append that wrote the message
	session     store.Session
	data        []byte
}

// isFence reports whether the message has no events.
func (p *place) isFence() bool { return p.first > p.session.Head.Seq }

// header returns the text of the header Mcprec.
func (p *place) header(id store.SessionID) string {
	sealed := 0
	if p.session.Head.Sealed {
		sealed = 1
	}
	head := p.session.Head
	text := fmt.Sprintf("v=%d first=%d last=%d part=%d/%d at=%d chain=%x frames=%d bytes=%d lost=%d doubtful=%d sealed=%d exit=%s writer=%s",
		headerVersion, p.first, head.Seq, p.part, p.parts, head.At, head.Chain, p.session.Frames, p.session.Bytes, p.session.Lost,
		p.session.Doubtful, sealed, url.QueryEscape(p.session.Exit), p.writer)
	return text + sumField + headerSum(id, text)
}

const sumField = " sum="

// headerSum returns the checksum of a session's header, as the header has it at its end.
func headerSum(id store.SessionID, text string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(string(id)+text), castagnoli))
}

// parsePlace reads a message of a session.
func parsePlace(id store.SessionID, msg *message) (p place, err error) {
	headers, err := nats.DecodeHeadersMsg(msg.Headers)
	if err != nil {
		return p, fmt.Errorf("message %d: headers: %w", msg.Seq, store.ErrCorrupt)
	}
	p, err = parseHeader(id, headers.Get(headerName))
	if err != nil {
		return p, fmt.Errorf("message %d: %w", msg.Seq, err)
	}
	p.seq = msg.Seq
	p.data = msg.Data
	return p, nil
}

// parseHeader reads the header Mcprec. Its errors wrap store.ErrCorrupt or store.ErrNewer.
func parseHeader(id store.SessionID, text string) (p place, err error) {
	body, sum, found := strings.Cut(text, sumField)
	if !found || sum != headerSum(id, body) {
		return p, fmt.Errorf("checksum of the header: %w", store.ErrCorrupt)
	}
	fields := map[string]string{}
	for field := range strings.FieldsSeq(body) {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	if version, err := strconv.Atoi(fields["v"]); err != nil || version > headerVersion {
		return p, fmt.Errorf("header version %.20q: %w; install a newer mcprec", fields["v"], store.ErrNewer)
	}
	var problems []error
	number := func(name string) uint64 {
		value, err := strconv.ParseUint(fields[name], 10, 63)
		problems = append(problems, err)
		return value
	}
	part, parts, _ := strings.Cut(fields["part"], "/")
	var partError, partsError, exitError error
	p.part, partError = strconv.Atoi(part)
	p.parts, partsError = strconv.Atoi(parts)
	p.first = number("first")
	p.writer = fields["writer"]
	p.session.ID = id
	p.session.Frames, p.session.Bytes = number("frames"), number("bytes")
	p.session.Lost, p.session.Doubtful = number("lost"), number("doubtful")
	p.session.Exit, exitError = url.QueryUnescape(fields["exit"])
	chain, chainError := hex.DecodeString(fields["chain"])
	head := &p.session.Head
	head.Seq, head.At = number("last"), time.Duration(number("at"))
	head.Sealed = number("sealed") == 1
	if len(chain) == len(head.Chain) {
		head.Chain = [32]byte(chain)
	} else {
		problems = append(problems, errors.New("length of the chain"))
	}
	problems = append(problems, partError, partsError, exitError, chainError)
	if errors.Join(problems...) != nil || p.first > head.Seq+1 || p.part < 1 || p.part > p.parts {
		return place{}, fmt.Errorf("fields of the header: %w", store.ErrCorrupt)
	}
	return p, nil
}
