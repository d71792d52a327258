package redact

import "bytes"

// vendorNames are those whose keys have no shape of their own: they are told by the name
// in front of them. These are looked for wherever they stand, as little else has four of
// their bytes.
var vendorNames = []string{"atlassian", "facebook", "gocardless", "kraken", "linkedin", "netlify"}

// vendors are those whose key is told by its name, and whatever it looks like: the names
// above, too.
var vendors = func() map[string]bool {
	set := setOf(`adafruit adobe airtable algolia alibaba artifactory asana beamer bintray bitbucket bittrex cloudflare codecov cohere
		coinbase confluence confluent contentful contribsys datadog discord droneci dropbox etsy fastly finicity finnhub flickr
		freemius freshbooks gitter heroku hubspot intercom jfrog jira kucoin launchdarkly linear lob looker mailchimp mailgun
		mapbox mattermost meraki messagebird newrelic nytimes okta plaid privateai rapidapi sendbird sentry snyk sonar
		sourcegraph squarespace sumo sumologic telegram travis twitch twitter typeform xray yandex zendesk`)
	for _, name := range vendorNames {
		set[name] = true
	}
	return set
}()

// innerWords are what names a secret though other words stand behind it, as in
// SECRET_KEY_BASE, and the vendors: all of them are looked for.
var innerWords = setOf("secret password passwd passphrase credential credentials atlassian facebook gocardless kraken linkedin netlify")

// descriptive are last words of a name whose value is nobody's key.
var descriptive = setOf(`id ids uuid guid url uri host hostname name names version region endpoint domain path file filename dir directory
	user username email mail org organization organisation team project workspace channel guild server event issue ticket task page
	repo repository branch commit sha sha1 sha256 hash digest checksum etag trace span build deploy deployment image tag label date
	time timestamp at count size length state status cursor type model handle slug link ref number account arn title description
	message error reason format algorithm method policy fingerprint thumbprint session request response run job node`)

// knownIDs stand before an id that opens something.
var knownIDs = setOf("client access")

// randomSecrecy classifies a name that says nothing by its last word.
func (w *words) randomSecrecy() secrecy {
	if w.isDescriptive() {
		return noSecret
	}
	for i := range w.n {
		if innerWords[string(w.at(i))] {
			return randomSecret
		}
	}
	return noSecret
}

func (w *words) isDescriptive() bool {
	last := w.at(w.n - 1)
	return descriptive[string(last)] && !(string(last) == "id" && knownIDs[string(w.at(w.n-2))])
}

// vendorReach bounds what stands between a vendor's name and its separator, and from
// that to the value.
const vendorReach = 20

// vendor looks for a key that is assigned to a name with a vendor's in it.
func vendor(t *text, at int) verdict {
	sep := at + between.run(t.b[:min(len(t.b), at+2*vendorReach)], at)
	name := bytes.TrimRight(t.b[at:sep], " \t")
	i := sep
	for i < len(t.b) && i < sep+vendorReach && (t.b[i] == '\\' || quoteMark[t.b[i]] || t.b[i] == ' ') {
		i++
	}
	if i == len(t.b) || operatorMark[t.b[i]] && t.unclearOperator(i) {
		return t.open()
	}
	if n := operator(t.b, i); n > 0 {
		i += n
	} else if assigning[t.b[i]] {
		i++
	} else {
		return no
	}
	return t.vendorKey(name, i)
}

// vendorKey is the value behind a name and its separator.
func (t *text) vendorKey(name []byte, i int) verdict {
	last := i + vendorReach
	for i < len(t.b) && i < last && (assigning[t.b[i]] || space[t.b[i]] || quoteMark[t.b[i]] || t.b[i] == '\\') {
		if t.b[i] == '\\' {
			n := backslash.run(t.b, i)
			if i += n; i < len(t.b) && lineEscape[t.b[i]] {
				i++
			}
			continue
		}
		i++
	}
	n := keyBytes.near(t.b, i)
	if i+n == len(t.b) && !t.final {
		return more
	}
	v := bytes.TrimRight(t.b[i:i+n], ".:|")
	var w words
	if w.cut(name); w.isDescriptive() || !isKey(v) {
		return no
	}
	return t.found("vendor", i, i+len(v))
}

// open is more, unless nothing comes.
func (t *text) open() verdict {
	if t.final {
		return no
	}
	return more
}

var (
	between   = classOf("A-Za-z0-9_. \t-")
	assigning = classOf("=>:,")
	keyBytes  = classOf("A-Za-z0-9_.~+/=%|:-")
)

// isKey reports whether v is of random letters and digits, in parts it may be: no words
// that are strung together, no address, no time.
func isKey(v []byte) bool {
	if len(v) < 14 || len(v) > 400 || !alnum[v[0]] && v[0] != '_' && v[0] != '-' || keyBytes.run(v, 0) < len(v) {
		return false
	}
	if n := bytes.IndexByte(v, ':'); n >= 0 { // an id in front of it, or two halves
		if n < 6 || hexa.run(v, 0) < n {
			return false
		}
		return n == 8 && len(v) == 17 && hexa.run(v, 9) == 8 || isKey(v[n+1:])
	}
	if isUUID(v) {
		return true
	}
	lower, upper, digits := makeup(v)
	if digits < 2 && !isTossed(v) && !(digits > 0 && isScrambled(v)) || lower+upper < 2 {
		return false
	}
	for len(v) > 0 {
		n := max(1, alnum.run(v, 0))
		if part := v[:n]; n >= 8 && (turns(part) >= 4 || isMixed(part) || isScrambled(part) && upper > 1) {
			return true
		}
		v = v[n:]
	}
	return false
}

// turns counts where letters follow digits, and digits letters.
func turns(b []byte) (n int) {
	for i := 1; i < len(b); i++ {
		if digit := b[i] <= '9'; digit != (b[i-1] <= '9') {
			n++
		}
	}
	return n
}
