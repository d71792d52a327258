// Package redact destroys secrets in a copy of what passes, before it is recorded.
//
// # What it promises
//
// A secret is replaced by "[redacted:" and 16 hexadecimal digits and "]": the first
// bytes of an HMAC-SHA-256 of the secret under the store's key. Equal secrets stay
// equal, so requests still match, and nobody without the key can try guesses. What
// holds no secret is returned as it came, without a copy.
//
// JSON stays valid and keeps every other byte; a number becomes a string, but for one
// that is all of a frame: that is text. Redacting twice is redacting once. Memory is
// bounded whatever the length of a frame, and a secret is found wherever the reads cut
// it, but for two kinds that are told by what comes behind them (tail.go, and a value in
// front of its name): one read must have both.
//
// # What is a secret
//
//   - the value of a key, an argument, a variable whose name says so (name.go):
//     password, *_token, *Secret, apiKey, Authorization;
//   - text of a known shape (shape.go): keys of vendors, JWT, bearer and basic
//     credentials, PEM private keys, passwords in URLs;
//   - the values of environment variables (env.go), and what the user names: keys,
//     patterns, JSON pointers.
//
// All of it is looked for in strings too, and in JSON that is within strings, at any
// depth. The shapes are the vendors' published prefixes, written down here: the
// well-kept rule sets are scanners' own programs, whose general regular expressions
// cost a hundred times what a frame may, and bring their modules with them. The samples of
// one, gitleaks', are the yardstick: nearly all are found, but for keys that only a
// vendor's name tells, if it is none of those in vendor.go.
//
// # What is never one
//
// Protocol fields are immune (immune.go): ids, methods, progress tokens, cursors,
// names, protocol versions; of a uri only its password, its query's secrets and keys of
// known shapes go; schemas and capabilities keep their keys. The rest of requestState
// and other opaque values is text like any other, and replaced alike on both sides.
//
// # Data layout
//
// A [Redactor] is the rules, made once and shared. A [Stream] is one direction's
// state: the bytes that cannot be decided yet, at most 64 KiB, where in the JSON it
// stands, and the HMAC of a secret too long to hold.
//
// A first look (firstlook.go) finds the places that have four bytes of what a secret
// begins with: 64 at once where the processor can, or 32, else every second one. Only a
// frame in which one turns out to be a secret, or cannot be told from one, is taken
// apart. Of a frame that comes in stretches up to 256 KiB are kept for that (glance.go).
//
// # What it refuses to do
//
// It parses no JSON into values, and repairs none: what breaks the rules of JSON is
// treated as text. It learns nothing: a value that is secret by its name alone is not
// known again where it stands without one. It does not look into base64 but for basic
// credentials, nor into compressed bytes.
package redact
