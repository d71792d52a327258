//go:build !purego

package redact

// wide reports whether the processor looks at 32 places at once.
var wide = hasAVX2()

// hasAVX2 asks the processor for AVX2, and what came with it, and whether the system
// keeps the wide registers.
func hasAVX2() bool {
	const popcnt, osxsave, avx, bmi1, avx2, registers = 1 << 23, 1 << 27, 1 << 28, 1 << 3, 1 << 5, 1<<1 | 1<<2
	const basic, extended = popcnt | osxsave | avx, bmi1 | avx2
	if last, _, _ := cpuid(0); last < 7 {
		return false
	}
	if _, _, c := cpuid(1); c&basic != basic || saved()&registers != registers {
		return false
	}
	_, b, _ := cpuid(7)
	return b&extended == extended
}

// cpuid is the instruction of that name.
func cpuid(leaf uint32) (a, b, c uint32)

// saved says which registers the system keeps when it runs something else.
func saved() (registers uint32)

// look looks at blocks of 32 places each from p on, whose last byte is the third behind
// them, and writes to out those at which the tables have a bucket for all four bytes: n,
// and up to two that mean nothing.
//
//go:noescape
func look(p *byte, blocks int, t *tables, out *uint16) (n int)
