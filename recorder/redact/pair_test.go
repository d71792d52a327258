package redact

// A name, and its value in another member.
var apartFrames = []string{
	`{"a":{"name":"DB_PASSWORD","value":"«w1»"},"b":{"key":"API_KEY","n":{"a":[1,"value"]},"value":"«w1»"},"c":{"name":"FOO","value":"x"}}`,
	`{"a":[{"Key":"secret","Value":«12»},{"key":"API_KEY_ID","value":"x"},{"name":"max_tokens","value":"12"},{"id":"password","val":"«w1»"}]}`,
	`{"a":{"name":"DB_PASSWORD","value":null},"b":{"name":"token","value":"${TOKEN}"},"c":{"name":"password","value":{"x":"y"}},"d":{"name":"password","text":"x"}}`,
	`{"a":[{"label":"Password","value":"password"},{"label":"API key","value":"«w1»"},{"name":"forget the password","description":"x"}]}`,
	`{"a":[{"key":"password","value":{"stringValue":"«w1»"}},{"key":"user","value":{"stringValue":"x"}}]}`,
	`{"cookies":[{"name":"session","value":"«w1»","path":"/"}],"headers":[{"name":"Authorization","value":"Bearer «w1»"},{"name":"Accept","value":"x"}]}`,
	`{"password":{"value":"«w1»","type":"x"},"tokens":[{"type":"word","value":"x"}],"token":{"type":"word","value":"if"}}`,
	// In JSON that is in a string, in YAML and XML.
	`{"a":"{\"name\":\"DB_PASSWORD\",\"note\":\"«ghp_0123456789abcdefghijABCDEFGHIJ012345»\",\"value\":\"«w1»\"},{\"name\":\"FOO\",\"value\":\"x\"}"}`,
	`{"a":"{\"b\":\"{\\\"name\\\":\\\"DB_PASSWORD\\\",\\\"n\\\":{\\\"a\\\":[1]}, \\\"value\\\":\\\"«w1»\\\"}\"}"}`,
	`{"a":"{\"cookies\":[{\"name\":\"session\",\"value\":\"«w1»\"},{\"name\":\"t\",\"value\":\"«y»\"}]}","b":"{\"password\":{\"value\":\"«w1»\"}}"}`,
	`{"a":"- name: API_KEY\n  value: «w1»\n- name: FOO\n  value: x","b":"env:\n  - name: DB_PASSWORD\n    value: \"«w1»\"\n","c":"name: password\ntext: x"}`,
	`{"a":"{name: 'DB_PASSWORD', value: '«w1»'}","b":"the key: password, value: it has"}`,
	`{"a":"<add key=\"Password\" value=\"«w1»\"/> <env name='API_TOKEN' value='«w1»' /> <input name=\"password\" type=\"password\">"}`,
	`{"a":"\u003cadd key=\"Password\" value=\"«w1»\"/\u003e"}`,
	// Of schemas, and of what only describes.
	`{"result":{"tools":[{"name":"t","inputSchema":{"properties":{"x":{"name":"password","type":"string","value":"x"}}}}],"prompts":[{"name":"p","arguments":[{"name":"token","description":"x"}]}]}}`,
	`{"params":{"name":"get_token","arguments":{"value":"x","name":"x"}}}`,
}

// The value in front of its name is found where the whole frame is there.
var aheadFrames = []string{
	`{"a":[{"value":"«w1»","type":3,"key":"API_KEY"},{"value":"x","key":"FOO"},{"value":"x"},{"name":"API_KEY"}]}`,
}
