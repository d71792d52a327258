//go:build !purego

#include "textflag.h"

DATA nibble<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL nibble<>(SB), RODATA|NOPTR, $8

// One of the four bytes at 32 places: of Y5 and Y6 a bucket's bit stays where the table
// of the low half and that of the high half both have it. Y8 to Y15 hold the tables of
// the first eight buckets.
#define BYTE(k, low, high) \
	VMOVDQU  k(SI), Y0; \
	VPSRLW   $4, Y0, Y1; \
	VPAND    Y7, Y0, Y0; \
	VPAND    Y7, Y1, Y1; \
	VPSHUFB  Y0, low, Y2; \
	VPSHUFB  Y1, high, Y3; \
	VPAND    Y2, Y3, Y2; \
	VPAND    Y2, Y5, Y5; \
	VMOVDQU  (256+64*k)(DX), Y2; \
	VMOVDQU  (288+64*k)(DX), Y3; \
	VPSHUFB  Y0, Y2, Y2; \
	VPSHUFB  Y1, Y3, Y3; \
	VPAND    Y2, Y3, Y2; \
	VPAND    Y2, Y6, Y6

// func look(p *byte, blocks int, t *tables, out *uint16) (n int)
TEXT ·look(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ t+16(FP), DX
	MOVQ out+24(FP), DI
	XORL R11, R11
	VPBROADCASTQ nibble<>(SB), Y7
	VPXOR   Y4, Y4, Y4
	VMOVDQU 0(DX), Y8
	VMOVDQU 32(DX), Y9
	VMOVDQU 64(DX), Y10
	VMOVDQU 96(DX), Y11
	VMOVDQU 128(DX), Y12
	VMOVDQU 160(DX), Y13
	VMOVDQU 192(DX), Y14
	VMOVDQU 224(DX), Y15

block:
	VPCMPEQB Y5, Y5, Y5
	VPCMPEQB Y6, Y6, Y6
	BYTE(0, Y8, Y9)
	BYTE(1, Y10, Y11)
	BYTE(2, Y12, Y13)
	BYTE(3, Y14, Y15)
	VPOR      Y5, Y6, Y5
	VPCMPEQB  Y4, Y5, Y5
	VPMOVMSKB Y5, AX
	NOTL      AX

	// Two places are written whether there are any or not: what is no branch cannot be
	// foretold wrongly.
	POPCNTL AX, R8
	CMPL    R8, $2
	JA      many
	TZCNTL  AX, BX
	BLSRL   AX, AX
	TZCNTL  AX, R10
	ADDL    R11, BX
	ADDL    R11, R10
	MOVW    BX, (DI)
	MOVW    R10, 2(DI)
	LEAQ    (DI)(R8*2), DI

next:
	ADDQ $32, SI
	ADDL $32, R11
	DECQ CX
	JNZ  block
	VZEROUPPER
	SUBQ out+24(FP), DI
	SHRQ $1, DI
	MOVQ DI, n+32(FP)
	RET

many:
	TZCNTL AX, BX
	ADDL   R11, BX
	MOVW   BX, (DI)
	ADDQ   $2, DI
	BLSRL  AX, AX
	JNZ    many
	JMP    next

// func cpuid(leaf uint32) (a, b, c uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-20
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	RET

// func saved() (registers uint32)
TEXT ·saved(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, registers+0(FP)
	RET
