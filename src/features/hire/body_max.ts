/** The largest request body in bytes (contract.md section 9). */
export const BODY_MAX = 1024 * 1024;
