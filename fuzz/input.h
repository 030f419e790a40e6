/* SPDX-License-Identifier: ISC */
/* What the bytes of an input mean to the fuzz target. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

/*
 * PLACE    1 byte, an enum place, perhaps with THREADS
 * KIND     1 byte, modulo the kinds there are
 * STEPS    1 byte, how many bytes of steps follow
 * ...      the steps
 * ...      the rest: what the object, or the file, is filled with
 *
 * A step is a call, by its number modulo the calls there are, or from WRITE on
 * a word written into the memory: 2 bytes say where, 4 bytes what.
 *
 * A file begins with 4 bytes of its size, 1 byte of how many peers follow the
 * fields of its header, and these fields.
 */
enum place {
	PLACE_PLAIN,
	PLACE_SEGMENT, /* at its end */
	PLACE_FILE,
	PLACES
};

#define PLACE_THREADS 0x80u /* the steps are those of two threads */
#define STEP_WRITE 0xc0u

/* Words in the steps and the rest that stand for something else. */
#define WORD_ME 0x0fff0001u      /* the token of the process */
#define WORD_OTHER 0x0fff0002u   /* of another one, which lives */
#define WORD_SEGMENT 0x0fff0003u /* and the next one: the segment's id */

#define INPUT_FIELDS 48u /* bytes of a header that mean something */
#define INPUT_PEERS 256u /* where peers begin */
#define INPUT_PEER 32u

#endif
