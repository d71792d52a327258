package redact

// shape is what keys of one vendor look like: a prefix, then so many bytes of a class.
type shape struct {
	rule   string
	prefix string // its case matters
	class  *class
	least  int
	most   int  // 0: any number more; else a longer run is none
	mixed  bool // letters and digits must be mixed: the prefix alone says little
}

// shapes are the published ones. Lengths are lower bounds where the prefix is telling:
// vendors make keys longer, and tests have short ones.
var shapes = []shape{
	{"aws", "AKIA", upper, 16, 16, false}, {"aws", "ASIA", upper, 16, 16, false}, {"aws", "ABIA", upper, 16, 16, false},
	{"aws", "ACCA", upper, 16, 16, false}, {"aws", "AIDA", upper, 16, 16, true}, {"aws", "AROA", upper, 16, 16, true},
	{"aws-bedrock", "ABSK", token, 100, 0, false}, {"aws-bedrock", "bedrock-api-key-", token, 20, 0, false},
	{"google-api", "AIza", word, 30, 0, false}, {"google-oauth", "GOCSPX-", word, 20, 0, false},
	{"google-oauth", "ya29.", word, 20, 0, false}, {"google-oauth", "1//0", word, 30, 0, true}, {"google-oauth", `1\/\/0`, word, 30, 0, true},
	{"github", "ghp_", alnum, 20, 0, false}, {"github", "gho_", alnum, 20, 0, false}, {"github", "ghu_", alnum, 20, 0, false},
	{"github", "ghs_", alnum, 20, 0, false}, {"github", "ghr_", alnum, 20, 0, false}, {"github", "github_pat_", word, 20, 0, false},
	{"gitlab", "glpat-", dotted, 16, 0, false}, {"gitlab", "gldt-", word, 16, 0, false}, {"gitlab", "glrt-", word, 16, 0, false},
	{"gitlab", "glcbt-", word, 16, 0, false}, {"gitlab", "glptt-", word, 16, 0, false}, {"gitlab", "glft-", word, 16, 0, false},
	{"gitlab", "glsoat-", word, 16, 0, false}, {"gitlab", "gloas-", word, 16, 0, false}, {"gitlab", "glagent-", word, 16, 0, false},
	{"gitlab", "glimt-", word, 16, 0, false}, {"gitlab", "glffct-", word, 16, 0, false}, {"gitlab", "GR1348941", word, 16, 0, false},
	{"slack", "xoxb-", word, 10, 0, false}, {"slack", "xoxp-", word, 10, 0, false}, {"slack", "xoxa-", word, 10, 0, false},
	{"slack", "xoxr-", word, 10, 0, false}, {"slack", "xoxs-", word, 10, 0, false}, {"slack", "xoxo-", word, 10, 0, false},
	{"slack", "xoxc-", word, 10, 0, false}, {"slack", "xoxd-", percent, 10, 0, false}, {"slack", "xoxe-", word, 10, 0, false},
	{"slack", "xoxe.", dotted, 10, 0, false}, {"slack", "xapp-", word, 10, 0, false},
	{"slack-webhook", "hooks.slack.com/services/", token, 20, 0, false}, {"slack-webhook", "hooks.slack.com/workflows/", token, 20, 0, false},
	{"slack-webhook", "hooks.slack.com/triggers/", token, 20, 0, false},
	{"anthropic", "sk-ant-", word, 16, 0, false}, {"openai", "sk-proj-", word, 16, 0, false}, {"openai", "sk-svcacct-", word, 16, 0, false},
	{"openai", "sk-admin-", word, 16, 0, false}, {"openrouter", "sk-or-", word, 16, 0, false}, {"langsmith", "lsv2_", word, 20, 0, false},
	{"api-key", "sk-", word, 20, 0, true}, {"api-key", "pk-", word, 24, 0, true},
	{"stripe", "sk_live_", alnum, 10, 0, false}, {"stripe", "sk_test_", alnum, 10, 0, false}, {"stripe", "rk_live_", alnum, 10, 0, false},
	{"stripe", "rk_test_", alnum, 10, 0, false}, {"stripe", "whsec_", token, 16, 0, false}, {"stripe", "sk_prod_", alnum, 10, 0, false}, {"stripe", "rk_prod_", alnum, 10, 0, false},
	{"npm", "npm_", alnum, 30, 0, false}, {"pypi", "pypi-", word, 40, 0, false}, {"rubygems", "rubygems_", alnum, 32, 0, false},
	{"crates", "cio", alnum, 32, 32, true}, {"nuget", "oy2", lowers, 43, 43, false}, {"docker", "dckr_pat_", word, 20, 0, false},
	{"docker", "dckr_oat_", word, 20, 0, false}, {"clojars", "CLOJARS_", alnum, 40, 0, false}, {"clickhouse", "4b1d", alnum, 38, 38, true}, {"artifactory", "AKCp", alnum, 60, 0, false},
	{"sendgrid", "SG.", token, 40, 0, false}, {"twilio", "SK", hexa, 32, 32, true}, {"mailgun", "key-", alnum, 32, 32, true},
	{"mailchimp", "md-", word, 22, 22, true}, {"brevo", "xkeysib-", word, 40, 0, false}, {"brevo", "xsmtpsib-", word, 40, 0, false},
	{"discord", "discord.com/api/webhooks/", token, 30, 0, false}, {"discord", "discordapp.com/api/webhooks/", token, 30, 0, false},
	{"telegram", ":AA", word, 32, 34, true},
	{"huggingface", "hf_", alnum, 30, 0, false}, {"huggingface", "api_org_", alnum, 30, 0, false}, {"replicate", "r8_", alnum, 30, 0, false},
	{"groq", "gsk_", alnum, 30, 0, false}, {"xai", "xai-", word, 40, 0, false}, {"perplexity", "pplx-", alnum, 30, 0, false},
	{"fireworks", "fw_", alnum, 22, 0, true}, {"tavily", "tvly-", word, 20, 0, false}, {"pinecone", "pcsk_", word, 30, 0, false},
	{"firecrawl", "fc-", hexa, 32, 32, true}, {"exa", "exa_", alnum, 30, 0, true}, {"nvidia", "nvapi-", word, 40, 0, false},
	{"elevenlabs", "sk_", hexa, 40, 0, true}, {"cerebras", "csk-", alnum, 30, 0, false}, {"e2b", "e2b_", hexa, 30, 0, false},
	{"digitalocean", "dop_v1_", hexa, 40, 0, false}, {"digitalocean", "doo_v1_", hexa, 40, 0, false}, {"digitalocean", "dor_v1_", hexa, 40, 0, false},
	{"databricks", "dapi", hexa, 32, 34, true}, {"databricks", "dose", hexa, 32, 34, true},
	{"shopify", "shpat_", hexa, 30, 0, false}, {"shopify", "shpca_", hexa, 30, 0, false}, {"shopify", "shppa_", hexa, 30, 0, false},
	{"shopify", "shpss_", hexa, 30, 0, false}, {"square", "sq0atp-", word, 20, 0, false}, {"square", "sq0csp-", word, 40, 0, false},
	{"square", "EAAA", word, 22, 64, true}, {"facebook", "EAAC", alnum, 100, 0, true}, {"facebook", "EAAG", alnum, 100, 0, true},
	{"facebook", "EAAM", alnum, 100, 0, true},
	{"paypal", "access_token$production$", dollar, 30, 0, false}, {"plaid", "access-sandbox-", word, 36, 36, true},
	{"plaid", "access-production-", word, 36, 36, true}, {"flutterwave", "FLWSECK", word, 16, 0, false}, {"flutterwave", "FLWPUBK", word, 32, 0, false}, {"razorpay", "rzp_live_", alnum, 14, 0, false},
	{"atlassian", "ATATT3", token, 40, 0, false}, {"atlassian", "ATCTT3", token, 40, 0, false}, {"bitbucket", "ATBB", alnum, 32, 0, true},
	{"linear", "lin_api_", alnum, 30, 0, false}, {"linear", "lin_oauth_", alnum, 30, 0, false}, {"notion", "ntn_", alnum, 30, 0, false},
	{"notion", "secret_", alnum, 40, 0, true}, {"figma", "figd_", word, 30, 0, false},
	{"postman", "PMAK-", word, 40, 0, false}, {"typeform", "tfp_", token, 40, 0, false},
	{"grafana", "glc_", token, 32, 0, false}, {"grafana", "glsa_", word, 32, 0, false}, {"grafana", "eyJrIjoi", token, 40, 0, false},
	{"newrelic", "NRAK-", alnum, 27, 0, false}, {"newrelic", "NRII-", word, 30, 0, false}, {"newrelic", "NRJS-", hexa, 19, 0, false},
	{"dynatrace", "dt0c01.", dotted, 60, 0, false}, {"dynatrace", "dt0s16.", dotted, 60, 0, false}, {"sentry", "sntrys_", token, 60, 0, false},
	{"sentry", "sntryu_", hexa, 60, 0, false}, {"posthog", "phx_", alnum, 30, 0, false},
	{"heroku", "HRKU-", word, 36, 0, false}, {"fly", "fo1_", word, 40, 0, false}, {"fly", "fm2_", token, 40, 0, false}, {"fly", "fm1r_", token, 40, 0, false}, {"fly", "fm1a_", token, 40, 0, false},
	{"fly", "FlyV1 ", token, 40, 0, false}, {"netlify", "nfp_", alnum, 36, 0, false}, {"vercel", "vcp_", alnum, 24, 0, false},
	{"vercel", "vercel_blob_rw_", word, 20, 0, false}, {"render", "rnd_", alnum, 28, 0, true}, {"supabase", "sbp_", hexa, 40, 0, false},
	{"supabase", "sb_secret_", word, 20, 0, false}, {"planetscale", "pscale_tkn_", token, 30, 0, false}, {"planetscale", "pscale_pw_", token, 30, 0, false},
	{"planetscale", "pscale_oauth_", token, 30, 0, false}, {"neon", "napi_", alnum, 40, 0, false}, {"cloudflare", "v1.0-", word, 160, 0, true},
	{"vault", "hvs.", word, 20, 0, false}, {"vault", "hvb.", word, 20, 0, false}, {"vault", "hvr.", word, 20, 0, false},
	{"terraform", ".atlasv1.", token, 60, 0, false}, {"pulumi", "pul-", hexa, 40, 40, false}, {"doppler", "dp.pt.", alnum, 40, 0, false},
	{"doppler", "dp.st.", dotted, 40, 0, false}, {"infracost", "ico-", alnum, 32, 32, true}, {"age", "AGE-SECRET-KEY-1", upper, 50, 0, false},
	{"1password", "ops_eyJ", token, 100, 0, false}, {"1password", "A3-", word, 31, 38, true}, {"tailscale", "tskey-", word, 16, 0, false},
	{"buildkite", "bkua_", alnum, 36, 0, false}, {"circleci", "CCIPAT_", word, 30, 0, false}, {"sonar", "squ_", hexa, 36, 0, false},
	{"sonar", "sqp_", hexa, 36, 0, false}, {"sourcegraph", "sgp_", word, 40, 0, false}, {"readme", "rdme_", alnum, 60, 0, false},
	{"alibaba", "LTAI", alnum, 16, 24, true}, {"tencent", "AKID", alnum, 32, 36, true}, {"yandex", "AQVN", word, 35, 38, true},
	{"yandex", "t1.", token, 90, 0, true}, {"adobe", "p8e-", alnum, 30, 0, true}, {"easypost", "EZAK", alnum, 54, 0, true},
	{"easypost", "EZTK", alnum, 54, 0, true}, {"duffel", "duffel_live_", token, 40, 0, false}, {"duffel", "duffel_test_", token, 40, 0, false}, {"dropbox", "sl.", word, 100, 0, true},
	{"prefect", "pnu_", alnum, 30, 0, false}, {"shippo", "shippo_live_", hexa, 40, 0, false}, {"shippo", "shippo_test_", hexa, 40, 0, false},
	{"hubspot", "pat-na1-", word, 36, 36, true}, {"hubspot", "pat-eu1-", word, 36, 36, true}, {"launchdarkly", "sdk-", word, 36, 36, true},
	{"launchdarkly", "api-", word, 36, 36, true},
	{"azure", "7Q~", unreserved, 31, 34, false}, {"azure", "8Q~", unreserved, 31, 34, false}, {"azure", "9Q~", unreserved, 31, 34, false},
	{"azure", "0Q~", unreserved, 31, 34, false}, {"azure", "1Q~", unreserved, 31, 34, false}, {"azure", "2Q~", unreserved, 31, 34, false}, {"azure", "3Q~", unreserved, 31, 34, false},
	{"azure", "4Q~", unreserved, 31, 34, false}, {"azure", "5Q~", unreserved, 31, 34, false}, {"azure", "6Q~", unreserved, 31, 34, false},
	{"okta", "SSWS ", word, 30, 0, false},
	{"sonar", "sqa_", hexa, 36, 0, false}, {"apify", "apify_api_", alnum, 30, 0, false}, {"jina", "jina_", word, 40, 0, true},
	{"resend", "re_", word, 32, 34, true}, {"voyage", "pa-", word, 43, 43, true}, {"brave", "BSA", word, 27, 28, true},
	{"anyscale", "esecret_", alnum, 20, 0, false}, {"browserbase", "bb_live_", word, 20, 0, false}, {"mem0", "m0-", alnum, 36, 44, true},
	{"honeycomb", "hcaik_", alnum, 40, 0, false}, {"honeycomb", "hcbik_", alnum, 40, 0, false}, {"cursor", "key_", hexa, 64, 64, true},
	{"adafruit", "aio_", alnum, 28, 28, true}, {"42", "s-s4t2ud-", hexa, 64, 64, false}, {"42", "s-s4t2af-", hexa, 64, 64, false},
	{"openshift", "sha256~", word, 43, 43, false}, {"octopus", "API-", upper, 26, 26, true}, {"mongodb", "mdb_sa_sk_", word, 30, 0, false},
	{"confluent", "cflt", token, 58, 62, true}, {"zuplo", "zpka_", alnum, 30, 0, false}, {"artifactory", "cmVmdGtu", alnum, 50, 0, false},
	{"settlemint", "sm_aat_", alnum, 16, 0, false}, {"settlemint", "sm_pat_", alnum, 16, 0, false}, {"settlemint", "sm_sat_", alnum, 16, 0, false},
	{"mapbox", "sk.eyJ", dotted, 60, 0, false},
	{"frameio", "fio-u-", token, 60, 0, false}, {"lob", "live_", hexa, 35, 35, true}, {"zapier", "sk-ak-", word, 16, 0, false},
	{"contentful", "CFPAT-", word, 40, 0, false}, {"scalingo", "tk-us-", word, 40, 0, false}, {"jwt", "ZXlK", token, 60, 0, true}, {"gitlab", "_gitlab_session=", alnum, 30, 0, false},
	{"defined-networking", "dnkey-", token, 40, 0, true}, {"workos", "sk_live-", word, 20, 0, false},
}

// literals are what the finder looks for: the prefix, with what may follow it where
// it is too short.
func (s *shape) literals() []literal {
	texts := []string{s.prefix}
	for len(texts[0]) < 3 {
		texts = s.class.extend(texts)
	}
	list := make([]literal, len(texts))
	for i, text := range texts {
		l := literal{text: folded(text), match: s.match, exact: s.prefix, uri: len(s.prefix) >= 4}
		if len(text) < 5 {
			l.follow = s.class
		}
		if !s.inside() {
			l.before = noWord
		}
		list[i] = l
	}
	return list
}

// inside reports whether the prefix stands within a key, of whose beginning it says
// nothing.
func (s *shape) inside() bool {
	return s.prefix[0] == ':' || s.prefix[0] == '.' || s.rule == "azure"
}

// extend returns the texts with every byte of the class behind them, without case.
func (c *class) extend(texts []string) []string {
	var longer []string
	for _, t := range texts {
		for b := range 128 {
			if c[b] && (b < 'A' || b > 'Z') {
				longer = append(longer, t+string(rune(b)))
			}
		}
	}
	return longer
}

// match is a matcher: it stands at the prefix.
func (s *shape) match(t *text, at int) verdict {
	b := t.b[at:]
	if len(b) < len(s.prefix) || string(b[:len(s.prefix)]) != s.prefix {
		return no
	}
	if !s.inside() && t.goesOn(at, alnum) {
		return no
	}
	n := s.class.near(b, len(s.prefix))
	end := len(s.prefix) + n
	if end == len(b) && !t.final {
		return more
	}
	long := n == nearby
	if v := t.escapedOn(at+end, at+1); v != no {
		return v
	}
	body := b[len(s.prefix) : len(s.prefix)+n]
	for n > 0 && (body[n-1] == '.' || body[n-1] == '-' && n > s.least) { // a sentence's end
		n--
	}
	if n < s.least || s.most > 0 && n > s.most {
		return no
	}
	if body = body[:n]; s.mixed && !isMixed(body) {
		return no
	}
	if !long {
		return t.found(s.rule, at, at+len(s.prefix)+n)
	}
	end = len(s.prefix) + s.class.all(b, len(s.prefix), nearby)
	if end == len(b) && !t.final {
		return more
	}
	if v := t.escapedOn(at+end, at+1); v != no {
		return v
	}
	return t.found(s.rule, at, at+end)
}

// isMixed reports whether b is nobody's words: no long stretch is letters of one case.
func isMixed(b []byte) bool {
	lower, upper, digits := makeup(b)
	if digits < 2 && !isTossed(b) || lower+upper < 2 {
		return false
	}
	longest, n := 0, 0
	for _, c := range b {
		if n++; c < 'a' || c > 'z' {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest <= 8 || 4*(upper+digits) >= len(b) && len(b) >= 32
}
