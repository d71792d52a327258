package replay

import (
	"strconv"
	"strings"
)

// decimal returns a JSON number in one spelling: 100, 1e2 and 100.0 are the same
// number, as they are to JSON, and 9007199254740993 is not 9007199254740992.
// Nothing is rounded. An exponent that fits no int stays as it is written.
func decimal(written string) string {
	digits, exp, hasExp := strings.Cut(strings.ReplaceAll(written, "E", "e"), "e")
	power := 0
	if hasExp {
		var err error
		if power, err = strconv.Atoi(exp); err != nil || power > 1<<40 || power < -(1<<40) {
			return written
		}
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	power -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	power += len(digits) - len(short)
	switch {
	case short == "":
		return "0"
	case power == 0:
		return sign + short
	case power > 0 && power <= 20:
		return sign + short + strings.Repeat("0", power)
	}
	return sign + short + "e" + strconv.Itoa(power)
}
