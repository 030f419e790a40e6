/* SPDX-License-Identifier: ISC */
/*
 * What kernel objects are called, and who may open them.
 *
 *   SPACE\handoff.NAME          leads to the section of the segment NAME
 *   SPACE\handoff!make.NAME     held by who makes it
 *   SPACE\handoff!data.NUMBER   a section that holds a segment
 *   SPACE\handoff!life.ID.TOKEN exists while the process TOKEN lives in segment ID
 *   SPACE\handoff!ask.ID.TOKEN  exists while somebody asks whether it does
 *   SPACE\handoff!park.ID...    what one parks on; see park.c
 *   Local\handoff!plain.USER    for parking in plain memory
 *
 * SPACE is Local, the objects of this session, or Global.  HANDOFF_DIR says
 * which: "Global", "Local", and either may be followed by a backslash and any
 * text.  Names under different texts have nothing to do with each other; a text
 * alone is one in Local.  Where there is one its hash and an exclamation mark
 * stand before NAME.
 */
#ifndef HANDOFF_NAMES_H
#define HANDOFF_NAMES_H

#include "port.h"
#include "system.h"

#include <stdbool.h>

#define HANDOFF__OBJECT_NAME MAX_PATH

/* Each writes behind `at`, ends the string and returns where it ends. */
wchar_t *handoff__put(wchar_t *at, const char *text);
wchar_t *handoff__put_hex(wchar_t *at, uint64_t number, unsigned digits);

/* "SPACE\handoff" and `what`. */
wchar_t *handoff__put_space(wchar_t *at, const char *what);

/* The same with a segment's name behind it. */
void handoff__put_name(wchar_t *at, const char *what, const char *name);

/* What tells this user from others, in names. */
uint64_t handoff__user(void);

/* Who may open an object: this user and the system; if it is shared everybody,
 * to read and write.  Children inherit nothing. */
struct handoff__access {
	SECURITY_ATTRIBUTES attributes;
	SECURITY_DESCRIPTOR descriptor;
	_Alignas(8) unsigned char
	    list[3 * (sizeof(ACCESS_ALLOWED_ACE) + SECURITY_MAX_SID_SIZE) +
	        sizeof(ACL)];
};

SECURITY_ATTRIBUTES *handoff__access(struct handoff__access *access,
    bool shared);

/* Whether an object belongs to this user, to the system or to its
 * administrators. */
bool handoff__is_ours(HANDLE object);

/* The last error, as opening or making something means it. */
int handoff__error(void);

#endif
