/** Files of a directory that need trust, beside its rules. */
export interface TrustSource {
  /** Their paths in it. */
  files: readonly string[];
  /** Returns their present content and what it would run, a line each; undefined without any. */
  read(
    directory: string,
  ): Promise<{ text: string; lines: string[]; problem?: string } | undefined>;
}
