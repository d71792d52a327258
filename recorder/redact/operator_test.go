package redact

// Values behind the operators of makefiles and programs, a type, and in calls.
var operatorFrames = []string{
	`{"a":"A_TOKEN ::= \"«w1x2y3z4»\"\nB_TOKEN :::= «w1x2y3z4w5»\nC_TOKEN ?= \"«w1x2y3z4»\"\n$dToken .= \"«w1x2y3z4»\"\n@secret ||= '«w1x2y3z4»'\nE_TOKEN?=«w1x2y3z4»\nF_KEY += 1"}`,
	`{"a":"var authToken string = \"«w1x2y3z4»\"; char *apiToken = x; the token count = 12; the secret is = x; token string == \"w1x2y3z4\""}`,
	`{"a":"System.setProperty(\"A_TOKEN\", \"«w1x2y3z4»\"); h.Set('X-Api-Key', '«w1x2y3z4»'); get(\"password\", \"username\"); set(\"token\", 123456789); [\"token\", \"w1x2y3z4\"]"}`,
	`{"a":"<authToken>\n    «w1x2y3z4»\n</authToken>","b":"password          = \"«secrets»\"\nuser              = \"root\""}`,
	`{"a":"{\"b\":\"<authToken>\\n  «w1x2y3z4»\\n  </authToken>\"}"}`,
	`{"a":"token? yes; the token | none; a token+1; secret ?: x; password || '': w1x2y3z4"}`,
}
