/* SPDX-License-Identifier: GPL-2.0 */
/* The loops that the program shares, as functions of the module. */

#include <linux/linkage.h>
#if !defined(CONFIG_X86_64) && !defined(CONFIG_ARM64)
#error "hostmark has its loops for x86_64 and arm64 alone"
#endif
#ifdef CONFIG_X86_64
#include "loops/random_x86_64.inc"
#include "loops/sieve_x86_64.inc"
#endif
#ifdef CONFIG_ARM64
#include "loops/random_aarch64.inc"
#include "loops/sieve_aarch64.inc"
#endif

/* Kernels before 5.17 have no name for what a function ends with. */
#ifndef RET
#define RET ret
#endif

	.text
	.p2align 6
SYM_FUNC_START(hostmark_random_read)
	hostmark_random read
	RET
SYM_FUNC_END(hostmark_random_read)

	.p2align 6
SYM_FUNC_START(hostmark_random_write)
	hostmark_random write
	RET
SYM_FUNC_END(hostmark_random_write)

	.p2align 6
SYM_FUNC_START(hostmark_sieve_million)
	hostmark_sieve
	RET
SYM_FUNC_END(hostmark_sieve_million)
