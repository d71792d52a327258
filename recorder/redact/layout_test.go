package redact

// Values that stand in a layout: blocks of YAML, cells of tables, and behind a blank
// where what is in front of the name says so.
var layoutFrames = []string{
	`{"a":"db:\n  password: |\n    «w1 w2\n    w3»\n  user: x","b":"secret: >-\n  «w1»","c":"password: | x","d":"password: |\n    ${PW}\n"}`,
	`{"a":"| API key | «a1b2c3d4e5» |\n| token | string | yes |","b":"| password | ` + "`«hunter22»`" + ` |\n| password | required |\n| API key | see below |"}`,
	`{"a":"ENV API_TOKEN «w1»\nENV PATH /x","b":"setx DB_PASSWORD «w1» /m","c":"machine h login u password «w1»"}`,
	`{"a":"use a login and password to get in","b":"the login or password field","c":"ENV TOKEN_FILE /x"}`,
}
