/** Code units of a draft: as many as a message of the terminal takes. */
export const DRAFT_MAX = 1024 * 1024;
