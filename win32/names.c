/* SPDX-License-Identifier: ISC */
/* What kernel objects are called, and who may open them: names.h. */
#include "names.h"

#include <errno.h>
#include <string.h>

/* ---- Writing ----------------------------------------------------------- */

wchar_t *handoff__put(wchar_t *at, const char *text)
{
	while (*text)
		*at++ = (wchar_t)(unsigned char)*text++;
	*at = L'\0';
	return at;
}

wchar_t *handoff__put_hex(wchar_t *at, uint64_t number, unsigned digits)
{
	for (unsigned i = digits; i-- > 0; number >>= 4)
		at[i] = (wchar_t) "0123456789abcdef"[number & 0xf];
	at[digits] = L'\0';
	return at + digits;
}

/* FNV-1a. */
static uint64_t hash(const void *bytes, size_t n)
{
	const unsigned char *b = bytes;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3u;
	return h;
}

/* ---- The space of names ------------------------------------------------ */

static INIT_ONCE space_once = INIT_ONCE_STATIC_INIT;
static const char *space = "Local\\handoff";
static uint64_t domain; /* 0: none */

/* What follows `word` in `setting` and a slash of either kind; NULL: `setting`
 * does not begin with that word. */
static const char *after(const char *setting, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(setting, word, n) != 0)
		return NULL;
	if (setting[n] == '\\' || setting[n] == '/')
		return setting + n + 1;
	return setting[n] == '\0' ? setting + n : NULL;
}

static BOOL CALLBACK find_space(INIT_ONCE *once, void *arg, void **context)
{
	const char *set = handoff__setting("HANDOFF_DIR");
	const char *rest;

	(void)once;
	(void)arg;
	(void)context;
	if (!set)
		return TRUE;
	if ((rest = after(set, "Global")) != NULL)
		space = "Global\\handoff";
	else if ((rest = after(set, "Local")) == NULL)
		rest = set;
	if (*rest)
		domain = hash(rest, strlen(rest)) | 1;
	return TRUE;
}

wchar_t *handoff__put_space(wchar_t *at, const char *what)
{
	InitOnceExecuteOnce(&space_once, find_space, NULL, NULL);
	return handoff__put(handoff__put(at, space), what);
}

void handoff__put_name(wchar_t *at, const char *what, const char *name)
{
	at = handoff__put_space(at, what);
	if (domain != 0)
		at = handoff__put(handoff__put_hex(at, domain, 16), "!");
	handoff__put(at, name);
}

/* ---- Users ------------------------------------------------------------- */

struct sid {
	_Alignas(8) unsigned char bytes[SECURITY_MAX_SID_SIZE];
};

static INIT_ONCE users_once = INIT_ONCE_STATIC_INIT;
static struct sid user;
static struct sid system_sid;
static struct sid administrators;
static struct sid everyone;
static bool known;

static bool find_user(void)
{
	_Alignas(8) unsigned char
	    space_for[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	HANDLE token;
	DWORD n;
	bool found;

	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
		return false;
	found = GetTokenInformation(token, TokenUser, space_for,
	            sizeof space_for, &n) &&
	    CopySid(sizeof user, user.bytes,
	        ((TOKEN_USER *)(void *)space_for)->User.Sid);
	CloseHandle(token);
	return found;
}

static bool well_known(struct sid *sid, WELL_KNOWN_SID_TYPE type)
{
	DWORD n = sizeof *sid;

	return CreateWellKnownSid(type, NULL, sid->bytes, &n);
}

static BOOL CALLBACK find_users(INIT_ONCE *once, void *arg, void **context)
{
	(void)once;
	(void)arg;
	(void)context;
	known = find_user() && well_known(&system_sid, WinLocalSystemSid) &&
	    well_known(&administrators, WinBuiltinAdministratorsSid) &&
	    well_known(&everyone, WinWorldSid);
	return TRUE;
}

static bool users(void)
{
	InitOnceExecuteOnce(&users_once, find_users, NULL, NULL);
	return known;
}

uint64_t handoff__user(void)
{
	return users() ? hash(user.bytes, GetLengthSid(user.bytes)) : 0;
}

SECURITY_ATTRIBUTES *handoff__access(struct handoff__access *access,
    bool shared)
{
	/* cppcheck-suppress ctuuninitvar ; its place alone */
	ACL *list = (ACL *)(void *)access->list;
	SECURITY_DESCRIPTOR *d = &access->descriptor;

	access->attributes = (SECURITY_ATTRIBUTES){
		.nLength = sizeof access->attributes,
		.bInheritHandle = FALSE
	};
	/* Else with what the system gives by itself. */
	if (users() &&
	    InitializeSecurityDescriptor(d, SECURITY_DESCRIPTOR_REVISION) &&
	    InitializeAcl(list, sizeof access->list, ACL_REVISION) &&
	    AddAccessAllowedAce(list, ACL_REVISION, GENERIC_ALL, user.bytes) &&
	    AddAccessAllowedAce(list, ACL_REVISION, GENERIC_ALL,
	        system_sid.bytes) &&
	    (!shared ||
	        AddAccessAllowedAce(list, ACL_REVISION,
	            GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE,
	            everyone.bytes)) &&
	    SetSecurityDescriptorOwner(d, user.bytes, FALSE) &&
	    SetSecurityDescriptorDacl(d, TRUE, list, FALSE) &&
	    SetSecurityDescriptorControl(d, SE_DACL_PROTECTED,
	        SE_DACL_PROTECTED))
		access->attributes.lpSecurityDescriptor = d;
	return &access->attributes;
}

bool handoff__is_ours(HANDLE object)
{
	_Alignas(8) unsigned char
	    space_for[sizeof(SECURITY_DESCRIPTOR) + SECURITY_MAX_SID_SIZE];
	BOOL defaulted;
	PSID owner;
	DWORD n;

	return users() &&
	    GetKernelObjectSecurity(object, OWNER_SECURITY_INFORMATION,
	        space_for, sizeof space_for, &n) &&
	    GetSecurityDescriptorOwner(space_for, &owner, &defaulted) &&
	    owner &&
	    (EqualSid(owner, user.bytes) || EqualSid(owner, system_sid.bytes) ||
	        EqualSid(owner, administrators.bytes));
}

/* ---- Errors ------------------------------------------------------------ */

int handoff__error(void)
{
	switch (GetLastError()) {
	case ERROR_FILE_NOT_FOUND:
	case ERROR_PATH_NOT_FOUND:
		return ENOENT;
	case ERROR_ACCESS_DENIED:
	case ERROR_PRIVILEGE_NOT_HELD:
		return EACCES;
	case ERROR_INVALID_HANDLE: /* an object of another kind */
	case ERROR_BAD_PATHNAME:
		return EPROTO;
	case ERROR_COMMITMENT_LIMIT:
	case ERROR_COMMITMENT_MINIMUM:
	case ERROR_DISK_FULL:
	case ERROR_HANDLE_DISK_FULL:
		return ENOSPC;
	case ERROR_FILENAME_EXCED_RANGE:
		return ENAMETOOLONG;
	default:
		return ENOMEM;
	}
}
