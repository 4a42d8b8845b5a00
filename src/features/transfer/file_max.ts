/** Bytes of an exported session that can be imported. */
export const SESSION_FILE_MAX = 512 * 1024 * 1024;
