//go:build !linux

package sourceline

// Ask asks nothing: processes are read on Linux only.
func (m *Means) Ask(int, func() []byte) (Answer, error) { return Answer{}, nil }
