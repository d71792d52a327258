// Package mask takes secrets out of a copy of an event that leaves the store.
//
// The store keeps exact bytes and belongs to its owner alone. What is shown, written to a
// file or sent goes through a [Masker] first, unless the owner says otherwise.
//
// # What it promises
//
// A secret is replaced by "[redacted:", 16 hexadecimal digits and "]": the first bytes of an
// HMAC-SHA-256 of the secret under the store's key. Equal secrets get equal placeholders, so
// requests still match, and nobody without the key can test guesses. JSON stays valid, a
// string without a secret keeps its bytes, and a secret number becomes a string. Masking
// twice is masking once. A Masker is a pure function of one whole event, without state or I/O;
// a [Session] is given the events in order, and knows the secrets of the session's header and
// those that standard error has in pieces.
//
// # Data layout
//
// All rules stand in one table, rules.txt. json.go walks the values of a message, also those of
// JSON within strings, and asks names.go what their names promise; text.go looks for the
// rules' words in one text. Both return edits of the original bytes.
//
// # What it refuses to do
//
// It never touches ids, methods, progress tokens, cursors, names of tools, or schemas. It
// does not look into compressed or base64 data, but for basic credentials and private keys,
// does not know a secret again that only its name gave away, and does not claim to find all.
package mask
