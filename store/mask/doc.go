// Package mask takes secrets out of copies of events on their way out of the store.
//
// The store keeps exact bytes and belongs to its owner alone. Output, files and messages go
// through a [Masker] first, unless the owner says otherwise.
//
// # What it promises
//
// A secret is replaced by "[redacted:", 16 hexadecimal digits and "]": the first bytes of an
// HMAC-SHA-256 of the secret under the store's key. Equal secrets have equal placeholders, so
// requests still match, and only the key allows tests of guesses. JSON stays valid, a string
// without a secret keeps its bytes, and a secret number becomes a string. Masking twice is
// masking once. A Masker is a pure function of one whole event, without state or I/O. A
// [Session] gets the events in order, and knows the secrets of the session's header and
// secrets in pieces: a private key goes to its END, however long it is and however it is cut. A reader
// that begins in the middle passes the events before to it. The work grows with the bytes, whatever they
// say: see BenchmarkCost.
//
// # Data layout
//
// The rules say what a secret looks like: a table, rules.txt, which rules.go parses. Which
// headers of HTTP a recording has at all is an allow-list in package httpevent. json.go walks the values of
// a message, also of JSON within strings; names.go judges names and values; text.go looks for
// the rules' words in a text, and in the text as its reader sees it (plain.go); looks.go has what no
// pattern can tell, block.go the secrets of several lines, table.go the columns of tables; event.go
// applies them to events. They return edits of the original bytes.
//
// # What it refuses to do
//
// It never touches ids, methods, progress tokens, cursors, names of tools, or schemas. It does
// not look into compressed or base64 data, except basic credentials and private keys, does not
// recognise a secret again that only its name gave away, and does not claim to find every
// secret. It masks a message by itself: of a key that is spread over several messages it finds what
// stands in that with its BEGIN, and in that with its END.
package mask
