package phrase

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// JSONFault words an error of encoding/json for a user, who knows no types of Go.
func JSONFault(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	what := "a " + wrong.Value
	if strings.IndexByte("aeiou", wrong.Value[0]) >= 0 {
		what = "an " + wrong.Value
	}
	if wrong.Field != "" {
		return fmt.Errorf("%s is %s", strconv.Quote(wrong.Field), what)
	}
	return errors.New("it is " + what)
}
