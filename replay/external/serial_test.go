package external

import "testing"

// TestAlikeAnswers holds which answers of a burst an order of its calls explains.
func TestAlikeAnswers(t *testing.T) {
	const taken, paid, booked = `{"content":[{"text":"taken"}],"isError":true}`, `{"content":[{"text":"taken, the deposit goes back"}],"isError":true}`, `{"content":[{"text":"booked"}]}`
	const bug = `{"content":[{"text":"TypeError: slot is undefined"}],"isError":true}`
	orders := &serial{outcomes: []map[uint64]string{{5: booked, 7: taken}, {5: taken, 7: booked}, {5: `{"list":["a","b"]}`, 7: taken}}}
	for _, row := range []struct {
		name, first, second string
		isExplained         bool
	}{
		{"one of the orders", taken, booked, true},
		{"refused in other words", booked, paid, true},
		{"both have it", booked, booked, false},
		{"neither has it", taken, paid, false},
		{"an error of a bug", booked, bug, false},
		{"a list in another order", `{"list":["b","a"]}`, taken, true},
	} {
		if got := orders.explains(map[uint64]string{5: row.first, 7: row.second}); got != row.isExplained {
			t.Errorf("%s: explained: %t", row.name, got)
		}
	}
}
