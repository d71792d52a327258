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

// func look32(p *byte, blocks int, t *halves, out *uint16) (n int)
TEXT ·look32(SB), NOSPLIT, $0-40
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

// Of the four bytes at 64 places one: what tells it apart but for case, as six bits, is
// looked up in the tables of both eights of buckets.
#define FOUR(k, first, second, low, high) \
	VPSRLW     $1, k, Z4; \
	VPTERNLOGD $0xe2, k, Z7, Z4; \ // bit 6 in the place of bit 5
	VPERMB     first, Z4, low; \
	VPERMB     second, Z4, high

// func look64(p *byte, places int, t *wholes, out *uint16) (n int)
TEXT ·look64(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), SI
	MOVQ places+8(FP), CX
	MOVQ t+16(FP), DX
	MOVQ out+24(FP), DI
	XORL R11, R11
	MOVL $0x20, AX
	VPBROADCASTB AX, Z7
	KXNORQ K1, K1, K1
	VMOVDQU64 0(DX), Z16
	VMOVDQU64 64(DX), Z17
	VMOVDQU64 128(DX), Z18
	VMOVDQU64 192(DX), Z19
	VMOVDQU64 256(DX), Z20
	VMOVDQU64 320(DX), Z21
	VMOVDQU64 384(DX), Z22
	VMOVDQU64 448(DX), Z23

block:
	CMPQ CX, $64
	JLT  rest
	VMOVDQU64 0(SI), Z0
	VMOVDQU64 1(SI), Z1
	VMOVDQU64 2(SI), Z2
	VMOVDQU64 3(SI), Z3

test:
	FOUR(Z0, Z16, Z20, Z8, Z12)
	FOUR(Z1, Z17, Z21, Z9, Z13)
	FOUR(Z2, Z18, Z22, Z10, Z14)
	FOUR(Z3, Z19, Z23, Z11, Z15)
	VPTERNLOGD $0x80, Z9, Z10, Z8 // all of them
	VPTERNLOGD $0x80, Z13, Z14, Z12
	VPANDD     Z8, Z11, Z8
	VPTERNLOGD $0xf8, Z12, Z15, Z8 // or both of these
	VPTESTMB   Z8, Z8, K1, K2
	KMOVQ      K2, AX

	// As above.
	POPCNTQ AX, R8
	CMPL    R8, $2
	JA      many
	TZCNTQ  AX, BX
	BLSRQ   AX, AX
	TZCNTQ  AX, R10
	ADDL    R11, BX
	ADDL    R11, R10
	MOVW    BX, (DI)
	MOVW    R10, 2(DI)
	LEAQ    (DI)(R8*2), DI

next:
	ADDQ $64, SI
	ADDL $64, R11
	SUBQ $64, CX
	JGT  block
	VZEROUPPER
	SUBQ out+24(FP), DI
	SHRQ $1, DI
	MOVQ DI, n+32(FP)
	RET

rest:
	MOVQ  $-1, AX
	BZHIQ CX, AX, AX
	KMOVQ AX, K1
	VMOVDQU8.Z 0(SI), K1, Z0
	VMOVDQU8.Z 1(SI), K1, Z1
	VMOVDQU8.Z 2(SI), K1, Z2
	VMOVDQU8.Z 3(SI), K1, Z3
	JMP   test

many:
	TZCNTQ AX, BX
	ADDL   R11, BX
	MOVW   BX, (DI)
	ADDQ   $2, DI
	BLSRQ  AX, AX
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
