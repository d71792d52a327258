package redact

import (
	"slices"
	"testing"
)

// Passwords of command lines, in text and in lists of arguments.
var commandFrames = []string{
	`{"a":["docker","login","-u","u","-p","«w1 w2»"],"b":["mysql","-u","root","-p«w1»","db"],"c":["prog","--password","«w1»","--token","«w2»","-x"]}`,
	`{"command":"docker","args":["run","--password","${PW}","--token-file","x","--auth","yes","--max-tokens","100","--password","-x"],"b":["the password","x"]}`,
	`{"a":["/usr/bin/sshpass","-p","«w1»"],"b":["curl","-u","a:«w1»"],"c":["vault","login","«hvsx1234»"],"d":["id","-u","a:b","-p","x"]}`,
	`{"a":"docker login -u u -p «w1» reg.io","b":"mysql -u root -p«w1» db","c":"mysql -uroot -p db -P 3306; mysqldump -p«w1» 'a'; mysql -p","d":"docker login -u AWS --password-stdin x"}`,
	`{"a":"redis-cli -h x -a «w1» ping; ldapsearch -x -D cn=a -w '«w 1»' b; vault login «w1x2»; htpasswd -b f u «w1»; htpasswd -bc f u «w1»; htpasswd f u w1"}`,
	`{"a":"smbclient //h -U u%«w1»; az login --service-principal -u a -p «w1» --tenant t; mongosh -u a -p «w1»; sqlcmd -S x -P «w1»","b":"smbclient -U u; use redis-cli -a $PW"}`,
	`{"a":"RUN [\"docker\", \"login\", \"-p\", \"«w1»\"]","b":"[\"x\",\"--password\",\"«w1»\"] set('--password', value) [\"--password\", x]"}`,
	`{"a":"the login -page of a site; use vault login to log in","b":"vault login -method=userpass username=u","c":"mysql-p x; a login -p $X"}`,
}

// What a command line has is known wherever it stands, too.
func TestArgWords(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"docker", "login", "-u", "name", "-p", "w1w2"}, []string{"w1w2"}},
		{[]string{"/usr/bin/mysql", "-pw1w2", "-p", "base"}, []string{"w1w2"}},
		{[]string{"smbclient.exe", "-U", "name%w1w2"}, []string{"w1w2"}},
		{[]string{"server", "-p", "8080", "login"}, nil},
	} {
		if got := ArgValues(c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
