/** What a question is about that asks whether to trust a directory's own rules and hooks. */
export const TRUST_DIRECTORY = "trust_directory";
