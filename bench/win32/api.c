/* SPDX-License-Identifier: ISC */
/*
 * Errors of Windows as errno values.
 */
#include "api.h"

#include <errno.h>

int api_error(void)
{
	switch (GetLastError()) {
	case ERROR_FILE_NOT_FOUND:
		return ENOENT;
	case ERROR_ALREADY_EXISTS:
		return EEXIST;
	case ERROR_ACCESS_DENIED:
		return EACCES;
	case ERROR_NOT_ENOUGH_MEMORY:
	case ERROR_COMMITMENT_LIMIT:
		return ENOMEM;
	case ERROR_TOO_MANY_POSTS:
		return EOVERFLOW;
	case ERROR_NOT_OWNER:
		return EPERM;
	default:
		return EIO;
	}
}
