//go:build !purego

package redact

// width is how many places the processor looks at at once.
var width = widest()

// widest asks the processor for AVX-512 with VBMI, else for AVX2, with what came with
// them, and whether the system keeps the wide registers.
func widest() int {
	const popcnt, osxsave, avx = 1 << 23, 1 << 27, 1 << 28
	const bmi1, avx2, bmi2, avx512f, avx512bw, vbmi = 1 << 3, 1 << 5, 1 << 8, 1 << 16, 1 << 30, 1 << 1
	const near, far = bmi1 | avx2, bmi1 | bmi2 | avx512f | avx512bw
	const nearRegisters, farRegisters = 1<<1 | 1<<2, 1<<1 | 1<<2 | 1<<5 | 1<<6 | 1<<7
	if last, _, _ := cpuid(0); last < 7 {
		return 0
	}
	if _, _, c := cpuid(1); c&(popcnt|osxsave|avx) != popcnt|osxsave|avx {
		return 0
	}
	switch _, b, c := cpuid(7); {
	case b&far == far && c&vbmi != 0 && saved()&farRegisters == farRegisters:
		return 64
	case b&near == near && saved()&nearRegisters == nearRegisters:
		return 32
	}
	return 0
}

// cpuid is the instruction of that name.
func cpuid(leaf uint32) (a, b, c uint32)

// saved says which registers the system keeps when it runs something else.
func saved() (registers uint32)

// look32 looks at blocks of 32 places each from p on, whose last byte is the third
// behind them, and writes to out those at which the tables have a bucket for all four
// bytes: n, and up to two that mean nothing.
//
//go:noescape
func look32(p *byte, blocks int, t *halves, out *uint16) (n int)

// look64 does it for any number of places, and for whole bytes without their case.
//
//go:noescape
func look64(p *byte, places int, t *wholes, out *uint16) (n int)
