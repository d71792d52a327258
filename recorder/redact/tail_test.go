package redact

// Passwords that URLs may not have, and keys that have their ends written down.
var tailFrames = []string{
	`{"a":"postgres://u:«pa/ss#w»@host:5432/db?email=a@b.c","b":"redis://:«a?b»@h/0","c":"https://u:«a#b»@h/x"}`,
	`{"a":"http://localhost:8080/x@y http://host:PORT/@scope/x https://h:$P/a@b","b":"amqp://h:5672/v@h ssh://git@h:org/x@v1","c":"see x://a:b/c and d@e"}`,
	`{"a":"https://h/cb?code=«4/0AbCdEfGhIjKlMnOp123»&state=x","b":"https://h/x?code=404&code=not_found","c":"AWS4-HMAC-SHA256 Signature=«fe5f80f77d5fa3beca038a248ff027d0»","d":"signature=none"}`,
	`{"a":"Private-Lines: 2\n«AAAAB3Nz\nc2E=\n»Private-MAC: x","b":"the Private-Lines: of it are\nhere Private-MAC"}`,
	`{"a":"«---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nP2/56\n»---- END SSH2 ENCRYPTED PRIVATE KEY ----","b":"---- BEGIN SSH2 PUBLIC KEY ----"}`,
}

// Secrets that are known by what stands behind them are found where that is there.
var wholeFrames = []string{
	`{"a":"root:«w1/w#2»@tcp(db:3306)/x root:«w1»@unix(/tmp/x.sock)/x","b":"user@tcp(x) and root:$PW@tcp(h)"}`,
	`{"a":"«0123456789abcdef0123456789abcdef-us12» 0123456789abcdef-us1 en-us1 the-us9x","b":"0123456789abcdef0123456789abcdef-users"}`,
	`{"a":"key «abcdefABCDEF0123456789abcdefABCDEF0123456789abcdef01JQQJ99ABAAAAAAAAAAASAZDO1234» x JQQJ99"}`,
	`{"a":"«AbCdEf_0123456789abcdefghijABCDEFGHI_mmk» foo_mmk"}`,
	`{"a":"machine h\n  login u\n  password «w1»\n"}`,
}
